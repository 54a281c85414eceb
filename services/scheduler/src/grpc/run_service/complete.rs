//! Ends of attempts.

use cts_core::RunId;
use cts_core::runs::AttemptOutcome;
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_rpc::convert;
use cts_store::{Completed, Completion};
use tonic::{Request, Status};

use super::{RunEndpoint, logging};
use crate::grpc::lease_proofs::Held;
use crate::grpc::log_service::{lines_from_wire, storable};
use crate::grpc::status::OrStatus as _;

impl RunEndpoint {
    /// Stores the end of an attempt.
    pub(super) async fn complete(
        &self,
        request: Request<proto::CompleteRunRequest>,
    ) -> Result<proto::CompleteRunResponse, Status> {
        let (metadata, _, request) = request.into_parts();
        let Held { run, holder, epoch } =
            self.proofs
                .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
        let outcome = request.outcome.as_ref();
        let is_final = matches!(outcome, Some(Outcome::Failed(failed)) if failed.is_final);
        let completion = Completion {
            is_final,
            run,
            holder,
            epoch,
            outcome: storable_outcome(convert::outcome_from_wire(request.outcome)?),
            event: self.identities.event_id(),
            retry_run: self.identities.run_id(),
            jitter: self.identities.jitter(),
            log: lines_from_wire(request.log),
            details: request.details.map(convert::details_from_wire),
            // The attempt has ended even if its worker reports an impossible state.
            state: request
                .state
                .and_then(|state| convert::terraform_state_from_wire(state).ok()),
        };
        let completed = self.store.complete(completion.clone()).await.or_status()?;
        // A pass ends with what its followers see, and the lines of its runs stand before its own.
        logging::log_failed_apply(&completion, &completed);
        self.log_end(&completion, &completed);
        self.tell_end(completion.run, &completed);
        if completed.tasks_changed {
            self.notifier.tasks_changed();
        }
        if completed.next_due.is_some() {
            self.notifier.queue_changed();
        }
        let status = convert::status_to_wire(completed.status).into();
        Ok(proto::CompleteRunResponse { status })
    }

    /// Announces that an attempt has ended, and its run if that has ended too.
    pub(super) fn tell_end(&self, run: RunId, completed: &Completed) {
        let Completed {
            task, kind, status, ..
        } = completed;
        self.notifier.run_changed(run, task, *kind, *status);
    }
}

fn storable_outcome(outcome: AttemptOutcome) -> AttemptOutcome {
    match outcome {
        AttemptOutcome::Failed(error) => AttemptOutcome::Failed(storable(error)),
        // A plan is stored as bytes.
        AttemptOutcome::Applied
        | AttemptOutcome::Planned(_)
        | AttemptOutcome::Checked
        | AttemptOutcome::Destroyed
        | AttemptOutcome::Interrupted => outcome,
    }
}
