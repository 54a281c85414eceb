//! Consent of people to the effects of plans.

use async_trait::async_trait;
use cts_core::{LeaderEpoch, LeaseEpoch, RunId, TaskName, WorkerId};
use cts_store::{
    Approval, ApprovalDecision, ApprovalError, ApprovalStore, AskedPermit, LeaderError, LeaseError,
    PermitAnswer, StoreError,
};

use super::{SqlStore, change, read, transaction};
use crate::database::Database;
use crate::{approval_decisions, approvals, effects};

#[async_trait]
impl<D: Database> ApprovalStore for SqlStore<D> {
    async fn permit_apply(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        asked: AskedPermit<'_>,
    ) -> Result<PermitAnswer, LeaseError> {
        transaction!(self, Process, c => approvals::permit_apply(c, (run, holder, epoch), asked))
    }

    async fn used_consent(&self, run: RunId) -> Result<Option<(String, Vec<u8>)>, StoreError> {
        read!(self, c => approvals::used(c, run))
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
