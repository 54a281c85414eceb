//! Permits to read, for queries that are not held: the longest due first, and among these the queries that change most.

use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::slot_allocator::{MemberId, Rank};

/// After a read its connection rests for this part of the duration of the read, so that Consul has time for other
/// clients.
const REST: u32 = 8;

/// Connections for reading, and the members that wait for a connection.
#[derive(Debug, Clone)]
pub(super) struct Readers(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    waiting: BTreeMap<Position, oneshot::Sender<ReadPermit>>,
}

/// Round of changes since which the member is due, how often it changes, and its id.
type Position = (u64, Reverse<Rank>, MemberId);

/// The right to read once, which ends when the permit is dropped.
#[derive(Debug)]
pub(crate) struct ReadPermit {
    /// `None` when it is not to be given back.
    readers: Option<Readers>,
    begun: Instant,
}

/// Leaves the queue when it is dropped.
struct Waiting<'a> {
    readers: &'a Readers,
    position: Position,
}

impl Readers {
    pub(super) fn new(connections: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: connections,
            waiting: BTreeMap::new(),
        })))
    }

    /// Waits for a permit. Cancel safe.
    pub(super) async fn permit(&self, due_since: u64, rank: Rank, id: MemberId) -> ReadPermit {
        let position = (due_since, Reverse(rank), id);
        let given = {
            let mut state = self.0.lock();
            if state.free > 0 {
                state.free -= 1;
                return self.begin();
            }
            let (give, given) = oneshot::channel();
            state.waiting.insert(position, give);
            given
        };
        let _waiting = Waiting {
            readers: self,
            position,
        };
        match given.await {
            Ok(permit) => permit,
            // A newer wait of this member replaced this wait, which does not happen: each member waits once.
            Err(_replaced) => std::future::pending().await,
        }
    }

    fn begin(&self) -> ReadPermit {
        ReadPermit {
            readers: Some(self.clone()),
            begun: Instant::now(),
        }
    }

    /// Gives a connection to the first that waits.
    fn give_back(&self) {
        loop {
            let first = {
                let mut state = self.0.lock();
                let Some((_position, first)) = state.waiting.pop_first() else {
                    state.free += 1;
                    return;
                };
                first
            };
            let permit = self.begin();
            match first.send(permit) {
                Ok(()) => return,
                // The waiter has gone at this moment. The next reader gets the permit.
                Err(mut permit) => drop(permit.readers.take()),
            }
        }
    }
}

impl ReadPermit {
    /// Gives it back after a rest.
    pub(crate) async fn end(self) {
        sleep(self.begun.elapsed() / REST).await;
    }
}

impl Drop for ReadPermit {
    fn drop(&mut self) {
        if let Some(readers) = self.readers.take() {
            readers.give_back();
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // The entry is missing if the permit was given.
        drop(self.readers.0.lock().waiting.remove(&self.position));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn the_longest_due_comes_first_and_a_turn_is_never_lost() {
        let readers = Readers::new(1);
        let rank = Rank::default();
        let permit = readers.permit(1, rank, 1).await;
        let mut late = Box::pin(readers.permit(5, rank, 2));
        let mut early = Box::pin(readers.permit(4, rank, 3));
        let mut gone = Box::pin(readers.permit(3, rank, 4));
        for waiting in [&mut late, &mut early, &mut gone] {
            assert!(waiting.now_or_never().is_none());
        }
        drop(gone);
        drop(permit);
        assert!((&mut late).now_or_never().is_none());
        let permit = (&mut early).now_or_never().unwrap();
        permit.end().await;
        // The permit was given to a waiter that goes without looking.
        drop(late);
        assert!(readers.permit(9, rank, 5).now_or_never().is_some());
    }
}
