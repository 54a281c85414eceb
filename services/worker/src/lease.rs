//! One leased run: the work, the heartbeat beside it, and the report.
//!
//! * The lease is renewed every third of its life.
//! * When it is lost, or could not be renewed for half of its life, Terraform is interrupted and
//!   nothing is reported: whoever holds the lease next decides (P4).
//! * Once Terraform has been started, nothing but a gentle stop ends it (P5).

use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_core::runs::AttemptOutcome;
use cts_proto::run::v1::Lease;
use cts_rpc::{chunks, convert};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Code;

use crate::attempt::attempt;
use crate::log::RunLog;
use crate::worker::Shared;

/// See the module.
#[derive(Debug)]
pub(crate) struct LeasedRun {
    shared: Arc<Shared>,
    lease: Lease,
}

impl LeasedRun {
    pub(crate) fn new(shared: Arc<Shared>, lease: Lease) -> Self {
        Self { shared, lease }
    }

    /// Works on the run to its end. Returns when the report has arrived or has become pointless.
    pub(crate) async fn work(self, stop: &CancellationToken) {
        tracing::debug!(
            task_name = self.lease.task_name,
            run.id = self.lease.run_id,
            lease.epoch = self.lease.epoch,
            attempt = self.lease.attempt,
            "run started"
        );
        let log = RunLog::new(self.shared.console.clone());
        let cancel = stop.child_token();
        let work = attempt(
            &self.shared,
            &self.lease,
            Arc::clone(&log) as _,
            cancel.clone(),
        );
        let (outcome, lost) = {
            tokio::pin!(work);
            let mut heartbeat = std::pin::pin!(self.keep_lease());
            let done = CancellationToken::new();
            let mut shipping = std::pin::pin!(log.ship(&self.shared.scheduler, &self.lease, &done));
            let mut lost = false;
            let outcome = loop {
                tokio::select! {
                    biased;
                    outcome = &mut work => break outcome,
                    () = &mut heartbeat, if !lost => {
                        lost = true;
                        cancel.cancel();
                    }
                    () = &mut shipping => {}
                }
            };
            done.cancel();
            shipping.await;
            (outcome, lost)
        };
        if lost {
            tracing::warn!(
                task_name = self.lease.task_name,
                run.id = self.lease.run_id,
                "the lease was lost; the result is not reported"
            );
            return;
        }
        self.report(outcome, &log).await;
    }

    async fn report(&self, outcome: AttemptOutcome, log: &RunLog) {
        // What is too long for one message goes ahead; the rest is stored with the end of the run.
        let mut parts: Vec<_> = chunks(log.take(), |line| line.text.len()).collect();
        let last = parts.pop().unwrap_or_default();
        let scheduler = &self.shared.scheduler;
        for lines in parts {
            if let Err(error) = scheduler.append_log(&self.lease, lines).await {
                tracing::debug!(run.id = self.lease.run_id, error = %Chain(&error), "log lines are lost");
            }
        }
        let patience = convert::duration_from_wire(self.lease.time_to_live.as_ref());
        if let Err(error) = scheduler
            .complete(&self.lease, outcome, last, patience)
            .await
        {
            tracing::error!(
                task_name = self.lease.task_name,
                run.id = self.lease.run_id,
                error = %Chain(&error),
                "the end of the run could not be reported"
            );
        }
    }

    /// Renews the lease; returns when it is lost.
    async fn keep_lease(&self) {
        let mut life = convert::duration_from_wire(self.lease.time_to_live.as_ref());
        let mut granted = Instant::now();
        loop {
            tokio::time::sleep_until(granted + life / 3).await;
            let give_up = granted + life / 2;
            loop {
                let asked = Instant::now();
                let renewal =
                    tokio::time::timeout_at(give_up, self.shared.scheduler.renew(&self.lease));
                match renewal.await {
                    Ok(Ok(renewed)) => {
                        granted = asked;
                        life = renewed;
                        break;
                    }
                    Ok(Err(status)) if status.code() == Code::FailedPrecondition => return,
                    Ok(Err(status)) => {
                        tracing::warn!(run.id = self.lease.run_id, error = %Chain(&status), "cannot renew a lease");
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    Err(_elapsed) => return,
                }
                if Instant::now() >= give_up {
                    return;
                }
            }
        }
    }
}
