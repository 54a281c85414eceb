//! Supervised tasks: nothing dies silently.

use parking_lot::Mutex;
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::sync::Arc;

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

/// A set of long-lived tasks that stand and fall together: when one ends before the shutdown, by an
/// error, a panic or without a reason, the shutdown begins and [`Tasks::wait`] says which it was.
///
/// Cloning gives another handle on the same set.
#[derive(Debug, Clone)]
pub struct Tasks {
    tracker: TaskTracker,
    shutdown: CancellationToken,
    failure: Arc<Mutex<Option<TaskFailure>>>,
}

/// A supervised task ended before its time.
#[derive(Debug, thiserror::Error)]
#[error("{name} ended unexpectedly")]
pub struct TaskFailure {
    name: &'static str,
    #[source]
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// Reports the end of a task even if it panics.
struct Watch {
    name: &'static str,
    tasks: Tasks,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Watch {
    fn ended_with(&mut self, source: Option<Box<dyn Error + Send + Sync>>) {
        self.source = source;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let source = self.source.take();
        if source.is_none() && self.tasks.shutdown.is_cancelled() {
            return;
        }
        let mut failure = self.tasks.failure.lock();
        failure.get_or_insert(TaskFailure {
            name: self.name,
            source,
        });
        self.tasks.shutdown.cancel();
    }
}

impl Tasks {
    /// An empty set whose tasks are to end when `shutdown` is cancelled.
    pub fn new(shutdown: CancellationToken) -> Self {
        Self {
            tracker: TaskTracker::new(),
            shutdown,
            failure: Arc::default(),
        }
    }

    /// The token whose cancellation is the shutdown.
    pub const fn token(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Completes when the shutdown begins.
    pub fn until_shutdown(&self) -> WaitForCancellationFutureOwned {
        self.shutdown.clone().cancelled_owned()
    }

    /// Starts `future`, which cannot fail, under supervision.
    pub fn spawn_infallible(
        &self,
        name: &'static str,
        future: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn(name, async {
            future.await;
            Ok::<_, Infallible>(())
        });
    }

    /// Starts `future` under supervision. `name` is for the failure report.
    pub fn spawn<E>(
        &self,
        name: &'static str,
        future: impl Future<Output = Result<(), E>> + Send + 'static,
    ) where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut watch = Watch {
            name,
            tasks: self.clone(),
            source: None,
        };
        self.tracker.spawn(async move {
            let failure = future.await.err();
            watch.ended_with(failure.map(Into::into));
        });
    }

    /// Begins the shutdown and waits for its end, as [`Tasks::wait`] does.
    pub async fn end(self) -> Result<(), TaskFailure> {
        self.shutdown.cancel();
        self.wait().await
    }

    /// Waits until every task has ended. Fails with the first that ended before its time.
    pub async fn wait(self) -> Result<(), TaskFailure> {
        self.tracker.close();
        self.tracker.wait().await;
        let failure = self.failure.lock().take();
        failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io;

    use super::*;

    #[tokio::test]
    async fn an_error_ends_the_others_and_is_named() {
        let shutdown = CancellationToken::new();
        let tasks = Tasks::new(shutdown.clone());
        let stopped = shutdown.clone();
        tasks.spawn("patient", async move {
            stopped.cancelled().await;
            Ok::<_, Infallible>(())
        });
        tasks.spawn("broken", async { Err(io::Error::other("disk gone")) });
        let failure = tasks.wait().await.unwrap_err();
        assert_eq!(failure.to_string(), "broken ended unexpectedly");
        assert_eq!(failure.source().unwrap().to_string(), "disk gone");
        assert!(shutdown.is_cancelled());
    }

    #[tokio::test]
    async fn a_panic_and_an_early_end_are_failures_too() {
        let tasks = Tasks::new(CancellationToken::new());
        tasks.spawn("short", async { Ok::<_, Infallible>(()) });
        assert_eq!(
            tasks.wait().await.unwrap_err().to_string(),
            "short ended unexpectedly"
        );
        let tasks = Tasks::new(CancellationToken::new());
        tasks.spawn("panicking", async {
            assert!(std::hint::black_box(false), "expected in this test");
            Ok::<_, Infallible>(())
        });
        assert_eq!(
            tasks.wait().await.unwrap_err().to_string(),
            "panicking ended unexpectedly"
        );
    }

    #[tokio::test]
    async fn an_end_after_the_shutdown_is_none() {
        let shutdown = CancellationToken::new();
        let tasks = Tasks::new(shutdown.clone());
        shutdown.cancel();
        tasks.spawn("patient", async { Ok::<_, Infallible>(()) });
        assert!(tasks.wait().await.is_ok());
    }
}
