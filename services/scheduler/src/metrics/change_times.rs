//! The way of each change from its arrival to the end of its run, in memory (docs/telemetry.md#changes).
//!
//! Only the leader sees a change arrive, so a change is forgotten with the end of its leadership.

use std::collections::HashMap;
use std::time::Duration;

use cts_core::RunId;
use cts_core::runs::RunStatus;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The most changes that are followed. Further changes are not measured.
const FOLLOWED: usize = 20_000;

/// The changes that have not been applied yet.
#[derive(Debug, Default)]
pub(crate) struct ChangeTimes(Mutex<HashMap<RunId, Change>>);

#[derive(Debug, Clone, Copy)]
struct Change {
    arrived: Instant,
    /// When the run was queued; `None` while the store has not answered.
    queued: Option<Instant>,
    is_leased: bool,
}

/// A stage of a change, with its duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// From the arrival of the change to the queue.
    Buffer(Duration),
    /// From the queue to the first lease.
    Queue(Duration),
    /// From the arrival of the change to the end of a successful run.
    Whole(Duration),
}

impl ChangeTimes {
    /// A change that arrived at this moment is to be queued as `run`.
    pub(crate) fn begin(&self, run: RunId, arrived: Instant) {
        let mut changes = self.0.lock();
        if changes.len() < FOLLOWED {
            changes.entry(run).or_insert(Change {
                arrived,
                queued: None,
                is_leased: false,
            });
        }
    }

    /// The change that was to become `run` is in the queue as `queued`, or in no run.
    pub(crate) fn queued(&self, run: RunId, queued: Option<RunId>, now: Instant) -> Option<Passed> {
        let mut changes = self.0.lock();
        let mut change = changes.remove(&run)?;
        let queued = queued?;
        change.queued = Some(now);
        // A run that was queued before stands for the earlier change.
        changes.entry(queued).or_insert(change);
        Some(Passed::Buffer(
            now.saturating_duration_since(change.arrived),
        ))
    }

    pub(crate) fn changed(&self, run: RunId, status: RunStatus, now: Instant) -> Option<Passed> {
        let mut changes = self.0.lock();
        match status {
            RunStatus::Queued => None,
            RunStatus::Running => {
                let change = changes.get_mut(&run)?;
                let queued = change.queued.filter(|_| !change.is_leased)?;
                change.is_leased = true;
                Some(Passed::Queue(now.saturating_duration_since(queued)))
            }
            RunStatus::Succeeded => {
                let change = changes.remove(&run)?;
                Some(Passed::Whole(now.saturating_duration_since(change.arrived)))
            }
            RunStatus::Failed | RunStatus::Cancelled => {
                changes.remove(&run);
                None
            }
        }
    }

    /// Called when another process may lead.
    pub(crate) fn forget(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn run(number: u128) -> RunId {
        RunId::from_uuid(Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_measured_from_its_arrival_to_the_end_of_its_run() {
        let (times, start) = (ChangeTimes::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let seconds = Duration::from_secs;
        times.begin(run(1), at(0));
        let buffered = times.queued(run(1), Some(run(1)), at(5));
        assert_eq!(buffered, Some(Passed::Buffer(seconds(5))));
        assert_eq!(times.changed(run(1), RunStatus::Queued, at(5)), None);
        let leased = times.changed(run(1), RunStatus::Running, at(7));
        assert_eq!(leased, Some(Passed::Queue(seconds(2))));
        // The second attempt.
        assert_eq!(times.changed(run(1), RunStatus::Running, at(9)), None);
        let whole = times.changed(run(1), RunStatus::Succeeded, at(11));
        assert_eq!(whole, Some(Passed::Whole(seconds(11))));
        assert_eq!(times.changed(run(1), RunStatus::Succeeded, at(12)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_joins_a_queued_run_does_not_hide_the_earlier_one() {
        let (times, start) = (ChangeTimes::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        times.begin(run(1), at(0));
        times.queued(run(1), Some(run(1)), at(0));
        times.begin(run(2), at(3));
        times.queued(run(2), Some(run(1)), at(4));
        let whole = times.changed(run(1), RunStatus::Succeeded, at(10));
        assert_eq!(whole, Some(Passed::Whole(Duration::from_secs(10))));
        assert_eq!(times.changed(run(2), RunStatus::Succeeded, at(11)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_without_a_run_is_forgotten() {
        let (times, now) = (ChangeTimes::default(), Instant::now());
        times.begin(run(1), now);
        assert_eq!(times.queued(run(1), None, now), None);
        assert_eq!(times.changed(run(1), RunStatus::Succeeded, now), None);
    }
}
