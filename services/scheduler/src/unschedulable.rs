//! Due runs that no worker takes: one warning with the reason, again when the reason changes, and hourly.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{Chain, Requirement, UnschedulableReason, unschedulable_reason};
use cts_store::{Store, StoreError, WaitingRuns, WorkerState};
use tokio::time::Instant;

use crate::liveness::FORGOTTEN_AFTER;

/// A run that is due for this time should have been taken.
pub(crate) const UNSCHEDULABLE_AFTER: Duration = Duration::from_secs(5);

/// Time between two polls.
const EVERY: Duration = Duration::from_secs(5);

/// A suitable free worker that takes no run for this time is unhealthy.
const IDLE_AFTER: Duration = Duration::from_secs(30);

/// Time before an unchanged reason is logged again.
const AGAIN: Duration = Duration::from_hours(1);

/// Why no worker can take these runs now.
pub(crate) fn why_unschedulable(
    runs: &WaitingRuns,
    workers: &[WorkerState],
) -> Option<UnschedulableReason> {
    let workers = workers.iter().map(|worker| worker.candidate(runs.settings));
    unschedulable_reason(workers, &runs.requirement)
}

/// Why no worker takes these runs; `None` if that is a matter of moments.
pub(crate) fn reason(runs: &WaitingRuns, workers: &[WorkerState]) -> Option<String> {
    match why_unschedulable(runs, workers) {
        Some(reason) => Some(reason.to_string()),
        None if runs.oldest >= IDLE_AFTER => {
            Some("a worker that can run it has a free slot and does not ask for runs".to_owned())
        }
        None => None,
    }
}

/// Warns of runs that no worker takes. Only the leader warns, so that a cluster logs one warning.
#[derive(Debug)]
pub(crate) struct Unschedulable {
    store: Arc<dyn Store>,
    /// Id of this replica.
    member: String,
    /// A leader that was silent for this time counts as gone.
    leadership: Duration,
    /// Since when there has always been a due run.
    due_since: Option<Instant>,
    looked: Option<Instant>,
    /// The text that was logged for the runs with each requirement, and when.
    logged: HashMap<Requirement, (String, Instant)>,
}

impl Unschedulable {
    pub(crate) fn new(store: Arc<dyn Store>, member: String, leadership: Duration) -> Self {
        Self {
            store,
            member,
            leadership,
            due_since: None,
            looked: None,
            logged: HashMap::new(),
        }
    }

    /// No run is due.
    pub(crate) fn nothing_due(&mut self) {
        self.due_since = None;
        self.forget(|_requirement| false);
    }

    /// A run is due. Reads the queue if there has been one for a while.
    pub(crate) async fn due(&mut self) {
        let now = Instant::now();
        let since = *self.due_since.get_or_insert(now);
        let looked = self.looked.is_some_and(|looked| now - looked < EVERY);
        if now - since < UNSCHEDULABLE_AFTER || looked {
            return;
        }
        self.looked = Some(now);
        if let Err(error) = self.poll(now).await {
            tracing::debug!(error = %Chain(&error), "cannot see why due runs wait");
        }
    }

    async fn poll(&mut self, now: Instant) -> Result<(), StoreError> {
        let waiting = self.store.waiting_runs(UNSCHEDULABLE_AFTER).await?;
        if waiting.is_empty() {
            self.forget(|_requirement| false);
            return Ok(());
        }
        let members = self.store.members(self.leadership).await?;
        let leads = members
            .iter()
            .any(|member| member.leader && member.member.id == self.member);
        if !leads {
            self.logged.clear();
            return Ok(());
        }
        let workers = self.store.workers(FORGOTTEN_AFTER).await?;
        let mut unschedulable = HashMap::new();
        for runs in waiting {
            // A queue whose workers are busy needs no warning.
            let busy = why_unschedulable(&runs, &workers)
                .is_some_and(|reason| UnschedulableReason::ends_by_itself(&reason));
            if let Some(reason) = reason(&runs, &workers).filter(|_| !busy) {
                unschedulable.insert(runs.requirement.clone(), (runs, reason));
            }
        }
        self.forget(|requirement| unschedulable.contains_key(requirement));
        for (requirement, (runs, reason)) in unschedulable {
            let logged = self.logged.get(&requirement);
            if logged.is_some_and(|(before, at)| *before == reason && now - *at < AGAIN) {
                continue;
            }
            tracing::warn!(
                target: "ctrl",
                task_name = %runs.task,
                runs = runs.runs,
                due_for = ?Duration::from_secs(runs.oldest.as_secs()),
                reason,
                "no worker takes due runs"
            );
            self.logged.insert(requirement, (reason, now));
        }
        Ok(())
    }

    /// Forgets log lines about requirements without waiting runs.
    fn forget(&mut self, still: impl Fn(&Requirement) -> bool) {
        let before = self.logged.len();
        self.logged
            .retain(|requirement, _logged| still(requirement));
        if self.logged.len() < before {
            tracing::info!(target: "ctrl", "workers take due runs again");
        }
    }
}
