//! Whether a destruction has destroyed the resources of the task: the state of the task decides, not the end of
//! Terraform.

use cts_core::Chain;
use cts_core::runs::AttemptOutcome;
use cts_core::state::TerraformState;
use cts_terraform::FoundState;

use super::TaskState;
use crate::outcome::attempt_error::AttemptError;
use crate::outcome::state_error::Undestroyed;

impl TaskState<'_> {
    /// Judges the outcome of a destruction, and reads the state after it. `lineage` is the lineage of the state before.
    pub(crate) async fn judge_destruction(
        &self,
        lineage: Option<String>,
        ended: Result<(), AttemptError>,
    ) -> (Result<AttemptOutcome, AttemptError>, Option<TerraformState>) {
        if self.here.attempt.stop.is_cancelled() && ended.is_err() {
            return (ended.map(|()| AttemptOutcome::Destroyed), None);
        }
        let found = match self.read_applied().await {
            Ok(found) => found,
            // The destruction is tried again: resources that are destroyed by then stay so.
            Err(error) => return (Err(ended.err().unwrap_or_else(|| error.into())), None),
        };
        let state = found.as_ref().map(|found| found.state.clone());
        let judged = self.judge(lineage.as_deref(), ended, found);
        (judged.map(|()| AttemptOutcome::Destroyed), state)
    }

    #[expect(
        clippy::result_large_err,
        reason = "one is made for an attempt, which takes a process"
    )]
    fn judge(
        &self,
        lineage: Option<&str>,
        ended: Result<(), AttemptError>,
        found: Option<FoundState>,
    ) -> Result<(), AttemptError> {
        // Without a known state only the end of Terraform can be judged.
        let Some(lineage) = lineage else {
            return ended;
        };
        let elsewhere = |found| Undestroyed::Elsewhere {
            found,
            backend: self.backend.kind.clone(),
            workspace: self.here.attempt.task.to_string(),
        };
        // Terraform makes an empty state by itself if none was there.
        let found = found.filter(|found| !found.is_placeholder || found.state.lineage == lineage);
        let Some(FoundState { state, .. }) = found else {
            ended?;
            return Err(elsewhere("there is no state").into());
        };
        if state.lineage != lineage {
            ended?;
            return Err(elsewhere("the state of something else is").into());
        }
        match (state.resources, ended) {
            (Some(0), Err(error)) => {
                tracing::warn!(
                    task_name = %self.here.attempt.task,
                    error = %Chain(&error),
                    "Terraform has failed, but nothing is left in the state: it is destroyed"
                );
                Ok(())
            }
            (Some(left), Ok(())) if left > 0 => Err(Undestroyed::Left(left).into()),
            (_, ended) => ended,
        }
    }
}
