//! Ends of attempts.
//!
//! One transaction stores result, event, last log lines and the last applied input.

use cts_core::RunId;
use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_rpc::convert;
use cts_store::{Completed, Completion};
use tonic::{Request, Status};

use super::{RunEndpoint, logging};
use crate::grpc::lease_proofs::Held;
use crate::grpc::log_service::{storable, storable_lines};
use crate::run_spans::EndedLease;
use crate::status::OrStatus as _;

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
        let held_for = request.held_for.as_ref();
        let held_for = held_for.map(|held_for| convert::duration_from_wire(Some(held_for)));
        let is_final = matches!(outcome, Some(Outcome::Failed(failed)) if failed.is_final);
        let early_failure = match outcome {
            Some(Outcome::Failed(failed)) => convert::early_failure_from_wire(failed.early_failure),
            _ => None,
        };
        let completion = Completion {
            is_final,
            early_failure,
            run,
            holder,
            epoch,
            outcome: storable_outcome(convert::outcome_from_wire(request.outcome)?),
            event: self.identities.event_id(),
            retry_run: self.identities.run_id(),
            jitter: self.identities.jitter(),
            log: storable_lines(request.log),
            details: request.details.map(convert::bounded_details),
            // The attempt has ended even if its worker reports an impossible state.
            state: request
                .state
                .and_then(|state| convert::terraform_state_from_wire(state).ok()),
        };
        let completed = self.store.complete(completion.clone()).await.or_status()?;
        if completed.status == RunStatus::Succeeded {
            self.metrics.applied.lock().push(completion.run);
        }
        let record = self.spans.of_run(completion.run).await;
        let trace = record.as_ref().and_then(|record| record.trace.as_ref());
        // A pass ends when its followers see the last run, so the lines of its runs are logged before.
        self.spans.log_span(completion.run, trace).in_scope(|| {
            logging::log_failed_apply(&completion, &completed);
            self.log_end(&completion, &completed);
        });
        self.tell_end(completion.run, &completed);
        if completed.tasks_changed {
            self.notifier.tasks_changed();
        }
        // A run that is still running after its attempt waits for a worker that ends its remote run.
        if completed.next_due.is_some() || completed.status == RunStatus::Running {
            self.notifier.queue_changed();
        }
        let keep_trace = match &record {
            Some(record) => {
                let ended = EndedLease {
                    lease: Some((completion.epoch, &completion.holder)),
                    held_for,
                    outcome: completion.outcome.as_str(),
                    failed: completion.outcome.error(completed.kind).is_some(),
                };
                Some(self.spans.lease_ended(record, ended).await)
            }
            None => None,
        };
        let status = convert::status_to_wire(completed.status).into();
        Ok(proto::CompleteRunResponse { status, keep_trace })
    }

    /// Announces that an attempt has ended, and its run if the run has ended, too.
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
        AttemptOutcome::Declined(error) => AttemptOutcome::Declined(storable(error)),
        // A plan is stored as bytes.
        AttemptOutcome::Applied
        | AttemptOutcome::Planned(_)
        | AttemptOutcome::Checked
        | AttemptOutcome::Destroyed
        | AttemptOutcome::Interrupted => outcome,
    }
}
