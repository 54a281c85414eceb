//! Which logs are followed, and what wakes those who follow them.
//!
//! A follower reads its log when there is something new in it, and not otherwise. What this replica does
//! wakes its own followers at once. Other replicas get a hint, but only of runs that one of them has said it
//! follows: logs are written all the time and followed seldom. Hints may be lost, so that twice a second one
//! question asks for all followers together which logs have gone on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cts_core::{Chain, RunId};
use cts_store::Store;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::notifier::Notifier;

/// Between two questions for all followers.
const POLL: Duration = Duration::from_millis(500);

/// Between two announcements of what is followed here.
const ANNOUNCE: Duration = Duration::from_secs(10);

/// How long an announcement of another replica counts.
const ANNOUNCED_FOR: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(crate) struct FollowedLogs {
    here: Mutex<HashMap<RunId, Vec<Arc<Place>>>>,
    /// What other replicas follow, and until when that counts.
    elsewhere: Mutex<HashMap<RunId, Instant>>,
    /// A follower has begun to wait.
    waits: Notify,
}

/// Where one follower is in its log.
#[derive(Debug, Default)]
struct Place {
    /// What it has read, while it waits for more.
    waits_behind: Mutex<Option<u64>>,
    moved: Notify,
}

/// Follows the log of one run until it is dropped.
#[derive(Debug)]
pub(crate) struct LogFollower {
    notifier: Arc<Notifier>,
    run: RunId,
    place: Arc<Place>,
}

impl LogFollower {
    /// From now on nothing is missed.
    pub(crate) fn new(notifier: Arc<Notifier>, run: RunId) -> Self {
        let place = Arc::new(Place::default());
        let is_first = {
            let mut here = lock(&notifier.logs.here);
            let places = here.entry(run).or_default();
            places.push(Arc::clone(&place));
            places.len() == 1
        };
        if is_first {
            notifier.announce_followed(run);
        }
        Self {
            notifier,
            run,
            place,
        }
    }

    /// Waits until there may be something behind `position` that was not there when this follower read last.
    pub(crate) async fn moved_behind(&self, position: u64) {
        *lock(&self.place.waits_behind) = Some(position);
        self.notifier.logs.waits.notify_one();
        self.place.moved.notified().await;
        *lock(&self.place.waits_behind) = None;
    }
}

impl Drop for LogFollower {
    fn drop(&mut self) {
        let mut here = lock(&self.notifier.logs.here);
        if let Some(places) = here.get_mut(&self.run) {
            places.retain(|place| !Arc::ptr_eq(place, &self.place));
            if places.is_empty() {
                here.remove(&self.run);
            }
        }
    }
}

impl FollowedLogs {
    /// There may be more in the log of this run, or it has ended.
    pub(crate) fn wake(&self, run: RunId) {
        for place in lock(&self.here).get(&run).into_iter().flatten() {
            place.moved.notify_one();
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
    fn followed(&self) -> Vec<RunId> {
        lock(&self.here).keys().copied().collect()
    }

    /// The logs with waiting followers, each with the lowest position that one waits behind.
    fn waiting(&self) -> Vec<(RunId, u64)> {
        let here = lock(&self.here);
        let waiting = here.iter().filter_map(|(run, places)| {
            let behind = places.iter().filter_map(|place| *lock(&place.waits_behind));
            Some((*run, behind.min()?))
        });
        waiting.collect()
    }
}

/// Stands behind hints that got lost, for ever, and repeats what is followed here.
pub(crate) async fn watch(store: Arc<dyn Store>, notifier: Arc<Notifier>) {
    let mut announced = Instant::now();
    loop {
        let waiting = notifier.logs.waiting();
        if waiting.is_empty() {
            notifier.logs.waits.notified().await;
        } else {
            match store.moved_logs(&waiting).await {
                Ok(moved) => moved.into_iter().for_each(|run| notifier.logs.wake(run)),
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "cannot look for logs that have gone on");
                }
            }
        }
        if announced.elapsed() >= ANNOUNCE {
            for run in notifier.logs.followed() {
                notifier.announce_followed(run);
            }
            announced = Instant::now();
        }
        sleep(POLL).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use cts_core::SystemClock;
    use cts_store::Hint;
    use tokio::sync::mpsc;
    use uuid::Uuid;

    use super::*;

    fn run(number: u128) -> RunId {
        RunId::from_uuid(Uuid::from_u128(number))
    }

    fn replica(id: &str) -> (Arc<Notifier>, mpsc::Receiver<Hint>) {
        let (notifier, outgoing) = Notifier::shared(Arc::new(SystemClock), id.to_owned());
        (Arc::new(notifier), outgoing)
    }

    /// All of them get what one has published, that one too.
    fn deliver(outgoing: &mut mpsc::Receiver<Hint>, to: [&Notifier; 2]) -> usize {
        let mut delivered = 0;
        while let Ok(hint) = outgoing.try_recv() {
            for notifier in to {
                notifier.apply(hint.clone());
            }
            delivered += 1;
        }
        delivered
    }

    #[tokio::test]
    async fn a_line_wakes_followers_at_other_replicas_and_is_no_hint_otherwise() {
        let (writing, mut of_writing) = replica("writing");
        let (reading, mut of_reading) = replica("reading");
        let both = [&*writing, &*reading];
        writing.log_grew(run(1));
        assert_eq!(deliver(&mut of_writing, both), 0);

        let follower = LogFollower::new(Arc::clone(&reading), run(1));
        let second = LogFollower::new(Arc::clone(&reading), run(1));
        assert_eq!(deliver(&mut of_reading, both), 1, "a run is announced once");
        writing.log_grew(run(2));
        assert_eq!(deliver(&mut of_writing, both), 0);
        writing.log_grew(run(1));
        assert_eq!(deliver(&mut of_writing, both), 1);
        follower.moved_behind(0).await;
        second.moved_behind(0).await;

        lock(&writing.logs.elsewhere).insert(run(1), Instant::now());
        writing.log_grew(run(1));
        assert_eq!(deliver(&mut of_writing, both), 0);
    }

    #[tokio::test]
    async fn what_is_followed_here_only_is_no_hint() {
        let (notifier, mut outgoing) = replica("one");
        let follower = LogFollower::new(Arc::clone(&notifier), run(1));
        assert_eq!(deliver(&mut outgoing, [&*notifier, &*notifier]), 1);
        notifier.log_grew(run(1));
        assert_eq!(deliver(&mut outgoing, [&*notifier, &*notifier]), 0);
        follower.moved_behind(0).await;
    }

    #[tokio::test]
    async fn only_those_who_wait_are_asked_for() {
        let (notifier, _outgoing) = replica("one");
        let ahead = LogFollower::new(Arc::clone(&notifier), run(1));
        let behind = LogFollower::new(Arc::clone(&notifier), run(1));
        let reads = LogFollower::new(Arc::clone(&notifier), run(1));
        assert_eq!(notifier.logs.waiting(), []);
        let mut ahead_waits = Box::pin(ahead.moved_behind(7));
        let mut behind_waits = Box::pin(behind.moved_behind(5));
        assert!(futures::poll!(&mut ahead_waits).is_pending());
        assert!(futures::poll!(&mut behind_waits).is_pending());
        assert_eq!(notifier.logs.waiting(), [(run(1), 5)]);
        notifier.logs.wake(run(1));
        ahead_waits.await;
        behind_waits.await;
        assert_eq!(notifier.logs.waiting(), []);
        drop((ahead, behind, reads));
        assert_eq!(notifier.logs.followed(), []);
    }
}
