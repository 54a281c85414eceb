//! Consent of people to the effects of plans, as a trait of every store.

use async_trait::async_trait;
use cts_core::{ApprovalRule, LeaderEpoch, LeaseEpoch, RunId, TaskName, WorkerId};

use crate::approval::{
    Approval, ApprovalDecision, ApprovalError, AskedPermit, FileRules, GivenConsent, PermitAnswer,
    ShownPlan,
};
use crate::error::{LeaderError, LeaseError, StoreError};

/// Consent to the effects of plans (docs/runs.md#consent). Every method is one transaction, like those of
/// [`Store`](crate::Store).
#[async_trait]
pub trait ApprovalStore {
    /// The rules of the files that are in force for a task, or for all tasks.
    async fn file_rules(&self, task: Option<&TaskName>) -> Result<FileRules, StoreError>;

    /// Decides whether a worker may apply its plan, under a lease of `holder` that counts for
    /// [`Store::complete`](crate::Store::complete), and stores the plan like
    /// [`PlanStore::record_plan`](crate::PlanStore::record_plan).
    ///
    /// A run that waits is not due any more as soon as its lease has ended, however it ends. An apply that uses a
    /// consent up is noted: only further attempts of this run, and retries of its input, have the consent.
    async fn permit_apply(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        asked: AskedPermit<'_>,
    ) -> Result<PermitAnswer, LeaseError>;

    /// The consent that a run has used, or the newest one that a destruction has and may use; `None` without a consent,
    /// or if it has expired.
    async fn given_consent(&self, run: RunId) -> Result<Option<GivenConsent>, StoreError>;

    /// The newest plan of the task of a run with an effect that a person was to decide about. A plan whose consent another
    /// run has used does not count.
    async fn shown_plan(&self, run: RunId) -> Result<Option<ShownPlan>, StoreError>;

    /// All effects that wait for a decision, are approved and not applied yet, or are rejected, by the names of their
    /// tasks.
    async fn approvals(&self) -> Result<Vec<Approval>, StoreError>;

    /// This effect of the task of a run, or the newest effect of the run, that needs or needed consent.
    async fn approval_of(
        &self,
        run: RunId,
        effect: Option<&str>,
    ) -> Result<Option<Approval>, StoreError>;

    /// The rule in force for a task; `None` without the task.
    async fn approval_rule(&self, task: &TaskName) -> Result<Option<ApprovalRule>, StoreError>;

    /// Decides about effects that wait; an approved effect that no run has used can still be rejected. A waiting run of an approved effect is due now, unless the effect is gone. A
    /// waiting run of a rejected effect ends like a [cancelled](crate::Store::cancel_run) one.
    ///
    /// Returns the effects after the decision, in the order of `decision`.
    async fn decide_approvals(
        &self,
        decision: &ApprovalDecision,
    ) -> Result<Vec<Approval>, ApprovalError>;

    /// Forgets that effects of a task were rejected, and queues `run` with the newest rejected input unless that is gone,
    /// or an apply is queued or running. Returns the number of these effects.
    async fn reopen_approvals(&self, task: &TaskName, run: RunId) -> Result<u32, StoreError>;

    /// Withdraws the consent to effects that are gone for longer than [`GONE_FOR`](cts_core::GONE_FOR), with their
    /// waiting runs, and asks anew where a consent has expired. Returns the withdrawn effects.
    async fn withdraw_gone(&self, leader: LeaderEpoch) -> Result<Vec<Approval>, LeaderError>;
}
