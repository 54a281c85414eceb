//! Followers of logs, and the poll that makes up for lost hints.

use std::sync::Arc;
use std::time::Duration;

use cts_core::{Chain, RunId};
use cts_store::Store;
use tokio::time::{Instant, sleep};

use crate::notifier::Notifier;
use crate::notifier::followed_logs::Position;

/// Time between two polls for all followers.
const POLL: Duration = Duration::from_millis(500);

/// Time between two announcements of the logs that are followed here.
const ANNOUNCE: Duration = Duration::from_secs(10);

/// Follows the log of one run until it is dropped.
#[derive(Debug)]
pub(crate) struct LogFollower {
    notifier: Arc<Notifier>,
    run: RunId,
    position: Arc<Position>,
}

impl LogFollower {
    /// Follows the log; nothing is missed from now on.
    pub(crate) fn new(notifier: Arc<Notifier>, run: RunId) -> Self {
        let (position, is_first) = notifier.logs.add(run);
        if is_first {
            notifier.announce_followed(run);
        }
        Self {
            notifier,
            run,
            position,
        }
    }

    /// Waits until the log may have lines after `position` that it did not have when this follower read last.
    pub(crate) async fn moved_behind(&self, position: u64) {
        let waits = &self.notifier.logs.waits;
        self.position.moved_behind(position, waits).await;
    }
}

impl Drop for LogFollower {
    fn drop(&mut self) {
        self.notifier.logs.remove(self.run, &self.position);
    }
}

/// Makes up for lost hints, for ever, and repeats which logs are followed here.
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

#[cfg(test)]
mod tests {
    use cts_runtime::SystemClock;
    use cts_store::Hint;
    use tokio::sync::mpsc;
    use uuid::Uuid;

    use super::*;
    use crate::notifier::followed_logs::lock;

    fn run(number: u128) -> RunId {
        RunId::from_uuid(Uuid::from_u128(number))
    }

    fn replica(id: &str) -> (Arc<Notifier>, mpsc::Receiver<Hint>) {
        let (notifier, outgoing) = Notifier::shared(Arc::new(SystemClock), id.to_owned());
        (Arc::new(notifier), outgoing)
    }

    /// Delivers each published hint to all notifiers, including the one that published it.
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
    async fn logs_followed_only_here_send_no_hint() {
        let (notifier, mut outgoing) = replica("one");
        let follower = LogFollower::new(Arc::clone(&notifier), run(1));
        assert_eq!(deliver(&mut outgoing, [&*notifier, &*notifier]), 1);
        notifier.log_grew(run(1));
        assert_eq!(deliver(&mut outgoing, [&*notifier, &*notifier]), 0);
        follower.moved_behind(0).await;
    }

    #[tokio::test]
    async fn replicas_are_asked_only_for_waiting_followers() {
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
