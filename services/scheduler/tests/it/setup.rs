//! A scheduler with everything around it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cts_core::{
    ApprovalRule, Capabilities, Clock, DEFAULT_DRIVER, Digest, Engine, InvalidDraft, RunInput,
    ServiceInstance, TaskDraft, TaskSpec,
};
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_proto::bundle::v1::bundle_service_client::BundleServiceClient;
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::cluster::v1::follow_service_client::FollowServiceClient;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::run::v1::plan_service_client::PlanServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_proto::watch::v1::watch_service_server::WatchServiceServer;
use cts_proto::worker::v1 as worker;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_rpc::Peers;
use cts_rpc::{Endpoints, convert, memory_transport};
use cts_runtime::SystemClock;
use cts_scheduler::{
    Dependencies, DisabledChecks, FileTasks, Identities as _, NextTick, Options, RandomIdentities,
    RunError, RunRequests, Scheduler, TaskReader,
};
use cts_store::{Member, Store};
use cts_store_sqlite::SqliteStore;
use cts_telemetry::Signals;
use cts_testkit::fixtures;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Streaming;
use tonic::transport::Channel;

use crate::calls::completion;
use crate::faulty_store::FaultyStore;
use crate::played_watcher::PlayedWatcher;

/// The worker that asks for runs.
pub(crate) const WORKER: &str = "worker";

pub(crate) struct Setup {
    pub(crate) runs: RunServiceClient<Channel>,
    pub(crate) tasks: TaskServiceClient<Channel>,
    pub(crate) logs: LogServiceClient<Channel>,
    pub(crate) plans: PlanServiceClient<Channel>,
    pub(crate) approvals: ApprovalServiceClient<Channel>,
    pub(crate) bundles: BundleServiceClient<Channel>,
    pub(crate) cluster: ClusterServiceClient<Channel>,
    pub(crate) follow: FollowServiceClient<Channel>,
    pub(crate) workers: WorkerServiceClient<Channel>,
    pub(crate) access: AccessServiceClient<Channel>,
    pub(crate) sessions: SessionServiceClient<Channel>,
    pub(crate) watcher: PlayedWatcher,
    pub(crate) requests: RunRequests,
    pub(crate) checks: DisabledChecks,
    pub(crate) files: FileTasks,
    /// The services of the scheduler, for further listeners.
    pub(crate) endpoints: Endpoints,
    /// Changes of runs, from before the scheduler has begun.
    changes: Mutex<Streaming<run::FollowRunsResponse>>,
    /// The secret of [`WORKER`]; empty until that worker registers.
    secret: std::sync::Mutex<Vec<u8>>,
    _parts: JoinSet<()>,
    /// The scheduler shuts down when it is dropped.
    pub(crate) stop: DropGuard,
    _directory: Option<tempfile::TempDir>,
}

impl Setup {
    pub(crate) async fn new(tasks: Vec<TaskSpec>, lease: Duration) -> Self {
        let options = Options {
            lease,
            ..Options::alone(tasks, member())
        };
        Self::with(options).await
    }

    /// A scheduler over a store of its own.
    pub(crate) async fn with(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = store_in(directory.path()).await;
        Self {
            _directory: Some(directory),
            ..Self::over(store, options).await
        }
    }

    /// A scheduler over a store of its own, whose calls can fail.
    pub(crate) async fn faulty(options: Options) -> (Self, Arc<FaultyStore>) {
        let directory = tempfile::tempdir().unwrap();
        let store = FaultyStore::over(store_in(directory.path()).await);
        let setup = Self {
            _directory: Some(directory),
            ..Self::over(Arc::clone(&store), options).await
        };
        (setup, store)
    }

    /// A scheduler over a store that outlives it.
    pub(crate) async fn over(store: Arc<impl Store + 'static>, options: Options) -> Self {
        Self::prepared(store, options).await.unwrap()
    }

    /// Like `over`, but returns the error if the scheduler cannot begin.
    pub(crate) async fn prepared(
        store: Arc<impl Store + 'static>,
        options: Options,
    ) -> Result<Self, RunError> {
        Self::prepared_by(Arc::new(SystemClock), store, options).await
    }

    /// Like `prepared`, by this wall clock.
    pub(crate) async fn prepared_by(
        clock: Arc<dyn Clock>,
        store: Arc<impl Store + 'static>,
        options: Options,
    ) -> Result<Self, RunError> {
        let watcher = PlayedWatcher::silent();
        let (watch_listener, watch_channel) = memory_transport();
        let (listener, channel) = memory_transport();
        let stop = CancellationToken::new();
        let scheduler = Scheduler::prepare(
            options,
            Dependencies {
                store,
                watchers: Peers::fixed(watch_channel),
                clock,
                next_tick: NextTick::of(chrono::Utc),
                identities: Arc::new(RandomIdentities),
                task_reader: TaskReader::new(read).with_modules(read_module),
                signals: Signals::off(),
            },
        )
        .await?;
        let mut parts = JoinSet::new();
        let served = Endpoints::new()
            .with(WatchServiceServer::new(watcher.clone()))
            .serve_memory(watch_listener, stop.clone().cancelled_owned());
        parts.spawn(async { served.await.unwrap() });
        let endpoints = scheduler.endpoints(&stop);
        let served = endpoints
            .clone()
            .serve_memory(listener, stop.clone().cancelled_owned());
        parts.spawn(async { served.await.unwrap() });
        let runs = RunServiceClient::new(channel.clone());
        let all = run::FollowRunsRequest {
            ..run::FollowRunsRequest::default()
        };
        let requests = scheduler.run_requests();
        let checks = scheduler.disabled_checks();
        let files = scheduler.file_tasks();
        let changes = runs.clone().follow_runs(all).await.unwrap().into_inner();
        let work = scheduler.run(stop.clone());
        parts.spawn(async { work.await.unwrap() });
        Ok(Self {
            changes: Mutex::new(changes),
            secret: std::sync::Mutex::default(),
            runs,
            tasks: TaskServiceClient::new(channel.clone()),
            logs: LogServiceClient::new(channel.clone()),
            plans: PlanServiceClient::new(channel.clone()),
            approvals: ApprovalServiceClient::new(channel.clone()),
            bundles: BundleServiceClient::new(channel.clone()),
            cluster: ClusterServiceClient::new(channel.clone()),
            follow: FollowServiceClient::new(channel.clone()),
            workers: WorkerServiceClient::new(channel.clone()),
            access: AccessServiceClient::new(channel.clone()),
            sessions: SessionServiceClient::new(channel),
            watcher,
            requests,
            checks,
            files,
            endpoints,
            _parts: parts,
            stop: stop.drop_guard(),
            _directory: None,
        })
    }

    /// A heartbeat with nothing but the registration of its worker.
    pub(crate) async fn heartbeat(&self, worker: worker::Worker) -> worker::HeartbeatResponse {
        let request = worker::HeartbeatRequest {
            worker: Some(worker),
            ..worker::HeartbeatRequest::default()
        };
        let answer = self.workers.clone().heartbeat(request).await;
        answer.unwrap().into_inner()
    }

    /// Registers the worker that asks for runs, which has then the secret that its calls need.
    pub(crate) async fn register(&self) {
        let request = worker::HeartbeatRequest {
            worker: Some(worker::Worker {
                id: WORKER.into(),
                slots: 1,
                settings: Some(no_blocks()),
                ..worker::Worker::default()
            }),
            registration: vec![1; 32],
            ..worker::HeartbeatRequest::default()
        };
        let answer = self.workers.clone().heartbeat(request).await.unwrap();
        *self.secret.lock().unwrap() = answer.into_inner().registration_secret;
    }

    /// Waits until so many runs have ended, and returns them by task.
    pub(crate) async fn ends(&self, count: usize) -> BTreeMap<String, run::FollowRunsResponse> {
        let mut changes = self.changes.lock().await;
        let mut ended = BTreeMap::new();
        while ended.len() < count {
            let change = changes.message().await.unwrap().unwrap();
            if !matches!(
                change.status(),
                run::RunStatus::Queued | run::RunStatus::Running
            ) {
                ended.insert(change.task_name.clone(), change);
            }
        }
        ended
    }

    pub(crate) async fn run(&self, id: &str) -> Result<run::Run, tonic::Status> {
        let request = run::GetRunRequest {
            run_id: id.into(),
            include_cause: true,
            include_attempts: true,
            visible_tasks: Vec::new(),
        };
        let response = self.runs.clone().get_run(request).await?;
        Ok(response.into_inner().run.unwrap())
    }

    /// Asks for a run and waits for it at most this long.
    pub(crate) async fn acquire(&self, wait: Duration) -> Option<run::Lease> {
        self.acquire_as(wait, convert::known_kinds()).await
    }

    /// Requests a run as a worker that supports these kinds.
    pub(crate) async fn acquire_as(&self, wait: Duration, kinds: Vec<i32>) -> Option<run::Lease> {
        self.acquire_with(wait, kinds, terraform()).await
    }

    /// Asks for a run that must come, as a worker that can do this.
    pub(crate) async fn acquired_by(&self, capabilities: Capabilities) -> run::Lease {
        let wait = Duration::from_secs(20);
        let lease = self.acquire_with(wait, convert::known_kinds(), capabilities);
        lease.await.expect("a run becomes due")
    }

    async fn acquire_with(
        &self,
        wait: Duration,
        kinds: Vec<i32>,
        capabilities: Capabilities,
    ) -> Option<run::Lease> {
        let registration_secret = self.secret.lock().unwrap().clone();
        let request = run::AcquireRunRequest {
            kinds,
            worker_id: WORKER.into(),
            request_id: "1".into(),
            wait: Some(convert::duration_to_wire(wait)),
            capabilities: Some(convert::capabilities_to_wire(&capabilities)),
            reports_settings: !registration_secret.is_empty(),
            registration_secret,
            asks_permission: true,
            ..run::AcquireRunRequest::default()
        };
        let acquired = self.runs.clone().acquire_run(request).await;
        acquired.unwrap().into_inner().lease
    }

    /// Asks for a run that must come.
    pub(crate) async fn acquired(&self) -> run::Lease {
        self.acquire(Duration::from_secs(20))
            .await
            .expect("a run becomes due")
    }

    pub(crate) async fn input(&self, lease: &run::Lease) -> RunInput {
        let mut contents = Vec::new();
        for named in &lease.contents {
            let request = run::GetInputContentsRequest {
                hashes: vec![named.hash.clone()],
            };
            let parts = self.runs.clone().get_input_contents(request).await;
            let mut parts = parts.unwrap().into_inner();
            let mut bytes = Vec::new();
            while let Some(part) = parts.message().await.unwrap() {
                bytes.extend(part.chunk);
            }
            contents.push(bytes);
        }
        RunInput::thaw(contents.iter().map(Vec::as_slice)).unwrap()
    }

    pub(crate) async fn complete(
        &self,
        lease: &run::Lease,
        outcome: run::complete_run_request::Outcome,
    ) -> Result<run::RunStatus, tonic::Status> {
        let mut runs = self.runs.clone();
        let completed = runs.complete_run(completion(lease, outcome)).await?;
        Ok(completed.into_inner().status())
    }

    pub(crate) async fn applied(&self, lease: &run::Lease) {
        let outcome = run::complete_run_request::Outcome::Applied(run::Applied {});
        assert_eq!(
            self.complete(lease, outcome).await.unwrap(),
            run::RunStatus::Succeeded
        );
    }
}

/// Like the configuration would, in short.
fn read(draft: &TaskDraft) -> Result<TaskSpec, InvalidDraft> {
    if draft.module == "refused" {
        return Err(InvalidDraft::Problems(vec![
            "the module is refused".to_owned(),
        ]));
    }
    let mut spec = task(&draft.name);
    spec.enabled = draft.enabled;
    spec.on_delete = draft.on_delete.unwrap_or_default();
    spec.api_approval = draft.approval;
    spec.definition.description.clone_from(&draft.description);
    spec.definition.condition = draft.condition.clone();
    spec.definition.working_dir = PathBuf::from(&draft.name);
    if draft.module.starts_with('/') {
        spec.definition.module_source.clone_from(&draft.module);
    }
    if draft.module == "asks" {
        spec.file_settings.approval = Some(ApprovalRule::Always);
    }
    if draft.module == "broken" {
        spec.requirement.unusable_module = Some(NO_MODULE.to_owned());
    }
    Ok(spec)
}

pub(crate) const NO_MODULE: &str = "there is no module";

/// The task with its module as the module is now.
fn read_module(task: &TaskSpec) -> TaskSpec {
    let mut again = task.clone();
    let main = Path::new(&task.definition.module_source).join("main.tf");
    let content = std::fs::read(main).ok();
    again.requirement.unusable_module = content.is_none().then(|| NO_MODULE.to_owned());
    again.definition.module_digest = content.as_deref().map(Digest::of);
    again
}

/// A new store with its file in `directory`.
pub(crate) async fn store_in(directory: &Path) -> Arc<SqliteStore> {
    let path = directory.join("cts.db");
    let store = cts_store_sqlite::open(&path, Arc::new(SystemClock), None).await;
    Arc::new(store.unwrap())
}

pub(crate) fn member() -> Member {
    Member {
        id: "cts-test".into(),
        incarnation: RandomIdentities.incarnation(),
        service_name: "consul-terraform-sync".into(),
        address: None,
    }
}

/// The settings of a worker without backend and provider blocks.
pub(crate) fn no_blocks() -> worker::WorkerSettings {
    worker::WorkerSettings {
        keys: vec![worker::KeyedDigests {
            key_id: "0123456789abcdef".into(),
            ..worker::KeyedDigests::default()
        }],
    }
}

pub(crate) fn terraform() -> Capabilities {
    Capabilities {
        engines: vec![Engine {
            driver: DEFAULT_DRIVER.into(),
            version: "1.11.4".into(),
        }],
        bundles: false,
    }
}

/// Capabilities of a worker that does not share the scheduler's disk.
pub(crate) fn bundles() -> Capabilities {
    Capabilities {
        bundles: true,
        ..terraform()
    }
}

pub(crate) fn task(name: &str) -> TaskSpec {
    fixtures::task(name, &["web"])
}

pub(crate) fn instance(id: &str, port: i64) -> ServiceInstance {
    fixtures::instance("web", id, port)
}
