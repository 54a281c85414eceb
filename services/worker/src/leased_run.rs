//! One leased run: its lease, the directory where Terraform may be at work under it, and the report.
//!
//! * While Terraform may write, the lease is kept as [`LeaseDeadlines`] says: renewed after a third of its life, given
//!   up after half. Then Terraform is interrupted and is gone before the lease ends (P4).
//! * Once Terraform has ended, the lease is renewed until the end of the run is confirmed or a scheduler says
//!   that the lease is over: nothing can write any more, so there is nothing to give up.
//! * Once Terraform has been started, nothing but a gentle stop ends it as long as there is time for one (P5).
//! * Where this process cannot act, the guard does; it gets every deadline beforehand.

pub(crate) mod renewal;
mod report;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cts_core::lease::LeaseDeadlines;
use cts_terraform::{StopOrder, TaskDirectory};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::lease::Lease;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct LeasedRun {
    pub(crate) shared: Arc<Shared>,
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
        let asked = asked.saturating_duration_since(shared.started) + lease.waited;
        let deadlines = LeaseDeadlines::run(asked, lease.time_to_live);
        Self {
            shared,
            lease,
            keeping: Mutex::new(Keeping {
                deadlines,
                place: None,
            }),
        }
    }

    /// Terraform is about to be started in `directory`, where it is this attempt's turn until its end.
    pub(crate) fn enter(&self, directory: &TaskDirectory, turn: OwnedMutexGuard<()>) {
        self.lock().place = Some(Place {
            directory: directory.clone(),
            _turn: turn,
        });
        self.tell_guard();
    }

    /// Terraform is gone.
    pub(crate) fn leave(&self) {
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

    /// The lease is lost: Terraform is interrupted, and killed when the time is up.
    pub(crate) fn give_up(&self, order: &StopOrder) {
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
