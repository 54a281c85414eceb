//! The order to stop a cancelled run: received by a call that waits for it, or with a renewal of the lease.

use std::convert::Infallible;
use std::time::Duration;

use cts_core::runs::CancelOrder;
use cts_rpc::CallFailure;
use cts_terraform::StopSignal;
use tokio::time::sleep;
use tonic::Code;

use super::LeasedRun;

/// The pause before the first call: a run that has ended by then costs no call.
const FIRST_CALL: Duration = Duration::from_secs(1);

/// The pause after a call that has failed or brought no new order.
const PAUSE: Duration = Duration::from_secs(1);

impl LeasedRun {
    /// Stops Terraform by the orders for the run, for as long as the run is at work.
    pub(crate) async fn follow_orders(&self, stop: &StopSignal) -> Infallible {
        let (never, _) = tokio::join!(self.stop_on_order(stop), self.await_orders());
        never
    }

    /// Waits for an order beyond the `known` one.
    pub(crate) async fn next_order(&self, known: Option<CancelOrder>) -> CancelOrder {
        let mut ordered = self.ordered.subscribe();
        loop {
            let order = *ordered.borrow_and_update();
            match order {
                Some(order) if Some(order) > known => return order,
                _ => {}
            }
            if ordered.changed().await.is_err() {
                // The sender lives as long as the run.
                return std::future::pending().await;
            }
        }
    }

    /// Whether the run is to be stopped by an order.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.ordered.borrow().is_some()
    }

    /// Notes an order for the run; a gentle order does not replace a stop by force.
    pub(super) fn note_order(&self, order: Option<CancelOrder>) {
        self.ordered.send_if_modified(|known| {
            let is_new = order > *known;
            if is_new {
                *known = order;
            }
            is_new
        });
    }

    async fn stop_on_order(&self, stop: &StopSignal) -> Infallible {
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
                // The sender lives as long as the run.
                return std::future::pending().await;
            }
        }
    }

    /// Waits for orders; each call names the order that is known.
    async fn await_orders(&self) -> Infallible {
        sleep(FIRST_CALL).await;
        loop {
            let known = *self.ordered.borrow();
            match self.shared.scheduler.await_cancel(&self.lease, known).await {
                Ok(order) if order > known => self.note_order(order),
                Ok(_) => sleep(PAUSE).await,
                // The lease is over; the renewals notice that.
                Err(status) if status.code() == Code::FailedPrecondition => {
                    return std::future::pending().await;
                }
                Err(status) => {
                    tracing::debug!(run.id = %self.lease.run, error = %CallFailure(&status), "cannot ask whether the run is cancelled");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}
