//! One leased run: its lease, the directory in which Terraform may be at work, and the report.
//!
//! * While Terraform may write, the lease is kept as [`LeaseDeadlines`] says: renewed after a third of its
//!   life, given up after half. Then Terraform is interrupted and is gone before the lease ends (P4).
//! * Once Terraform has ended, the lease is renewed until the end of the run is confirmed or a scheduler reports that
//!   the lease is over: no process can write any more, so the lease need not be given up.
//! * Once Terraform has been started, only a gentle stop ends it as long as time for a gentle stop is left (P5).
//! * A cancelled run gets the order to stop, and keeps its lease for as long as the stop takes.
//! * If this process cannot act, the guard does; the guard gets every deadline beforehand.

mod cancel;
mod noted;
mod phase;
pub(crate) mod renewal;
mod report;
mod wait;
pub(crate) mod wait_error;

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cts_core::lease::LeaseDeadlines;
use cts_core::runs::CancelOrder;
use cts_terraform::{StopSignal, TaskDirectory};
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::phase::PhaseWatch;
use crate::attempt_spans::AttemptSpans;
use crate::lease::Lease;
use crate::leased_run::wait_error::WaitError;
use crate::shared::Shared;
use crate::slots::Slot;

#[derive(Debug)]
pub(crate) struct LeasedRun {
    pub(crate) shared: Arc<Shared>,
    pub(crate) lease: Lease,
    /// The worker takes no new runs, and waiting runs move to another worker.
    pub(crate) drain: CancellationToken,
    /// When the lease arrived.
    pub(crate) acquired: Instant,
    /// Number of waits so far.
    waits: AtomicU32,
    /// Time for which the run has waited for a person, on its server.
    pub(crate) waited: Mutex<Duration>,
    /// The slot in which the run is at work; `None` while it waits.
    slot: Mutex<Option<Slot>>,
    state: Mutex<LeaseState>,
    pub(crate) spans: Arc<AttemptSpans>,
    /// The phase of the attempt.
    pub(crate) phases: Arc<PhaseWatch>,
    /// The current order to stop the run.
    ordered: watch::Sender<Option<CancelOrder>>,
}

/// Deadlines of the lease, and the task directory.
#[derive(Debug)]
struct LeaseState {
    deadlines: LeaseDeadlines,
    /// The directory in which Terraform may be at work, with its lock.
    locked: Option<LockedDirectory>,
}

#[derive(Debug)]
struct LockedDirectory {
    directory: TaskDirectory,
    _lock: OwnedMutexGuard<()>,
}

impl LeasedRun {
    /// A run that was granted by a call sent at `asked`.
    pub(crate) fn new(
        shared: Arc<Shared>,
        (lease, slot): (Lease, Slot),
        asked: Instant,
        drain: CancellationToken,
    ) -> Self {
        let asked = asked.saturating_duration_since(shared.started) + lease.waited;
        let deadlines = LeaseDeadlines::run(asked, lease.time_to_live);
        Self {
            spans: Arc::new(AttemptSpans::begin(&shared.traces, lease.trace)),
            acquired: Instant::now(),
            shared,
            lease,
            drain,
            waits: AtomicU32::new(0),
            waited: Mutex::default(),
            slot: Mutex::new(Some(slot.with_run())),
            state: Mutex::new(LeaseState {
                deadlines,
                locked: None,
            }),
            phases: Arc::new(PhaseWatch::begin()),
            ordered: watch::Sender::default(),
        }
    }

    /// Environment by which Terraform exports its own spans, as parts of the attempt; empty unless that is configured.
    pub(crate) fn tracing_environment(&self) -> Vec<(String, String)> {
        let exporter = &self.shared.options.tracing_environment;
        let Some(context) = self.spans.context().filter(|_| !exporter.is_empty()) else {
            return Vec::new();
        };
        let parent = (cts_terraform::TRACE_PARENT.to_owned(), context.to_string());
        exporter.iter().cloned().chain([parent]).collect()
    }

    /// The number of a new wait.
    pub(crate) fn next_wait(&self) -> u32 {
        self.waits.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// Gives the slot to another run.
    pub(crate) fn leave_slot(&self) {
        drop(self.lock_slot().take());
    }

    /// Waits for a slot to continue in.
    pub(crate) async fn take_slot(&self) -> Result<(), WaitError> {
        let slot = self.shared.slots.reclaim().await;
        // Slots exist for as long as the worker lives.
        let slot = slot.map_err(|_closed| WaitError::Stopped)?;
        *self.lock_slot() = Some(slot.with_run());
        Ok(())
    }

    fn lock_slot(&self) -> MutexGuard<'_, Option<Slot>> {
        self.slot.lock()
    }

    /// Terraform is about to be started in `directory`, which this attempt has locked until its end.
    pub(crate) fn enter(&self, directory: &TaskDirectory, lock: OwnedMutexGuard<()>) {
        self.lock().locked = Some(LockedDirectory {
            directory: directory.clone(),
            _lock: lock,
        });
        self.tell_guard();
    }

    /// Terraform is gone.
    pub(crate) fn leave(&self) {
        let locked = self.lock().locked.take();
        if let (Some(guard), Some(locked)) = (&self.shared.guard, &locked) {
            guard.release(&locked.directory);
        }
    }

    /// The guard acts a little later than this process would.
    fn tell_guard(&self) {
        let state = self.lock();
        if let (Some(guard), Some(LockedDirectory { directory, .. })) =
            (&self.shared.guard, &state.locked)
        {
            let deadlines = state.deadlines;
            let rest = deadlines.kill_by().saturating_sub(deadlines.stop_by());
            let stop_at = deadlines.stop_by() + rest / 10;
            guard.allow(
                directory,
                self.moment(stop_at),
                self.moment(deadlines.kill_by()),
            );
        }
    }

    /// The lease is lost: Terraform is interrupted, and killed when the time is up.
    pub(crate) fn give_up(&self, order: &StopSignal) {
        let state = self.lock();
        let kill_by = self.moment(state.deadlines.kill_by());
        if let (Some(guard), Some(LockedDirectory { directory, .. })) =
            (&self.shared.guard, &state.locked)
        {
            let rest = kill_by.saturating_duration_since(Instant::now());
            guard.interrupted(directory, Instant::now() + rest * 4 / 5, kill_by);
        }
        order.kill_by(kill_by);
    }

    fn deadlines(&self) -> LeaseDeadlines {
        self.lock().deadlines
    }

    fn lock(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock()
    }

    fn now(&self) -> Duration {
        self.shared.started.elapsed()
    }

    fn moment(&self, since_start: Duration) -> Instant {
        self.shared.started + since_start
    }
}
