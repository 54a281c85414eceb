//! A restored database, and the attempts that workers send when a leader begins.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::worker::v1 as worker;
use cts_scheduler::Options;

use crate::setup::{Setup, WORKER, instance, member, store_in, task};

const SHORT: Duration = Duration::from_millis(300);

/// A scheduler over the file in a directory, until it has ended.
async fn over(directory: &Path, work: impl AsyncFnOnce(&Setup)) {
    let store = store_in(directory).await;
    let tasks = vec![task("t"), task("other")];
    let setup = Setup::over(Arc::clone(&store), Options::alone(tasks, member())).await;
    work(&setup).await;
    drop(setup);
    store.close().await;
}

fn attempt(lease: &run::Lease) -> worker::JournalEntry {
    worker::JournalEntry {
        task_name: lease.task_name.clone(),
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        input_hash: lease.input_hash.clone(),
        outcome: "applied".into(),
        began_at: None,
    }
}

/// Sends attempts as a worker that registers; returns the named start of a leader.
async fn register(setup: &Setup, attempts: Vec<worker::JournalEntry>) -> String {
    let request = worker::HeartbeatRequest {
        worker: Some(worker::Worker {
            id: WORKER.into(),
            slots: 1,
            capabilities: Some(worker::Capabilities::default()),
            ..worker::Worker::default()
        }),
        attempts,
        ..worker::HeartbeatRequest::default()
    };
    let answer = setup.workers.clone().heartbeat(request).await.unwrap();
    answer.into_inner().leader_start
}

/// Applies whatever is due, for one of the tasks or for both.
async fn apply(setup: &Setup, runs: usize) -> Vec<run::Lease> {
    let mut leases = Vec::new();
    for _ in 0..runs {
        let lease = setup.acquired().await;
        setup.applied(&lease).await;
        leases.push(lease);
    }
    leases.sort_by(|a, b| a.task_name.cmp(&b.task_name));
    leases
}

#[tokio::test]
async fn a_task_whose_run_a_restored_database_lacks_runs_once() {
    let directory = tempfile::tempdir().unwrap();
    let (file, backup) = (
        directory.path().join("cts.db"),
        directory.path().join("backup"),
    );
    over(directory.path(), async |setup| {
        setup.watcher.show(vec![instance("w", 1)]);
        apply(setup, 2).await;
    })
    .await;
    fs::copy(&file, &backup).unwrap();
    let mut leases = Vec::new();
    let mut before = String::new();
    over(directory.path(), async |setup| {
        setup.watcher.show(vec![instance("w", 2)]);
        leases = apply(setup, 2).await;
        before = register(setup, Vec::new()).await;
    })
    .await;
    for lost in ["cts.db-wal", "cts.db-shm"] {
        let _may_be_missing = fs::remove_file(directory.path().join(lost));
    }
    fs::copy(&backup, &file).unwrap();

    over(directory.path(), async |setup| {
        setup.watcher.show(vec![instance("w", 1)]);
        // The database counts this input as applied, and no worker has reported an attempt.
        assert!(setup.acquire(SHORT).await.is_none());
        let start = register(setup, Vec::new()).await;
        assert!(!start.is_empty() && start != before, "{start} {before}");
        assert!(setup.acquire(SHORT).await.is_none());

        let lost = attempt(&leases[1]);
        assert_eq!(lost.task_name, "t");
        let unknown = worker::JournalEntry {
            task_name: "gone".into(),
            ..lost.clone()
        };
        assert_eq!(register(setup, vec![unknown, lost.clone()]).await, start);
        let lease = setup.acquired().await;
        assert_eq!(lease.task_name, "t");
        assert_eq!(setup.input(&lease).await.services[0].port, 1);
        // A second registration while the run works, and one after it.
        register(setup, vec![lost.clone()]).await;
        setup.applied(&lease).await;
        register(setup, vec![lost]).await;
        assert!(setup.acquire(SHORT).await.is_none());
    })
    .await;

    // The takeover by a later leader voids nothing either.
    over(directory.path(), async |setup| {
        setup.watcher.show(vec![instance("w", 1)]);
        register(setup, vec![attempt(&leases[1])]).await;
        assert!(setup.acquire(SHORT).await.is_none());
    })
    .await;
}
