//! Leased runs that wait for something outside of cts.

use std::time::Duration;

use cts_core::runs::{Resumed, shortened};
use cts_proto::run::v1 as proto;
use cts_rpc::convert;
use tokio::time::{Instant, sleep, sleep_until};
use tonic::{Request, Status};

use super::{LONGEST_WAIT, RunEndpoint};
use crate::grpc::lease_proofs::Held;
use crate::grpc::log_service::storable;
use crate::status::OrStatus as _;

/// Bytes that are kept of the reason why a run waits.
const REASON_BYTES: usize = 1024;

/// Longest time between two polls of the store, for changes without a hint.
const POLL: Duration = Duration::from_secs(5);

/// Shortest time between two polls, however many hints arrive.
const PAUSE: Duration = Duration::from_millis(250);

impl RunEndpoint {
    /// Records that a run waits, and waits with it until the run is to give up or the time is up.
    pub(super) async fn suspend(
        &self,
        request: Request<proto::SuspendRunRequest>,
    ) -> Result<proto::SuspendRunResponse, Status> {
        let (metadata, _, request) = request.into_parts();
        let wait = convert::duration_from_wire(request.wait.as_ref()).min(LONGEST_WAIT);
        let deadline = Instant::now() + wait;
        let Held {
            run,
            holder: worker,
            epoch,
        } = self
            .proofs
            .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
        let waiting_for = shortened(&storable(request.waiting_for), REASON_BYTES);
        if !waiting_for.is_empty() {
            let number = request.number;
            let suspended = self
                .store
                .suspend(run, &worker, epoch, number, &waiting_for);
            suspended.await.or_status()?;
            // The concurrency group of the run is free, unless a remote run occupies it.
            self.notifier.queue_changed();
        }
        loop {
            let mut woken = std::pin::pin!(self.notifier.waits.notified());
            woken.as_mut().enable();
            let end = self.store.wait_end(run, &worker, epoch).await;
            let end = end.or_status()?.map(convert::wait_end_to_wire);
            let now = Instant::now();
            if end.is_some() || now >= deadline || self.shutdown.is_cancelled() {
                let end = end.unwrap_or_default().into();
                return Ok(proto::SuspendRunResponse { end });
            }
            tokio::select! {
                () = woken => sleep(PAUSE).await,
                () = sleep_until(deadline.min(now + POLL)) => {}
                () = self.shutdown.cancelled() => {}
            }
        }
    }

    /// Lets a run go on, if it may.
    pub(super) async fn resume(
        &self,
        request: Request<proto::ResumeRunRequest>,
    ) -> Result<proto::ResumeRunResponse, Status> {
        let (metadata, _, request) = request.into_parts();
        let Held {
            run,
            holder: worker,
            epoch,
        } = self
            .proofs
            .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
        let resumed = self.store.resume(run, &worker, epoch, request.number);
        let resumed = resumed.await.or_status()?;
        let end = match resumed {
            Resumed::Ended(end) => convert::wait_end_to_wire(end),
            Resumed::GoesOn | Resumed::GroupBusy => proto::WaitEnd::Unspecified,
        };
        Ok(proto::ResumeRunResponse {
            goes_on: resumed == Resumed::GoesOn,
            end: end.into(),
        })
    }
}
