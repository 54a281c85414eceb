//! The steps of runs that are cancelled.

use cts_core::runs::RunKind;

use super::Walk;
use crate::Fixture;
use crate::model::{ModelCancelled, ModelEvent};
use cts_store::CancelError;

impl<F: Fixture> Walk<F> {
    pub(super) async fn cancel(&mut self) {
        let queued_or_requested: Vec<_> = self
            .model
            .runs
            .iter()
            .filter(|(_, run)| run.kind != RunKind::Destroy)
            .filter(|(_, run)| !run.status.is_end() || run.epoch == 1)
            .map(|(id, _)| *id)
            .chain(self.model.requests.keys().copied())
            .collect();
        let run = self.dice.one_of(&queued_or_requested).copied();
        let run = run.unwrap_or_else(|| self.scene.run_id());
        let (force, event) = (self.dice.one_in(4), self.scene.event_id());
        self.trace.push(format!("cancel {run} {force}"));
        let expected = self.model.cancel_run(run, force, event);
        let answer = match self.scene.store().cancel_run(run, force, event).await {
            Ok(done) => {
                ModelCancelled::Done(done.status, done.event.as_ref().map(ModelEvent::from))
            }
            Err(CancelError::Unknown) => ModelCancelled::Unknown,
            Err(CancelError::Refused(refusal)) => ModelCancelled::Refused(refusal),
            Err(CancelError::Store(error)) => ModelCancelled::Failed(format!("{error:?}")),
        };
        assert_eq!(answer, expected, "{}", self.story());
    }
}
