//! A scheduler that has its store for itself: what it reads without work, and what it notices all the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{ApprovalDefaults, ConfigurationFingerprint};
use cts_proto::worker::v1 as worker;
use cts_rpc::convert;
use cts_runtime::SystemClock;
use cts_scheduler::{Options, Workers};
use cts_store::{AppliedConfiguration, Configuration, ConfigurationStore as _};
use cts_store_sqlite::SqliteStore;
use tokio::time::{Instant, sleep, timeout};

use crate::faulty_store::{Fault, FaultyStore};
use crate::setup::{Setup, WORKER, instance, member, no_blocks, store_in, task};

/// The reads and rounds that followed the time before.
const POLLS: [&str; 7] = [
    "reap",
    "next_due",
    "configuration_version",
    "tokens",
    "settings",
    "requests",
    "task_marks",
];

/// Sooner than the poll of a process without hints.
const SOON: Duration = Duration::from_secs(4);

struct Idle {
    store: Arc<FaultyStore>,
    setup: Setup,
}

impl Idle {
    /// A scheduler with one task, which has run.
    async fn after_a_run(directory: &Path, lease: Duration) -> Self {
        let store = FaultyStore::over(store_in(directory).await);
        let options = Options {
            lease,
            workers: Workers::Own,
            ..Options::alone(vec![task("t")], member())
        };
        let setup = Setup::over(Arc::clone(&store), options).await;
        setup.register().await;
        setup.watcher.show(vec![instance("w", 1)]);
        setup.applied(&setup.acquired().await).await;
        Self { store, setup }
    }

    fn calls(&self) -> BTreeMap<&'static str, usize> {
        let calls = POLLS.into_iter().map(|name| (name, self.store.calls(name)));
        calls.collect()
    }

    /// Waits until the leader and both watchers of the configuration rest.
    async fn rests(&self) {
        let mut before = self.calls();
        loop {
            sleep(Duration::from_millis(2500)).await;
            let now = self.calls();
            if ["reap", "configuration_version"]
                .iter()
                .all(|name| now[name] == before[name])
            {
                return;
            }
            before = now;
        }
    }
}

/// A store of a different process on the same file.
async fn attached(directory: &Path) -> SqliteStore {
    let path = directory.join("cts.db");
    let store = cts_store_sqlite::attach(&path, Arc::new(SystemClock)).await;
    store.unwrap()
}

#[tokio::test]
async fn a_scheduler_without_work_polls_its_store_seldom() {
    let directory = tempfile::tempdir().unwrap();
    let idle = Idle::after_a_run(directory.path(), Duration::from_mins(1)).await;
    timeout(Duration::from_secs(30), idle.rests())
        .await
        .unwrap();
    let (before, begun) = (idle.calls(), Instant::now());
    // An open transaction hides the version of the store for a moment.
    let hidden = [Fault::Refused; 2];
    idle.store.fail("foreign_version", &hidden);
    while begun.elapsed() < Duration::from_secs(6) {
        sleep(Duration::from_secs(1)).await;
        let beat = worker::Worker {
            id: WORKER.into(),
            slots: 1,
            settings: Some(no_blocks()),
            ..worker::Worker::default()
        };
        let request = worker::HeartbeatRequest {
            worker: Some(beat),
            registration: vec![1; 32],
            ..worker::HeartbeatRequest::default()
        };
        let answer = idle.setup.workers.clone().heartbeat(request).await.unwrap();
        let next = convert::duration_from_wire(answer.into_inner().next.as_ref());
        assert_eq!(next, Duration::from_secs(7));
    }
    let after = idle.calls();
    assert!(idle.store.has_failed("foreign_version"));
    // Two watchers read the version of the configuration, each every eight seconds.
    let most = 2 * (1 + usize::try_from(begun.elapsed().as_secs()).unwrap() / 8);
    for name in POLLS {
        let polls = after[name] - before[name];
        assert!(
            polls <= most,
            "{polls} calls of {name}: {before:?}, {after:?}"
        );
    }
}

#[tokio::test]
async fn a_run_ends_the_rest_of_the_leader_and_its_lease_expires_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let lease = Duration::from_secs(24);
    let idle = Idle::after_a_run(directory.path(), lease).await;
    timeout(Duration::from_secs(30), idle.rests())
        .await
        .unwrap();
    let (before, begun) = (idle.store.calls("reap"), Instant::now());
    idle.setup.watcher.show(vec![instance("w", 2)]);
    let leased = idle.setup.acquired().await;
    while idle.store.calls("reap") < before + 2 {
        assert!(begun.elapsed() < SOON, "the leader rests");
        sleep(Duration::from_millis(20)).await;
    }
    idle.setup.applied(&leased).await;
}

#[tokio::test]
async fn a_lost_lease_is_taken_back_after_a_rest() {
    let directory = tempfile::tempdir().unwrap();
    let idle = Idle::after_a_run(directory.path(), Duration::from_secs(2)).await;
    // The leader rests for half a second at a time.
    sleep(Duration::from_secs(1)).await;
    idle.setup.watcher.show(vec![instance("w", 2)]);
    let lost = idle.setup.acquired().await;
    let again = idle.setup.acquired().await;
    assert_eq!((again.run_id, again.attempt), (lost.run_id, 2));
}

#[tokio::test]
async fn a_configuration_of_a_different_process_is_noticed_soon() {
    let directory = tempfile::tempdir().unwrap();
    let idle = Idle::after_a_run(directory.path(), Duration::from_mins(1)).await;
    timeout(Duration::from_secs(30), idle.rests())
        .await
        .unwrap();
    let tasks = vec![task("t"), task("u")];
    let other = attached(directory.path()).await;
    let in_force = other.configuration_in_force().await.unwrap().unwrap();
    let wanted = AppliedConfiguration {
        configuration: Configuration {
            fingerprint: ConfigurationFingerprint::of(&tasks).unwrap(),
            tasks,
            settings: BTreeMap::new(),
            fleet_max_shrink: None,
            approvals: ApprovalDefaults::default(),
        },
        decided_by: "a command".to_owned(),
        number: in_force.number,
        prune: false,
    };
    other.put_in_force(&wanted).await.unwrap().unwrap();
    let lease = timeout(SOON, idle.setup.acquired()).await.unwrap();
    assert_eq!(lease.task_name, "u");
}
