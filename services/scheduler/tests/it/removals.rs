//! Tasks that a file or a reset removes while a worker is at a run of them.

use std::sync::Arc;
use std::time::Duration;

use cts_core::{TaskPhase, TaskSpec};
use cts_proto::run::v1::RunStatus;
use cts_scheduler::{Options, Sharing};
use cts_store::Store as _;
use cts_store_sqlite::SqliteStore;

use crate::setup::{Setup, instance, member, store_in, task};

/// A replica that shares the store, with these tasks in its file. Leads at once: the replica before it is dead.
async fn replica(store: &Arc<SqliteStore>, tasks: Vec<TaskSpec>, reset_storage: bool) -> Setup {
    let options = Options {
        sharing: Sharing::Shared,
        lease: Duration::from_mins(1),
        reset_storage,
        ..Options::alone(tasks, member())
    };
    Setup::over(Arc::clone(store), options).await
}

async fn phase(store: &SqliteStore, name: &str) -> Option<TaskPhase> {
    let marks = store.task_marks().await.unwrap().into_iter();
    let mut named = marks.filter(|mark| mark.name.as_str() == name);
    named.next().map(|mark| mark.phase)
}

/// The file drops a task, and then names it again, while one run of it goes on.
#[tokio::test]
async fn a_task_that_the_file_drops_goes_with_its_run_and_comes_back_after_it() {
    for reset_storage in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let store = store_in(directory.path()).await;
        let first = replica(&store, vec![task("a")], false).await;
        first.watcher.show(vec![instance("w", 1)]);
        let lease = first.acquired().await;
        drop(first);

        if !reset_storage {
            let without = replica(&store, Vec::new(), false).await;
            assert_eq!(phase(&store, "a").await, Some(TaskPhase::Deleting));
            drop(without);
        }
        let again = replica(&store, vec![task("a"), task("b")], reset_storage).await;
        again.watcher.show(vec![instance("w", 1)]);
        // Other tasks do not wait for that.
        let other = again.acquired().await;
        assert_eq!(other.task_name, "b");
        again.applied(&other).await;
        assert_eq!(phase(&store, "a").await, Some(TaskPhase::Deleting));
        again.nothing_runs().await;

        again.applied(&lease).await;
        let next = again.acquired().await;
        assert_eq!((&*next.task_name, next.attempt), ("a", 1));
        assert_ne!(next.run_id, lease.run_id);
        again.applied(&next).await;
        assert_eq!(phase(&store, "a").await, Some(TaskPhase::Ready));
        let ended = again.run(&lease.run_id).await.unwrap();
        assert_eq!(ended.status(), RunStatus::Succeeded, "its history stays");
        let state = store.task_state(task("a").name()).await.unwrap().unwrap();
        let events = state
            .events
            .iter()
            .map(|event| event.run_id.unwrap().to_string());
        assert_eq!(events.collect::<Vec<_>>(), [next.run_id]);
        let archives = store.archives().await.unwrap();
        assert_eq!(archives.len(), usize::from(reset_storage));
    }
}
