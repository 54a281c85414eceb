//! Waiting for the end of a requested run.

use std::time::Duration;

use cts_core::runs::{CANCELLED, Plan, RunStatus};
use cts_core::{Chain, Pauses, RunId, TaskName};
use cts_rpc::convert;
use cts_store::{DELETED, REJECTED, RefusedCode, RunRecord, StoreError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;

use super::run_end::RunEnd;
use super::{TaskCommands, TaskRefusal};
use crate::notifier::RunChange;

/// Longest time between two polls: a change without a hint is found after this.
const POLL: Duration = Duration::from_secs(1);

impl TaskCommands {
    /// Waits until a run has ended, is refused, or waits for the consent of a person. If the database does not answer for a while, this goes on
    /// waiting, since the requested run goes on or waits too.
    pub(super) async fn end_of(&self, run: RunId) -> Result<RunEnd, TaskRefusal> {
        // Before the first poll, so that no end is missed.
        let mut notifier = self.notifier.follow();
        loop {
            match self.find_end(run).await {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => {}
                Err(error) => {
                    cts_store::log_store_failure!(warn, &error, run.id = %run, error = %Chain(&error), "cannot see how a run ended, trying again");
                }
            }
            tokio::select! {
                () = ended(&mut notifier, run) => {}
                () = sleep(POLL) => {}
                () = self.shutdown.cancelled() => return Err(TaskRefusal::ShuttingDown),
            }
        }
    }

    async fn find_end(&self, run: RunId) -> Result<Option<RunEnd>, StoreError> {
        // A request becomes a run, never the other way round.
        let request = self.store.request(run).await?;
        if let Some(request) = request {
            return Ok(request.refused.map(|refused| match refused.code {
                RefusedCode::Held => RunEnd::Held(refused.reason),
                _ => RunEnd::Failed(TaskRefusal::of_request(refused)),
            }));
        }
        Ok(match self.store.run(run).await? {
            Some(record) => self.judged(record).await?,
            None => Some(failed(DELETED)),
        })
    }

    /// The end of a run; the plan of an inspection has what the rules of consent say about it.
    async fn judged(&self, record: RunRecord) -> Result<Option<RunEnd>, StoreError> {
        let (run, task) = (record.id, record.task.clone());
        let mut end = end(record);
        if let Some(RunEnd::Succeeded(Some(plan))) = &mut end {
            self.inspections.judge(run, &task, plan).await?;
        }
        Ok(end)
    }

    /// Why the run of a creation failed. The task exists nevertheless if its run has waited for consent, and was rejected.
    pub(super) async fn creation_failed(
        &self,
        name: &TaskName,
        reason: String,
    ) -> Result<TaskRefusal, StoreError> {
        let reason = match self.store.task(name).await? {
            None => reason,
            Some(task) => {
                let enabled = if task.spec.enabled {
                    "enabled"
                } else {
                    "disabled"
                };
                format!(
                    "{reason}\ntask '{name}' was created and exists, {enabled}: `cts approvals reopen {name}` lets it ask again, and `cts task delete {name}` deletes it"
                )
            }
        };
        Ok(TaskRefusal::RunFailed(reason))
    }

    /// Waits a moment before something is tried again.
    pub(super) async fn pause(&self, pauses: &mut Pauses) -> Result<(), TaskRefusal> {
        tokio::select! {
            () = sleep(pauses.next_pause()) => Ok(()),
            () = self.shutdown.cancelled() => Err(TaskRefusal::ShuttingDown),
        }
    }
}

fn end(record: RunRecord) -> Option<RunEnd> {
    match record.status {
        // An approved run goes on without its caller.
        RunStatus::Queued => record.awaits.map(|_effect| RunEnd::Waits(record.id)),
        RunStatus::Running => None,
        RunStatus::Succeeded => {
            let remote_url = record.details.map(|details| details.remote_url);
            let remote_url = remote_url.filter(|url| !url.is_empty());
            let plan = record.plan.map(|plan| Plan { remote_url, ..plan });
            Some(RunEnd::Succeeded(plan.map(convert::plan_to_wire)))
        }
        RunStatus::Failed => {
            let error = record.error();
            Some(failed(error.as_deref().unwrap_or("the run failed")))
        }
        RunStatus::Cancelled => {
            let error = record.error();
            let is_reason =
                |error: &String| [CANCELLED, REJECTED].iter().any(|it| error.starts_with(it));
            let error = error.filter(is_reason);
            Some(failed(error.as_deref().unwrap_or(
                "the run was cancelled: its task was changed or deleted, newer data took its place, or the scheduler was restarted",
            )))
        }
    }
}

fn failed(reason: &str) -> RunEnd {
    RunEnd::Failed(TaskRefusal::RunFailed(reason.to_owned()))
}

/// Returns at the hint that the run has ended or is queued again, or when that may have been missed.
async fn ended(notifier: &mut broadcast::Receiver<RunChange>, run: RunId) {
    loop {
        match notifier.recv().await {
            Ok(change) if change.run == run && change.status != RunStatus::Running => return,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
