//! One leased run: the work, the lease beside it, and the report.
//!
//! * The lease is kept as [`Hold`] says: renewed after a third of its life, given up after half. Then
//!   Terraform is interrupted and is gone before the lease ends, and nothing is reported: whoever
//!   holds the lease next decides (P4).
//! * Once Terraform has been started, nothing but a gentle stop ends it as long as there is time for one (P5).
//! * Where this process cannot act, the guard does; it is told of every deadline beforehand.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cts_core::Chain;
use cts_core::lease::Hold;
use cts_core::runs::AttemptOutcome;
use cts_proto::run::v1::{Lease, RunKind};
use cts_rpc::{chunks, convert};
use cts_terraform::{StopOrder, TaskDirectory};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::Code;

use crate::attempt::attempt;
use crate::log::RunLog;
use crate::worker::Shared;

/// Longest time for one try to renew; another scheduler may answer the next.
const RENEWAL: Duration = Duration::from_secs(2);

/// Between a try that failed and the next.
const RENEWAL_PAUSE: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Debug)]
pub(crate) struct LeasedRun {
    shared: Arc<Shared>,
    pub(crate) lease: Lease,
    keeping: Mutex<Keeping>,
}

/// What is kept besides the work.
#[derive(Debug)]
struct Keeping {
    hold: Hold,
    /// Where Terraform may be at work, and the right to be there.
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    directory: TaskDirectory,
    _turn: OwnedMutexGuard<()>,
}

impl LeasedRun {
    /// A run that was granted by a call which was sent at `asked`.
    pub(crate) fn new(shared: Arc<Shared>, lease: Lease, asked: Instant) -> Self {
        let asked = asked.saturating_duration_since(shared.started)
            + convert::duration_from_wire(lease.waited.as_ref());
        let life = convert::duration_from_wire(lease.time_to_live.as_ref());
        Self {
            shared,
            lease,
            keeping: Mutex::new(Keeping {
                hold: Hold::run(asked, life),
                place: None,
            }),
        }
    }

    /// Works on the run to its end. Returns when the report has arrived or has become pointless.
    pub(crate) async fn work(self, stop: &CancellationToken) {
        tracing::debug!(
            task_name = self.lease.task_name,
            run.id = self.lease.run_id,
            lease.epoch = self.lease.epoch,
            plan = self.lease.kind() == RunKind::Plan,
            attempt = self.lease.attempt,
            "run started"
        );
        let log = RunLog::new(self.shared.console.clone());
        let order = StopOrder::child_of(stop, self.shared.options.stop);
        let (outcome, lost) = {
            let mut work = std::pin::pin!(attempt(
                &self.shared,
                &self,
                Arc::clone(&log) as _,
                order.clone()
            ));
            let mut keeping = std::pin::pin!(self.keep_lease());
            let done = CancellationToken::new();
            let mut shipping = std::pin::pin!(log.ship(&self.shared.scheduler, &self.lease, &done));
            let mut lost = false;
            let outcome = loop {
                tokio::select! {
                    biased;
                    () = &mut keeping, if !lost => {
                        lost = true;
                        self.give_up(&order);
                    }
                    outcome = &mut work => break outcome,
                    () = &mut shipping => {}
                }
            };
            self.leave();
            done.cancel();
            // Lines of a run that is lost would be refused.
            if !lost {
                shipping.await;
            }
            (outcome, lost)
        };
        if lost || !self.hold().is_held(self.now()) {
            tracing::warn!(
                task_name = self.lease.task_name,
                run.id = self.lease.run_id,
                "the lease was lost; the result is not reported"
            );
            return;
        }
        self.report(outcome, &log).await;
    }

    /// Terraform is about to be started in `directory`, where it is this attempt's turn until its end.
    pub(crate) fn enter(&self, directory: &TaskDirectory, turn: OwnedMutexGuard<()>) {
        self.lock().place = Some(Place {
            directory: directory.clone(),
            _turn: turn,
        });
        self.tell_guard();
    }

    fn leave(&self) {
        let place = self.lock().place.take();
        if let (Some(guard), Some(place)) = (&self.shared.guard, &place) {
            guard.release(&place.directory);
        }
    }

    /// The guard acts a little later than this process would.
    fn tell_guard(&self) {
        let keeping = self.lock();
        if let (Some(guard), Some(Place { directory, .. })) = (&self.shared.guard, &keeping.place) {
            let hold = keeping.hold;
            let rest = hold.gone_by().saturating_sub(hold.give_up_at());
            let stop_at = hold.give_up_at() + rest / 10;
            guard.hold(directory, self.moment(stop_at), self.moment(hold.gone_by()));
        }
    }

    fn give_up(&self, order: &StopOrder) {
        let keeping = self.lock();
        let gone_by = self.moment(keeping.hold.gone_by());
        if let (Some(guard), Some(Place { directory, .. })) = (&self.shared.guard, &keeping.place) {
            let rest = gone_by.saturating_duration_since(Instant::now());
            guard.interrupted(directory, Instant::now() + rest * 4 / 5, gone_by);
        }
        order.gone_by(gone_by);
    }

    async fn report(&self, outcome: AttemptOutcome, log: &RunLog) {
        // What is too long for one message goes ahead; the rest is stored with the end of the run.
        let mut parts: Vec<_> = chunks(log.take(), |line| line.text.len()).collect();
        // A plan may take the message for itself.
        let last = match outcome {
            AttemptOutcome::Planned(_) => Vec::new(),
            _ => parts.pop().unwrap_or_default(),
        };
        let scheduler = &self.shared.scheduler;
        for lines in parts {
            if let Err(error) = scheduler.append_log(&self.lease, lines).await {
                tracing::debug!(run.id = self.lease.run_id, error = %Chain(&error), "log lines are lost");
            }
        }
        // As long as nobody else can have the run, and a while longer: an expired lease that was not
        // taken back is still good for a report.
        let patience = convert::duration_from_wire(self.lease.time_to_live.as_ref());
        let mut report = std::pin::pin!(scheduler.complete(&self.lease, outcome, last, patience));
        let mut keeping = std::pin::pin!(self.keep_lease());
        let mut kept = true;
        let reported = loop {
            tokio::select! {
                reported = &mut report => break reported,
                () = &mut keeping, if kept => kept = false,
            }
        };
        if let Err(error) = reported {
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
        loop {
            let hold = self.hold();
            let give_up = self.moment(hold.give_up_at());
            tokio::select! {
                biased;
                () = sleep_until(give_up) => return,
                () = sleep_until(self.moment(hold.renew_at())) => {}
            }
            loop {
                let asked = self.now();
                if !hold.is_held(asked) {
                    return;
                }
                let renewal = timeout(RENEWAL, self.shared.scheduler.renew(&self.lease));
                match timeout_at(give_up, renewal).await {
                    Ok(Ok(Ok(life))) if hold.is_held(self.now()) => {
                        self.lock().hold = hold.renewed(asked, life);
                        self.tell_guard();
                        break;
                    }
                    Ok(Ok(Err(status))) if status.code() == Code::FailedPrecondition => return,
                    Ok(Ok(Err(status))) => {
                        tracing::warn!(run.id = self.lease.run_id, error = %Chain(&status), "cannot renew a lease");
                        sleep(RENEWAL_PAUSE).await;
                    }
                    Ok(Err(elapsed)) => {
                        tracing::warn!(run.id = self.lease.run_id, error = %elapsed, "cannot renew a lease");
                    }
                    Ok(Ok(Ok(_))) | Err(_) => return,
                }
            }
        }
    }

    fn hold(&self) -> Hold {
        self.lock().hold
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Keeping> {
        self.keeping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.shared.started.elapsed()
    }

    fn moment(&self, since_start: Duration) -> Instant {
        self.shared.started + since_start
    }
}
