//! One leased run: the work, the lease beside it, and the report.
//!
//! * While Terraform may write, the lease is kept as [`LeaseDeadlines`] says: renewed after a third of its life, given
//!   up after half. Then Terraform is interrupted and is gone before the lease ends (P4).
//! * Once Terraform has ended, the lease is renewed until the end of the run is confirmed or a scheduler says
//!   that the lease is over: nothing can write any more, so there is nothing to give up.
//! * Once Terraform has been started, nothing but a gentle stop ends it as long as there is time for one (P5).
//! * Where this process cannot act, the guard does; it gets every deadline beforehand.

mod renewal;
mod report;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cts_core::lease::LeaseDeadlines;
use cts_core::runs::AttemptOutcome;
use cts_proto::run::v1::{Lease, RunKind};
use cts_rpc::convert;
use cts_terraform::{StopOrder, TaskDirectory};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::renewal::LeaseEnd;
use crate::attempt::attempt;
use crate::log::RunLog;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct LeasedRun {
    shared: Arc<Shared>,
    pub(crate) lease: Lease,
    keeping: Mutex<Keeping>,
}

/// What is kept besides the work.
#[derive(Debug)]
struct Keeping {
    deadlines: LeaseDeadlines,
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
                deadlines: LeaseDeadlines::run(asked, life),
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
        let done = CancellationToken::new();
        let mut shipping = std::pin::pin!(log.ship(&self.shared.scheduler, &self.lease, &done));
        let (outcome, lost) = {
            let output = Arc::clone(&log) as _;
            let mut work = std::pin::pin!(attempt(&self.shared, &self, output, order.clone()));
            let mut keeping = std::pin::pin!(self.keep_lease());
            let mut lost = None;
            let outcome = loop {
                tokio::select! {
                    biased;
                    end = &mut keeping, if lost.is_none() => {
                        lost = Some(end);
                        self.give_up(&order);
                    }
                    outcome = &mut work => break outcome,
                    () = &mut shipping => {}
                }
            };
            (outcome, lost)
        };
        self.leave();
        done.cancel();
        let Some(outcome) = to_be_reported(outcome, lost) else {
            tracing::warn!(
                task_name = self.lease.task_name,
                run.id = self.lease.run_id,
                "the lease was lost; the result is not reported"
            );
            return;
        };
        if lost.is_some() {
            tracing::warn!(
                task_name = self.lease.task_name,
                run.id = self.lease.run_id,
                "the lease could not be renewed in time; the run is given back"
            );
        }
        // The log of a run whose lease could not be renewed does not arrive either.
        let report = async {
            if lost.is_none() {
                shipping.await;
            }
            self.report(outcome, &log, lost.is_none()).await
        };
        self.keep_until_reported(report, stop).await;
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
            let deadlines = keeping.deadlines;
            let rest = deadlines.kill_by().saturating_sub(deadlines.stop_by());
            let stop_at = deadlines.stop_by() + rest / 10;
            guard.hold(
                directory,
                self.moment(stop_at),
                self.moment(deadlines.kill_by()),
            );
        }
    }

    fn give_up(&self, order: &StopOrder) {
        let keeping = self.lock();
        let kill_by = self.moment(keeping.deadlines.kill_by());
        if let (Some(guard), Some(Place { directory, .. })) = (&self.shared.guard, &keeping.place) {
            let rest = kill_by.saturating_duration_since(Instant::now());
            guard.interrupted(directory, Instant::now() + rest * 4 / 5, kill_by);
        }
        order.kill_by(kill_by);
    }

    fn deadlines(&self) -> LeaseDeadlines {
        self.lock().deadlines
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

/// What is said of an attempt that has ended with `outcome`, `lost` being how its lease was lost meanwhile.
/// Terraform is gone in any case, and the scheduler refuses the word if another attempt has begun.
///
/// What was done is reported, so that it is not done twice. A run that was stopped because no scheduler renewed
/// its lease goes back to the queue and does not count; one that was stopped because this process stood still
/// is taken back by the scheduler and counts, for it may be the run that makes workers stand still.
fn to_be_reported(outcome: AttemptOutcome, lost: Option<LeaseEnd>) -> Option<AttemptOutcome> {
    match (lost, &outcome) {
        (Some(LeaseEnd::Refused), _) => None,
        (None, _)
        | (
            Some(_),
            AttemptOutcome::Applied | AttemptOutcome::Planned(_) | AttemptOutcome::Checked,
        ) => Some(outcome),
        (Some(LeaseEnd::Unanswered), _) => Some(AttemptOutcome::Interrupted),
        (Some(LeaseEnd::Overslept), _) => None,
    }
}
