//! The order to stop a run that is cancelled: heard by a call that waits for it, or with a renewal of the lease.

use std::convert::Infallible;
use std::time::Duration;

use cts_core::Chain;
use cts_core::runs::CancelOrder;
use cts_terraform::StopOrder;
use tokio::time::sleep;
use tonic::Code;

use super::LeasedRun;

/// A run that has ended by then costs no call.
const FIRST_CALL: Duration = Duration::from_secs(1);

/// Before a call is made again that has failed, or has said nothing new.
const PAUSE: Duration = Duration::from_secs(1);

/// Before a scheduler is called again that knows of no such orders; another may answer then.
const UNKNOWN_PAUSE: Duration = Duration::from_secs(30);

impl LeasedRun {
    /// Stops Terraform as the run is ordered to, for as long as the run is at work.
    pub(crate) async fn obey(&self, stop: &StopOrder) -> Infallible {
        let (never, _) = tokio::join!(self.carry_out(stop), self.hear());
        never
    }

    /// The run has this order; a gentle one does not follow a stop by force.
    pub(super) fn note_order(&self, order: Option<CancelOrder>) {
        self.ordered.send_if_modified(|known| {
            let is_new = order > *known;
            if is_new {
                *known = order;
            }
            is_new
        });
    }

    async fn carry_out(&self, stop: &StopOrder) -> Infallible {
        let mut ordered = self.ordered.subscribe();
        loop {
            let order = *ordered.borrow_and_update();
            match order {
                None => {}
                Some(CancelOrder::Interrupt) => stop.interrupt(),
                Some(CancelOrder::Force) => stop.terminate(),
            }
            if let Some(order) = order {
                tracing::warn!(
                    task_name = self.lease.task_name,
                    run.id = %self.lease.run,
                    force = order == CancelOrder::Force,
                    "the run is cancelled and stops"
                );
            }
            if ordered.changed().await.is_err() {
                // It lives as long as the run.
                return std::future::pending().await;
            }
        }
    }

    /// Waits for orders, and says with each call which one is known.
    async fn hear(&self) -> Infallible {
        sleep(FIRST_CALL).await;
        loop {
            let known = *self.ordered.borrow();
            match self.shared.scheduler.await_cancel(&self.lease, known).await {
                Ok(order) if order > known => self.note_order(order),
                Ok(_) => sleep(PAUSE).await,
                // The lease is over, which the renewals find out.
                Err(status) if status.code() == Code::FailedPrecondition => {
                    return std::future::pending().await;
                }
                Err(status) if status.code() == Code::Unimplemented => sleep(UNKNOWN_PAUSE).await,
                Err(status) => {
                    tracing::debug!(run.id = %self.lease.run, error = %Chain(&status), "cannot ask whether the run is cancelled");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}
