//! Requested reads of a followed query (docs/runs.md#what-a-run-sees).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Requests within this time share a read.
pub(crate) const GATHER: Duration = Duration::from_millis(20);

/// Requests reads of a followed query. Cheap to clone; all clones request reads of the same query. One follower waits
/// for the requests.
#[derive(Debug, Clone, Default)]
pub struct ReadRequests(Arc<Shared>);

// A watch channel does the same with five times the memory, and each of thousands of views has such a value.
#[derive(Debug, Default)]
struct Shared {
    requested: Mutex<Requested>,
    asked: Notify,
}

#[derive(Debug, Clone, Copy, Default)]
struct Requested {
    /// Number of the newest request.
    last: u64,
    /// When the read may begin for the requests since the last one.
    begin_at: Option<Instant>,
}

impl ReadRequests {
    /// Requests a read that begins after this call. With `gather` the read waits for further requests. Returns the
    /// number of the request, with which [`PollEvent::Read`](crate::PollEvent::Read) answers.
    pub fn request(&self, gather: bool) -> u64 {
        let now = Instant::now();
        let begin_at = if gather { now + GATHER } else { now };
        let number = {
            let mut requested = self.0.requested.lock();
            requested.last += 1;
            let earlier = requested.begin_at.unwrap_or(begin_at);
            requested.begin_at = Some(earlier.min(begin_at));
            requested.last
        };
        self.0.asked.notify_one();
        number
    }

    /// Waits for requests after this number, for a view that is combined from other views. Returns the number of the
    /// newest, and whether its read is to wait for further requests. Cancel safe.
    pub async fn next(&self, after: u64) -> (u64, bool) {
        let Requested { last, begin_at } = self.asked(|| after).await;
        self.note_begun(last);
        (last, begin_at.is_some_and(|at| at > Instant::now()))
    }

    /// Number of the newest request.
    pub(crate) fn last(&self) -> u64 {
        self.0.requested.lock().last
    }

    /// The reads for all requests up to this number are done or have begun.
    pub(crate) fn note_begun(&self, number: u64) {
        let mut requested = self.0.requested.lock();
        if requested.last <= number {
            requested.begin_at = None;
        }
    }

    /// Waits until a read is to begin: for a request after number `read()`, and not before this moment. Cancel safe.
    pub(crate) async fn due(&self, read: impl Fn() -> u64, not_before: Instant) {
        loop {
            let begin_at = self.asked(&read).await.begin_at;
            let at = begin_at.map_or(not_before, |at| at.max(not_before));
            if at <= Instant::now() {
                return;
            }
            // Boxed: a timer is large, and of thousands of followers most wait for a request.
            let earlier = Box::pin(sleep_until(at));
            tokio::select! {
                () = earlier => {}
                () = self.0.asked.notified() => {}
            }
        }
    }

    /// Waits for a request after number `read()`.
    async fn asked(&self, read: impl Fn() -> u64) -> Requested {
        loop {
            let requested = *self.0.requested.lock();
            if requested.last > read() {
                return requested;
            }
            self.0.asked.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_read_begins_at_once_or_gathers_and_never_soon_after_the_one_before() {
        let requests = ReadRequests::default();
        let begun = Instant::now();
        assert!(requests.due(|| 0, begun).now_or_never().is_none());
        assert_eq!(requests.request(true), 1);
        requests.due(|| 0, begun).await;
        assert_eq!(begun.elapsed(), GATHER, "it gathers");
        // An urgent request includes the waiting requests.
        assert_eq!(requests.request(false), 2);
        assert!(requests.due(|| 0, begun).now_or_never().is_some());
        requests.note_begun(2);
        let before = Instant::now();
        requests.request(false);
        requests.due(|| 2, before + GATHER).await;
        assert_eq!(before.elapsed(), GATHER, "soon after the last");
        requests.note_begun(3);
        assert!(requests.due(|| 3, begun).now_or_never().is_none());
        // A request that another answer has served leaves no urgency behind.
        let before = Instant::now();
        requests.request(true);
        requests.due(|| 3, before).await;
        assert_eq!(before.elapsed(), GATHER);
    }
}
