//! Which settings count.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::{AttemptOutcome, RunKind, RunKinds};
use cts_core::settings::{ClusterKey, SettingsBlocks};
use cts_core::{
    CompleteInput, Digest, Item, OnDelete, TaskSpec, ViewItems, ViewSnapshot, WorkerId,
    WorkerRecord,
};
use cts_proto::task::v1 as proto;
use cts_proto::{run::v1 as run, worker::v1 as worker};
use cts_rpc::convert;
use cts_scheduler::{Identities as _, Options, RandomIdentities, Workers};
use cts_store::{
    Claim, Completion, Deletion, EnqueueRequest, SettingsStore as _, Store as _, Unchanged,
};
use cts_store_sqlite::SqliteStore;

use crate::calls::{applied, completion};
use crate::setup::{Setup, instance, member, store_in, task, terraform};

const LONG: Duration = Duration::from_mins(1);

/// Sends heartbeats of a worker with this backend; returns the key of the cluster.
async fn heartbeat(setup: &Setup, id: &str, backend: &str, leaving: bool) -> ClusterKey {
    heartbeat_with(setup, id, &[("backend", backend)], leaving).await
}

/// Sends heartbeats of a worker with these blocks; returns the key of the cluster.
async fn heartbeat_with(setup: &Setup, id: &str, of: &[(&str, &str)], leaving: bool) -> ClusterKey {
    let mut blocks = SettingsBlocks::default();
    for (name, text) in of {
        blocks.insert((*name).to_owned(), vec![(*text).to_owned()]);
    }
    let ask = |keys: Vec<ClusterKey>| worker::HeartbeatRequest {
        wants_cluster_key: keys.is_empty(),
        leaving: leaving && !keys.is_empty(),
        worker: Some(convert::worker_to_wire(WorkerRecord {
            id: WorkerId::new(id),
            host: "h".into(),
            version: "1".into(),
            slots: 1,
            capabilities: terraform(),
            draining: false,
            settings: Some(blocks.digests(&keys)),
            problem: None,
        })),
        unanswered_requests: Vec::new(),
        ..worker::HeartbeatRequest::default()
    };
    let mut workers = setup.workers.clone();
    let answer = workers.heartbeat(ask(Vec::new())).await.unwrap();
    let key = ClusterKey::from_slice(&answer.into_inner().cluster_key).unwrap();
    let answer = workers.heartbeat(ask(vec![key.clone()])).await.unwrap();
    assert!(answer.into_inner().cluster_key.is_empty(), "not asked for");
    key
}

async fn acquire(setup: &Setup, id: &str, wait: Duration) -> Option<run::Lease> {
    let request = run::AcquireRunRequest {
        kinds: convert::known_kinds(),
        worker_id: id.into(),
        request_id: String::new(),
        wait: Some(convert::duration_to_wire(wait)),
        capabilities: Some(convert::capabilities_to_wire(&terraform())),
        reports_settings: true,
        ..run::AcquireRunRequest::default()
    };
    let answer = setup.runs.clone().acquire_run(request).await;
    answer.unwrap().into_inner().lease
}

#[tokio::test]
async fn a_worker_with_other_settings_gets_no_run_and_the_task_says_why() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let key = heartbeat(&setup, "one", "a", false).await;
    let lease = acquire(&setup, "one", Duration::from_secs(20)).await;
    let lease = lease.expect("it has the settings in force");
    let completed = run::CompleteRunRequest {
        worker_id: "one".into(),
        ..completion(&lease, applied())
    };
    setup.runs.clone().complete_run(completed).await.unwrap();
    assert_eq!(heartbeat(&setup, "other", "b", false).await, key);
    heartbeat(&setup, "one", "a", true).await;
    setup.watcher.show(vec![instance("w", 2)]);
    let text = setup
        .until(async |setup| {
            let explanation = setup.explained("t").await;
            let mut texts = explanation.obstacles.into_iter().map(|it| it.text);
            texts.find(|text| text.contains("has the settings in force"))
        })
        .await;
    assert!(
        text.ends_with("1 have other backend or provider blocks"),
        "{text}"
    );
    let nothing = acquire(&setup, "other", Duration::from_millis(300)).await;
    assert_eq!(nothing, None);
    let mut workers = setup.workers.clone();
    let listed = workers.list_workers(worker::ListWorkersRequest {}).await;
    let listed = listed.unwrap().into_inner().workers;
    assert_eq!(listed[0].other_settings, ["backend"]);
    // Its digests are between it and the scheduler.
    assert_eq!(listed[0].worker.as_ref().unwrap().settings, None);

    heartbeat(&setup, "another", "a", false).await;
    let lease = acquire(&setup, "another", Duration::from_secs(20)).await;
    assert!(lease.is_some(), "it has the settings in force");
}

/// A store without settings, with a task that was applied.
async fn applied_before(directory: &Path, spec: &TaskSpec, settings: Digest) -> Arc<SqliteStore> {
    let store = store_in(directory).await;
    let leader = store.lead(&member(), None, LONG).await.unwrap().epoch;
    let tasks = std::slice::from_ref(spec);
    store.replace_config_tasks(leader, tasks).await.unwrap();
    let shown = Arc::new(ViewItems::of(&ViewSnapshot::new::<Item>(
        1,
        [instance("w", 1).into()],
    )));
    let definition = Arc::new(spec.definition.clone());
    let complete = CompleteInput::new(definition, |_view| Some(Arc::clone(&shown)), None).unwrap();
    let request = EnqueueRequest {
        task: spec.name().clone(),
        input: complete.freeze(settings).unwrap(),
        run: RandomIdentities.run_id(),
        kind: RunKind::Apply,
        unchanged: Unchanged::AsTaskSays,
        guarded: None,
        tick: None,
        check_key: None,
        trace: None,
        cause: None,
        causes: Vec::new(),
        fails: None,
    };
    store.enqueue(leader, vec![request]).await.unwrap();
    let claim = Claim {
        worker: WorkerId::new("w"),
        request: String::new(),
        capabilities: terraform(),
        kinds: RunKinds::ALL,
        only_requested: false,
        checks_settings: false,
        names_previous_backend: false,
        ends_remote_runs: false,
        asks_permission: true,
        time_to_live: LONG,
    };
    let lease = store.acquire(&claim).await.unwrap().unwrap();
    let completion = Completion {
        run: lease.run,
        holder: lease.holder,
        epoch: lease.epoch,
        outcome: AttemptOutcome::Applied,
        is_final: false,
        early_failure: None,
        event: RandomIdentities.event_id(),
        retry_run: RandomIdentities.run_id(),
        jitter: 0.0,
        log: Vec::new(),
        details: None,
        state: None,
    };
    store.complete(completion).await.unwrap();
    store
}

/// The usual edit removes the blocks of the task and of its provider.
#[tokio::test]
async fn a_destruction_waits_until_its_provider_is_back_and_the_task_is_a_problem() {
    let mut spec = task("t");
    spec.on_delete = OnDelete::Destroy;
    spec.definition.providers = vec!["x".into()];
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options {
        lease: LONG,
        workers: Workers::Own,
        ..Options::alone(vec![spec], member())
    };
    let setup = Setup::over(store, options).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let with = [("backend", "a"), ("provider x", "1")];
    heartbeat_with(&setup, "one", &with, false).await;
    let lease = acquire(&setup, "one", Duration::from_secs(20)).await;
    let lease = lease.expect("it has the settings in force");
    let completed = run::CompleteRunRequest {
        worker_id: "one".into(),
        ..completion(&lease, applied())
    };
    setup.runs.clone().complete_run(completed).await.unwrap();
    heartbeat_with(&setup, "one", &with[..1], false).await;
    setup
        .delete_in("t", proto::DeletionMode::AsDeclared)
        .await
        .unwrap();
    let (text, state) = setup
        .until(async |setup| {
            let explanation = setup.explained("t").await;
            let mut texts = explanation.obstacles.into_iter().map(|it| it.text);
            let text = texts.find(|text| text.contains("provider x"))?;
            Some((text, explanation.state?))
        })
        .await;
    assert!(text.contains("put the block back"), "{text}");
    assert!(text.contains("`cts task delete -retain t`"), "{text}");
    assert_eq!(state.name(), proto::CurrentStateName::Blocked);
    let nothing = acquire(&setup, "one", Duration::from_millis(300)).await;
    assert_eq!(nothing, None);

    heartbeat_with(&setup, "one", &with, false).await;
    let lease = acquire(&setup, "one", Duration::from_secs(20)).await;
    let lease = lease.expect("the provider is back");
    assert_eq!(lease.kind(), run::RunKind::Destroy);
}

#[tokio::test]
async fn a_destruction_without_settings_gets_those_in_force() {
    let directory = tempfile::tempdir().unwrap();
    let mut spec = task("t");
    spec.on_delete = OnDelete::Destroy;
    let settings = Digest::of(b"settings");
    let store = applied_before(directory.path(), &spec, settings).await;
    let run = RandomIdentities.run_id();
    let deletion = Deletion::AsTaskSays { run };
    assert!(!store.delete_task(spec.name(), deletion).await.unwrap());
    let unsettled = store.unsettled_runs().await.unwrap();
    assert_eq!((unsettled[0].run, unsettled[0].settings), (run, None));

    let setup = Setup::over(Arc::clone(&store), Options::alone(vec![spec], member())).await;
    heartbeat(&setup, "one", "a", false).await;
    let lease = acquire(&setup, "one", Duration::from_secs(20)).await;
    let lease = lease.expect("it has the settings in force");
    assert_eq!(lease.run_id, run.to_string());
    assert_eq!(store.settings().await.unwrap().len(), 1);
    assert_eq!(store.unsettled_runs().await.unwrap(), []);
}
