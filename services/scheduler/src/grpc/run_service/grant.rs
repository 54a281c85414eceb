//! Grants of leases.

use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_core::{Chain, LeaseEpoch, RunId, WorkerId};
use cts_store::{Claim, Completion, Lease, StoreError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::RunEndpoint;

/// A lease and a moment that was not after its grant.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) lease: Lease,
    pub(super) at: Instant,
}

type Grant = oneshot::Sender<Result<Option<Granted>, StoreError>>;

impl RunEndpoint {
    /// Acquires for a caller. If the caller disconnects, its run goes back to the queue.
    pub(super) async fn grant(self, claim: Claim, deadline: Instant, mut caller: Grant) {
        let result = tokio::select! {
            result = self.acquire(&claim, deadline) => result,
            () = caller.closed() => {
                // A statement under way was dropped; if it happened all the same, the lease expires.
                return;
            }
        };
        if let Err(Ok(Some(unwanted))) = caller.send(result) {
            let Lease {
                run, holder, epoch, ..
            } = unwanted.lease;
            self.give_back(run, holder, epoch).await;
        }
    }

    /// Puts a run back into the queue if its worker does not know the lease.
    pub(crate) async fn give_back(&self, run: RunId, holder: WorkerId, epoch: LeaseEpoch) {
        let completion = Completion {
            run,
            holder,
            epoch,
            outcome: AttemptOutcome::Interrupted,
            is_final: false,
            early_failure: None,
            event: self.identities.event_id(),
            retry_run: self.identities.run_id(),
            jitter: self.identities.jitter(),
            log: Vec::new(),
            details: None,
            state: None,
        };
        match self.store.complete(completion).await {
            Ok(completed) => {
                self.tell_end(run, &completed);
                self.notifier.queue_changed();
            }
            Err(error) => {
                tracing::debug!(run.id = %run, error = %Chain(&error), "an unwanted lease has to expire");
            }
        }
    }

    /// Polls the queue, woken by hints, until a run is leased, the time is up or the worker drains.
    async fn acquire(
        &self,
        claim: &Claim,
        deadline: Instant,
    ) -> Result<Option<Granted>, StoreError> {
        let class = self.notifier.class(claim);
        let call = self.notifier.call_of(&claim.worker);
        loop {
            // Registered before the queue is read, so that a change in between is not missed.
            let mut woken = std::pin::pin!(class.notified());
            let mut drained = std::pin::pin!(call.notified());
            woken.as_mut().enable();
            drained.as_mut().enable();
            let at = Instant::now();
            if let Some(lease) = self.store.acquire(claim).await? {
                // One hint may stand for several runs.
                class.notify_one();
                let span = self.spans.log_span(lease.run, lease.trace.as_ref());
                span.in_scope(|| self.log_begin(&lease));
                self.notifier
                    .run_changed(lease.run, &lease.task, lease.kind, RunStatus::Running);
                return Ok(Some(Granted { lease, at }));
            }
            tokio::select! {
                () = &mut woken => {}
                () = &mut drained => return Ok(None),
                () = tokio::time::sleep_until(deadline) => return Ok(None),
                () = self.shutdown.cancelled() => return Ok(None),
            }
        }
    }
}
