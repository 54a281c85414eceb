//! Due runs that no worker takes, and failed tasks when a program starts.

use std::sync::Arc;
use std::time::Duration;

use cts_scheduler::Options;
use cts_store_sqlite::SqliteStore;

use crate::calls::failed;
use crate::setup::{Setup, instance, member, store_in, task};

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_due_run_that_no_worker_takes_shows_in_the_queue_with_the_reason() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    assert_eq!(setup.queue().await.waiting, []);
    setup.watcher.show(vec![instance("w", 1)]);
    let waiting = setup
        .until(async |setup| setup.queue().await.waiting.into_iter().next())
        .await;
    assert_eq!(waiting.reason, "there is no worker");
    assert_eq!((waiting.task_name.as_str(), waiting.runs), ("t", 1));
    assert!(waiting.oldest.is_some_and(|oldest| oldest.seconds >= 5));
    let lease = setup.acquired().await;
    assert_eq!(setup.queue().await.waiting, []);
    setup.applied(&lease).await;
}

async fn started(store: &Arc<SqliteStore>) -> Setup {
    let setup = Setup::over(
        Arc::clone(store),
        Options {
            lease: LONG,
            ..Options::alone(vec![task("t")], member())
        },
    )
    .await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup
}

/// Fails the input until only its retry after a minute is left.
async fn exhaust(setup: &Setup) {
    for _ in 0..cts_core::runs::ATTEMPTS {
        let lease = setup.acquired().await;
        setup.complete(&lease, failed("no")).await.unwrap();
    }
}

#[tokio::test]
async fn a_start_tries_a_failed_task_again_at_once_but_not_every_start() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let first = started(&store).await;
    exhaust(&first).await;
    drop(first);
    let second = started(&store).await;
    exhaust(&second).await;
    drop(second);
    let third = started(&store).await;
    assert_eq!(third.acquire(Duration::from_secs(3)).await, None);
}
