//! Consent of people to the effects of plans.

use async_trait::async_trait;
use cts_core::{ApprovalRule, LeaderEpoch, LeaseEpoch, RunId, TaskName, WorkerId};
use cts_store::{
    Approval, ApprovalDecision, ApprovalError, ApprovalStore, AskedPermit, FileRules, GivenConsent,
    LeaderError, LeaseError, PermitAnswer, ShownPlan, StoreError,
};

use super::{SqlStore, change, read, transaction};
use crate::database::Database;
use crate::{approval_decisions, approvals, effects, shown_effects};

#[async_trait]
impl<D: Database> ApprovalStore for SqlStore<D> {
    async fn file_rules(&self, task: Option<&TaskName>) -> Result<FileRules, StoreError> {
        read!(self, c => approval_decisions::file_rules(c, task))
    }

    async fn permit_apply(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        asked: AskedPermit<'_>,
    ) -> Result<PermitAnswer, LeaseError> {
        transaction!(self, Process, c => approvals::permit_apply(c, (run, holder, epoch), asked))
    }

    async fn given_consent(&self, run: RunId) -> Result<Option<GivenConsent>, StoreError> {
        read!(self, c => approvals::given(c, run))
    }

    async fn shown_plan(&self, run: RunId) -> Result<Option<ShownPlan>, StoreError> {
        read!(self, c => approvals::shown_plan(c, run))
    }

    async fn approvals(&self) -> Result<Vec<Approval>, StoreError> {
        read!(self, c => approvals::all(c))
    }

    async fn approval_of(
        &self,
        run: RunId,
        effect: Option<&str>,
    ) -> Result<Option<Approval>, StoreError> {
        read!(self, c => approvals::of_run(c, run, effect))
    }

    async fn approval_rule(&self, task: &TaskName) -> Result<Option<ApprovalRule>, StoreError> {
        read!(self, c => shown_effects::rule(c, task))
    }

    async fn decide_approvals(
        &self,
        decision: &ApprovalDecision,
    ) -> Result<Vec<Approval>, ApprovalError> {
        change!(self, Long, None, c => approval_decisions::decide(c, decision))
    }

    async fn reopen_approvals(&self, task: &TaskName, run: RunId) -> Result<u32, StoreError> {
        change!(self, Short, None, if |reopened: &u32| *reopened > 0, c => approval_decisions::reopen(c, task, run))
    }

    async fn withdraw_gone(&self, leader: LeaderEpoch) -> Result<Vec<Approval>, LeaderError> {
        transaction!(self, Process, Long, leader, c => effects::withdraw_gone(c))
    }
}
