//! Followed logs, and the notices that wake their followers.
//!
//! A follower reads its log only when the log has new lines. Lines that arrive at this replica wake its own followers
//! at once. Other replicas get a hint only for runs that one of these replicas has announced as followed, because logs
//! are written all the time and followed seldom. Hints may be lost; therefore one query for all followers checks twice
//! a second which logs have grown.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cts_core::RunId;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long an announcement of another replica counts.
const ANNOUNCED_FOR: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(crate) struct FollowedLogs {
    here: Mutex<HashMap<RunId, Vec<Arc<Position>>>>,
    /// Runs whose logs other replicas follow, and until when that counts.
    pub(super) elsewhere: Mutex<HashMap<RunId, Instant>>,
    /// A follower has begun to wait.
    pub(super) waits: Notify,
}

/// Position of a follower in its log.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// Position up to which the follower has read, while it waits for more.
    waits_behind: Mutex<Option<u64>>,
    moved: Notify,
}

impl Position {
    /// Waits until the log may have lines after `position` that it did not have when the follower read last.
    pub(super) async fn moved_behind(&self, position: u64, waits: &Notify) {
        *lock(&self.waits_behind) = Some(position);
        waits.notify_one();
        self.moved.notified().await;
        *lock(&self.waits_behind) = None;
    }
}

impl FollowedLogs {
    /// Adds a follower of this run, which misses nothing from now on. Returns whether it is the first here.
    pub(super) fn add(&self, run: RunId) -> (Arc<Position>, bool) {
        let position = Arc::new(Position::default());
        let mut here = lock(&self.here);
        let positions = here.entry(run).or_default();
        positions.push(Arc::clone(&position));
        (position, positions.len() == 1)
    }

    /// A follower of this run was dropped.
    pub(super) fn remove(&self, run: RunId, gone: &Arc<Position>) {
        let mut here = lock(&self.here);
        if let Some(positions) = here.get_mut(&run) {
            positions.retain(|position| !Arc::ptr_eq(position, gone));
            if positions.is_empty() {
                here.remove(&run);
            }
        }
    }

    /// The log of this run may have grown, or the run has ended.
    pub(crate) fn wake(&self, run: RunId) {
        for position in lock(&self.here).get(&run).into_iter().flatten() {
            position.moved.notify_one();
        }
    }

    /// Another replica follows the log of this run.
    pub(crate) fn note_elsewhere(&self, run: RunId) {
        let mut elsewhere = lock(&self.elsewhere);
        let now = Instant::now();
        if elsewhere.len() == elsewhere.capacity() {
            elsewhere.retain(|_run, until| *until > now);
        }
        elsewhere.insert(run, now + ANNOUNCED_FOR);
    }

    pub(crate) fn is_followed_elsewhere(&self, run: RunId) -> bool {
        let elsewhere = lock(&self.elsewhere);
        elsewhere
            .get(&run)
            .is_some_and(|until| *until > Instant::now())
    }

    /// Every run with followers here.
    pub(super) fn followed(&self) -> Vec<RunId> {
        lock(&self.here).keys().copied().collect()
    }

    /// The logs with waiting followers, each with the lowest position after which a follower waits.
    pub(super) fn waiting(&self) -> Vec<(RunId, u64)> {
        let here = lock(&self.here);
        let waiting = here.iter().filter_map(|(run, positions)| {
            let behind = positions
                .iter()
                .filter_map(|position| *lock(&position.waits_behind));
            Some((*run, behind.min()?))
        });
        waiting.collect()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
