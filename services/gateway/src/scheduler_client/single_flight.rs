//! Coalesces concurrent calls: a caller joins the next call, never a call that has already started.
//!
//! A call never gets the result of a query that began before it, so that a client sees the effect of its confirmed
//! change.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};

pub(crate) struct SingleFlight<T: Clone> {
    newest: Mutex<Option<Flight<T>>>,
}

struct Flight<T: Clone> {
    begun: Arc<AtomicBool>,
    /// Gone when no caller waits any more.
    result: WeakShared<BoxFuture<'static, T>>,
}

impl<T: Clone> Default for SingleFlight<T> {
    fn default() -> Self {
        Self {
            newest: Mutex::new(None),
        }
    }
}

impl<T: Clone> fmt::Debug for SingleFlight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SingleFlight")
    }
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    /// Returns the result of a query that has not begun yet: the query that other callers wait for, or else `look`. If
    /// a caller is dropped, its query continues for the other callers; without any caller it is dropped.
    pub(crate) async fn join<Looking>(&self, look: impl FnOnce() -> Looking) -> T
    where
        Looking: Future<Output = T> + Send + 'static,
    {
        let result = {
            let mut newest = self.newest.lock();
            let before = newest.as_ref().and_then(|turn| turn.result.upgrade());
            match (&*newest, before) {
                (Some(turn), Some(result)) if !turn.begun.load(Ordering::SeqCst) => result,
                (_, before) => {
                    let (begun, result) = after(before, look());
                    *newest = result.downgrade().map(|result| Flight { begun, result });
                    result
                }
            }
        };
        result.await
    }
}

/// A query that begins when `before` has ended, and whether it has begun.
fn after<T: Clone + Send + Sync + 'static>(
    before: Option<Shared<BoxFuture<'static, T>>>,
    look: impl Future<Output = T> + Send + 'static,
) -> (Arc<AtomicBool>, Shared<BoxFuture<'static, T>>) {
    let begun = Arc::new(AtomicBool::new(false));
    let beginning = Arc::clone(&begun);
    let result = async move {
        if let Some(before) = before {
            before.await;
        }
        beginning.store(true, Ordering::SeqCst);
        look.await
    };
    (begun, result.boxed().shared())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use futures::future::join_all;
    use tokio::sync::Semaphore;
    use tokio_util::task::TaskTracker;

    use super::*;

    #[tokio::test]
    async fn calls_during_a_look_share_the_next_look() {
        let turns = Arc::new(SingleFlight::default());
        let (looks, gate) = (Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
        let tasks = TaskTracker::new();
        let call = || {
            let (turns, looks, gate) = (Arc::clone(&turns), Arc::clone(&looks), Arc::clone(&gate));
            tasks.spawn(async move {
                let look = || async move {
                    let number = looks.fetch_add(1, Ordering::SeqCst) + 1;
                    gate.acquire().await.unwrap().forget();
                    number
                };
                turns.join(look).await
            })
        };
        let first = call();
        while looks.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let others: Vec<_> = (0..10).map(|_| call()).collect();
        // All callers have joined before the first query ends.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(2);
        assert_eq!(first.await.unwrap(), 1);
        for other in join_all(others).await {
            assert_eq!(other.unwrap(), 2);
        }
        assert_eq!(looks.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_look_that_is_given_up_holds_up_nobody() {
        let turns = SingleFlight::default();
        let mut first = Box::pin(turns.join(|| async {
            tokio::task::yield_now().await;
            1
        }));
        assert_eq!(futures::poll!(&mut first), std::task::Poll::Pending);
        drop(first);
        let given_up = turns.newest.lock().as_ref().unwrap().result.upgrade();
        assert!(given_up.is_none());
        assert_eq!(turns.join(|| async { 2 }).await, 2);
    }
}
