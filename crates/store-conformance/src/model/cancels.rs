//! The part of the model that cancels runs; it leaves destructions alone.

use cts_core::runs::{
    CancelContext, CancelDecision, CancelOrder, CancelRefusal, RunStatus, decide_cancel,
    failure_text, keep_error,
};
use cts_core::{EventId, RunId, TaskPhase};

use super::{Model, ModelEvent};
use cts_store::cancel::{REQUEST_CANCELLED, WITHDRAWN};
use cts_store::{Refused, RefusedCode};

/// Result of a request to cancel, as far as it is compared.
#[derive(Debug, PartialEq, Eq)]
pub enum ModelCancelled {
    Unknown,
    Refused(CancelRefusal),
    Done(RunStatus, Option<ModelEvent>),
    /// The model never does.
    Failed(String),
}

impl Model {
    pub fn cancel_run(&mut self, id: RunId, force: bool, event: EventId) -> ModelCancelled {
        let now = self.now;
        let Some(run) = self.runs.get_mut(&id) else {
            return self.cancel_request(id);
        };
        let context = CancelContext {
            status: run.status,
            suspended: false,
            ordered: run.ordered.map(|at| now.saturating_sub(at)),
            open_remote: false,
        };
        match decide_cancel(context, force) {
            CancelDecision::Refuse(refusal) => ModelCancelled::Refused(refusal),
            CancelDecision::Order(order) => {
                run.ordered.get_or_insert(now);
                run.by_force |= order == CancelOrder::Force;
                ModelCancelled::Done(RunStatus::Running, None)
            }
            CancelDecision::EndRemote => unreachable!("the walk has no remote runs"),
            CancelDecision::Withdraw => {
                run.status = RunStatus::Cancelled;
                keep_error(&mut run.errors, WITHDRAWN);
                let error = failure_text(&run.errors, 0);
                let (name, input, applies) = (run.task.clone(), run.input, run.kind.applies());
                let phase = self.tasks.get(&name).map(|task| task.stored.phase);
                if phase == Some(TaskPhase::Creating) {
                    self.enter(&name, TaskPhase::Discarded);
                }
                let event = ModelEvent {
                    id: event,
                    run: Some(id),
                    success: false,
                    error: Some(error),
                };
                let ready = phase == Some(TaskPhase::Ready) && applies;
                let task = self.tasks.get_mut(&name).filter(|_| ready);
                let event = task.map(|task| {
                    task.withheld = Some(input);
                    task.events.push(event.clone());
                    event
                });
                ModelCancelled::Done(RunStatus::Cancelled, event)
            }
        }
    }

    fn cancel_request(&mut self, id: RunId) -> ModelCancelled {
        let request = self.requests.get(&id);
        if request.is_none_or(|request| request.refused.is_some()) {
            return ModelCancelled::Unknown;
        }
        let refused = Refused {
            code: RefusedCode::Withdrawn,
            reason: REQUEST_CANCELLED.to_owned(),
        };
        self.refuse(id, &refused);
        ModelCancelled::Done(RunStatus::Cancelled, None)
    }
}
