//! Records about the state of a leased run's task.

use cts_core::Chain;
use cts_core::state::StateReport;

use crate::leased_run::LeasedRun;
use crate::outcome::mismatch::Mismatch;
use crate::outcome::state_error::StateError;
use crate::redaction::Redactor;

impl LeasedRun {
    /// Records a finding or a move; returns the number of moves from now on.
    pub(crate) async fn record_state(&self, report: StateReport) -> Result<u32, StateError> {
        let recorded = self.shared.scheduler.record_state(&self.lease, report);
        recorded.await.map_err(StateError::Unrecorded)
    }

    /// Returns the error of a refused run; the task keeps the error, so that it can be shown.
    pub(crate) async fn refuse_state(&self, mismatch: Mismatch, redactor: &Redactor) -> StateError {
        if mismatch.kind.changes_resources() {
            let conflict = StateReport::Refused(mismatch.conflict(redactor));
            if let Err(error) = self.record_state(conflict).await {
                tracing::debug!(task_name = self.lease.task_name, error = %Chain(&error), "the conflict is not recorded");
            }
        }
        StateError::Mismatch(Box::new(mismatch))
    }
}
