//! Parts of answers over HTTP/2 that their client has to take: a client controls the windows of its streams,
//! so an answer can stall on a connection that does not.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::{Instant, sleep};

use crate::transport::slow_client::{SlowClientTimeout, UNREAD_LIMIT};

/// Until when the parts of a connection have to be taken.
#[derive(Debug, Default)]
pub(crate) struct PendingParts(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    last: u64,
    ends: HashMap<u64, Instant>,
}

/// The last part that an answer has passed on.
#[derive(Debug)]
pub(crate) struct PendingPart {
    offers: Arc<PendingParts>,
    number: u64,
    timeout: SlowClientTimeout,
    bytes: usize,
}

impl PendingParts {
    /// An answer whose head has to be taken first.
    pub(crate) fn begin(self: &Arc<Self>, timeout: SlowClientTimeout) -> PendingPart {
        let mut open = self.open();
        open.last += 1;
        let number = open.last;
        drop(open);
        let mut offer = PendingPart {
            offers: Arc::clone(self),
            number,
            timeout,
            bytes: 0,
        };
        offer.made(0);
        offer
    }

    /// Ends when a part has not been taken in time. Checks now and then, which is enough for limits of
    /// minutes.
    pub(crate) async fn overdue(&self) {
        while !self.is_overdue() {
            sleep(UNREAD_LIMIT / 12).await;
        }
    }

    fn is_overdue(&self) -> bool {
        let now = Instant::now();
        self.open().ends.values().any(|end| *end <= now)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock()
    }
}

impl PendingPart {
    /// The next part is handed on.
    pub(crate) fn made(&mut self, bytes: usize) {
        self.bytes = bytes;
        let end = self.timeout.wait();
        self.offers.open().ends.insert(self.number, end);
    }

    /// Another part has room, so the last part was taken.
    pub(crate) fn taken(&mut self) {
        if self.offers.open().ends.remove(&self.number).is_some() {
            self.timeout.taken(self.bytes);
        }
    }
}

impl Drop for PendingPart {
    fn drop(&mut self) {
        self.offers.open().ends.remove(&self.number);
    }
}
