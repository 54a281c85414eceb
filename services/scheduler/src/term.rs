//! The term of a leader: the epoch that its writes name, until another process leads.
//!
//! A term outlives an epoch. After a write whose outcome is unknown, or if the database was away longer than the lease,
//! the leader continues with the next epoch, if no other process has led in between: the planner, its subscriptions and
//! its explanations stay.

use std::sync::Arc;

use cts_core::LeaderEpoch;
use tokio::sync::{Notify, watch};

/// Clones share the term.
#[derive(Debug, Clone)]
pub(crate) struct Term(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    is_takeover: bool,
    epoch: watch::Sender<Option<LeaderEpoch>>,
    ended: Notify,
}

impl Term {
    /// A term that begins with `epoch`.
    pub(crate) fn new(epoch: LeaderEpoch) -> Self {
        Self::begin(epoch, false)
    }

    /// A term that begins with `epoch` after the term of another replica.
    pub(crate) fn after_another(epoch: LeaderEpoch) -> Self {
        Self::begin(epoch, true)
    }

    fn begin(epoch: LeaderEpoch, is_takeover: bool) -> Self {
        Self(Arc::new(Shared {
            is_takeover,
            epoch: watch::Sender::new(Some(epoch)),
            ended: Notify::new(),
        }))
    }

    /// Whether another replica has led before.
    pub(crate) fn is_takeover(&self) -> bool {
        self.0.is_takeover
    }

    /// The epoch to name; `None` while nothing may be written.
    pub(crate) fn epoch(&self) -> Option<LeaderEpoch> {
        *self.0.epoch.borrow()
    }

    /// Waits until the term has an epoch. Cancel safe.
    pub(crate) async fn in_force(&self) -> LeaderEpoch {
        let mut epochs = self.follow();
        loop {
            let epoch = *epochs.borrow_and_update();
            if let Some(epoch) = epoch {
                return epoch;
            }
            // The sender lives as long as this term.
            if epochs.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Shows every change of the epoch from now on.
    pub(crate) fn follow(&self) -> watch::Receiver<Option<LeaderEpoch>> {
        self.0.epoch.subscribe()
    }

    /// Stops the use of `epoch`: the epoch is over, or a write that named it may still take effect. The leader election
    /// then requests the next epoch.
    pub(crate) fn end(&self, epoch: LeaderEpoch) {
        let ends = self.0.epoch.send_if_modified(|current| {
            let ends = *current == Some(epoch);
            if ends {
                *current = None;
            }
            ends
        });
        if ends {
            self.0.ended.notify_one();
        }
    }

    /// Waits until the leader's tasks have ended an epoch. Cancel safe.
    pub(crate) async fn ended(&self) {
        self.0.ended.notified().await;
    }

    /// The lease cannot be relied on any more.
    pub(crate) fn suspend(&self) {
        self.0.epoch.send_replace(None);
    }

    /// Goes on with `epoch`.
    pub(crate) fn resume(&self, epoch: LeaderEpoch) {
        self.0.epoch.send_replace(Some(epoch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_epoch_ends_once_and_the_term_goes_on_with_the_next() {
        let [first, second] = [1, 2].map(LeaderEpoch::new);
        let term = Term::new(first);
        let shared = term.clone();
        shared.end(first);
        term.ended().await;
        assert_eq!(term.epoch(), None);
        term.resume(second);
        assert_eq!(shared.in_force().await, second);
        // A late answer to a write of the first epoch.
        shared.end(first);
        assert_eq!(term.epoch(), Some(second));
        term.suspend();
        assert_eq!(shared.epoch(), None);
    }
}
