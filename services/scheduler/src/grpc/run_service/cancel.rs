//! Runs that are cancelled: the request, and the order that reaches the worker.

use std::time::Duration;

use cts_core::runs::RunStatus;
use cts_core::{Requirement, RunId, unschedulable_reason};
use cts_proto::run::v1 as proto;
use cts_rpc::convert;
use cts_store::{CancelError, CancelState, RunRecord, Store, StoreError};
use tokio::time::{Instant, sleep_until};
use tonic::{Request, Status};

use super::{LONGEST_WAIT, RunEndpoint};
use crate::grpc::lease_proofs::Held;
use crate::liveness::FORGOTTEN_AFTER;
use crate::status::{OrStatus as _, store_failure};
use crate::wire::visible_tasks;

/// Longest time between two looks at the store, for orders that no hint announces.
const POLL: Duration = Duration::from_secs(5);

/// A live worker that has not acknowledged an order after this time is of a version without orders.
const NOTED_WITHIN: Duration = Duration::from_secs(15);

impl RunEndpoint {
    /// Waits until the order for the leased run differs from the caller's, or the time is up.
    pub(super) async fn await_order(
        &self,
        request: Request<proto::AwaitCancelRequest>,
    ) -> Result<proto::AwaitCancelResponse, Status> {
        let (metadata, _, request) = request.into_parts();
        let wait = convert::duration_from_wire(request.wait.as_ref()).min(LONGEST_WAIT);
        let deadline = Instant::now() + wait;
        let known = convert::cancel_order_from_wire(request.known);
        let Held {
            run,
            holder: worker,
            epoch,
        } = self
            .proofs
            .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
        loop {
            let mut woken = std::pin::pin!(self.notifier.cancels.notified());
            woken.as_mut().enable();
            let order = self.store.cancel_order(run, &worker, epoch).await;
            let order = order.or_status()?;
            let now = Instant::now();
            if order > known || now >= deadline || self.shutdown.is_cancelled() {
                let order = convert::cancel_order_to_wire(order).into();
                return Ok(proto::AwaitCancelResponse { order });
            }
            tokio::select! {
                () = woken => {}
                () = sleep_until(deadline.min(now + POLL)) => {}
                () = self.shutdown.cancelled() => {}
            }
        }
    }

    /// Cancels a run in this store, and returns it as it is afterwards.
    pub(super) async fn cancel(
        &self,
        store: &dyn Store,
        request: &proto::CancelRunRequest,
    ) -> Result<proto::CancelRunResponse, Status> {
        let run = convert::run_id(&request.run_id)?;
        let visible = visible_tasks(request.visible_tasks.clone())?;
        let force = request.force;
        let cancelled = store.cancel_run(run, force, self.identities.event_id());
        let cancelled = cancelled.await.map_err(|error| match error {
            CancelError::Unknown => Status::not_found(format!("there is no run {run}")),
            CancelError::Refused(refusal) => Status::failed_precondition(refusal.to_string()),
            CancelError::Store(error) => store_failure(&error),
        })?;
        let (task, kind) = (&cancelled.task, cancelled.kind);
        match (cancelled.status, &cancelled.worker) {
            (RunStatus::Running, Some(worker)) => {
                tracing::warn!(target: "ctrl", task_name = %task, run.id = %run, worker = %worker, force, "the run is cancelled, its worker stops it");
            }
            (RunStatus::Running, None) => {
                tracing::warn!(target: "ctrl", task_name = %task, run.id = %run, force, "the run is cancelled, and ends once its remote run has ended");
                self.notifier
                    .run_changed(run, task, kind, RunStatus::Running);
                self.notifier.queue_changed();
            }
            (RunStatus::Queued, _) if !cancelled.suspends => {
                tracing::warn!(target: "ctrl", task_name = %task, run.id = %run, "the run is cancelled, and its remote run is ended after another run of its task");
            }
            (RunStatus::Queued, _) => {
                tracing::warn!(target: "ctrl", task_name = %task, run.id = %run, "the destruction of a task is suspended");
            }
            (status, _) => {
                tracing::warn!(target: "ctrl", task_name = %task, run.id = %run, "the run is cancelled before it began");
                self.notifier.run_changed(run, task, kind, status);
            }
        }
        // The worker's call waits for this hint, at any replica.
        self.notifier.tasks_changed();
        let found = self.found(run, &visible).await.or_status()?;
        let run = found.ok_or_else(|| Status::not_found(format!("there is no run {run}")))?;
        Ok(proto::CancelRunResponse { run: Some(run) })
    }

    /// Returns the reason why the end of a run waits for its remote run, as a text for users.
    pub(super) async fn ending(&self, run: &RunRecord) -> Result<Option<String>, StoreError> {
        let workers = self.store.workers(FORGOTTEN_AFTER).await?;
        let candidates = workers.iter().map(|worker| worker.candidate(None));
        let reason = unschedulable_reason(candidates, &Requirement::of_remote_driver());
        let waits = run.waiting_for.iter().cloned();
        let texts = waits.chain(reason.map(|reason| reason.to_string()));
        Ok(Some(texts.collect::<Vec<_>>().join("; ")))
    }

    /// The reason why a cancelled run is still running, for people.
    pub(super) async fn stopping(&self, run: RunId) -> Result<Option<String>, StoreError> {
        let state = self.store.cancel_state(run).await?;
        Ok(state.map(|state| stopping_text(&state)))
    }
}

fn stopping_text(state: &CancelState) -> String {
    let worker = &state.worker;
    if state.noted {
        format!("worker {worker} to stop it")
    } else if state.ordered < NOTED_WITHIN {
        format!("worker {worker} to hear that it is cancelled")
    } else {
        format!(
            "worker {worker}, which does not answer: it is cancelled when that one does, or when its lease is over"
        )
    }
}

#[cfg(test)]
mod tests {
    use cts_core::WorkerId;
    use cts_core::runs::CancelOrder;

    use super::*;

    #[test]
    fn a_run_that_does_not_stop_says_why() {
        let state = |noted, seconds| CancelState {
            worker: WorkerId::new("w"),
            order: CancelOrder::Interrupt,
            ordered: Duration::from_secs(seconds),
            noted,
        };
        let text = |noted, seconds| stopping_text(&state(noted, seconds));
        assert_eq!(text(true, 60), "worker w to stop it");
        assert!(text(false, 14).contains("to hear"));
        assert!(text(false, 15).contains("does not answer"));
    }
}
