//! All four services in one process over SQLite, talking through their generated clients over
//! in-memory transports.

use std::convert::Infallible;
use std::sync::Arc;

use chrono::Local;
use cts_config::Config;
use cts_consul::ConsulClient;
use cts_gateway::{Deps as GatewayDeps, Gateway, Options as GatewayOptions};
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::{Endpoints, MemoryListener, memory_transport};
use cts_runtime::Tasks;
use cts_scheduler::{
    Dependencies as SchedulerDependencies, Options as SchedulerOptions, RandomIdentities, Scheduler,
};
use cts_store::Store;
use cts_store_sqlite::SqliteStore;
use cts_terraform::{Executable, OutputSink, Terraform};
use cts_watcher::{Options as WatcherOptions, Watcher};
use cts_worker::{Dependencies as WorkerDependencies, Worker};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::failure::Failure;
use crate::lock::DirectoryLock;
use crate::settings;
use crate::surroundings::Surroundings;
use crate::terraform_console::StandardError;

/// Name of the database in the working directory; no task can have it, for it has a dot.
const DATABASE: &str = "cts.db";

/// Bound sockets; binding is the caller's, so that a port in use fails before anything begins.
#[derive(Debug)]
pub struct Sockets {
    /// For the REST API.
    pub api: TcpListener,
    /// For gRPC clients such as `grpcurl`, if wanted.
    pub grpc: Option<TcpListener>,
}

/// An instance that is ready to run.
#[derive(Debug)]
pub struct Embedded {
    sockets: Sockets,
    store: SqliteStore,
    watcher: Watcher,
    watch_listener: MemoryListener,
    scheduler: Scheduler,
    schedule_listener: MemoryListener,
    worker: Worker,
    gateway: Gateway,
    /// Supervisors of Terraform processes.
    terraform_processes: TaskTracker,
    /// Ends the services that others need to end well.
    inner: CancellationToken,
    _lock: DirectoryLock,
}

impl Embedded {
    /// Checks Consul and Terraform, then opens the database and puts everything together. Nothing is
    /// written before the checks have passed. Must be called inside a runtime.
    pub async fn prepare(
        config: &Config,
        surroundings: &Surroundings,
        sockets: Sockets,
    ) -> Result<Self, Failure> {
        let consul = consul_client(config).await?;
        let executable = find_terraform(config, surroundings).await?;

        let lock = DirectoryLock::take(&config.working_dir)?;
        let store = open_store(config, surroundings).await?;

        let (watch_listener, watch_channel) = memory_transport();
        let (schedule_listener, schedule_channel) = memory_transport();
        let watcher = Watcher::new(&WatcherOptions::default(), consul);
        let inner = CancellationToken::new();
        let scheduler = Scheduler::prepare(
            SchedulerOptions {
                sole_user: true,
                ..SchedulerOptions::new(config.tasks.clone())
            },
            SchedulerDependencies {
                store: Arc::new(store.clone()) as Arc<dyn Store>,
                watcher: WatchServiceClient::new(watch_channel),
                clock: Arc::clone(&surroundings.clock),
                identities: Arc::new(RandomIdentities),
                settings_digest: settings::settings_digest(config),
            },
        )
        .await?;

        let terraform_processes = TaskTracker::new();
        let options = settings::worker(config, surroundings, &executable);
        let console = config
            .driver
            .log
            .then(|| Arc::new(StandardError) as Arc<dyn OutputSink>);
        let worker = Worker::new(
            options,
            WorkerDependencies {
                runs: RunServiceClient::new(schedule_channel.clone()),
                logs: LogServiceClient::new(schedule_channel.clone()),
                terraform: Arc::new(Terraform::new(executable, terraform_processes.clone())),
                console,
            },
        );
        let gateway = gateway(TaskServiceClient::new(schedule_channel));
        Ok(Self {
            sockets,
            store,
            watcher,
            watch_listener,
            scheduler,
            schedule_listener,
            worker,
            gateway,
            terraform_processes,
            inner,
            _lock: lock,
        })
    }

    /// Runs until `shutdown` is cancelled, or a part fails.
    ///
    /// The end goes from the outside in: API and worker first, which interrupts Terraform gently and
    /// reports what became of it, then the scheduler and the watcher, then the database.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Failure> {
        let Self {
            inner,
            terraform_processes,
            store,
            ..
        } = &self;
        let (inner, terraform_processes, store) =
            (inner.clone(), terraform_processes.clone(), store.clone());
        let outside = Tasks::new(shutdown.clone());
        let inside = Tasks::new(inner.clone());

        let watch_endpoints = Endpoints::new().with(self.watcher.service());
        let schedule_endpoints = self.scheduler.endpoints(&inner);
        if let Some(socket) = self.sockets.grpc {
            let all = schedule_endpoints.clone().with(self.watcher.service());
            inside.spawn(
                "gRPC listener",
                all.serve_tcp(socket, inner.clone().cancelled_owned()),
            );
        }
        inside.spawn(
            "watcher's server",
            watch_endpoints.serve_memory(self.watch_listener, inner.clone().cancelled_owned()),
        );
        inside.spawn(
            "scheduler's server",
            schedule_endpoints
                .serve_memory(self.schedule_listener, inner.clone().cancelled_owned()),
        );
        let watching = self.watcher.run(inner.clone());
        inside.spawn("watcher", async {
            watching.await;
            Ok::<_, Infallible>(())
        });
        inside.spawn("scheduler", self.scheduler.run(inner.clone()));
        outside.spawn(
            "gateway",
            self.gateway.serve(self.sockets.api, shutdown.clone()),
        );
        outside.spawn("worker", self.worker.run(shutdown.clone()));

        tokio::select! {
            () = shutdown.cancelled() => {}
            () = inner.cancelled() => shutdown.cancel(),
        }
        let outer_end = outside.wait().await;
        terraform_processes.close();
        terraform_processes.wait().await;
        inner.cancel();
        let inner_end = inside.wait().await;
        store.close().await;
        inner_end?;
        outer_end?;
        Ok(())
    }
}

/// A client of a Consul that answers and has a leader.
pub(crate) async fn consul_client(config: &Config) -> Result<ConsulClient, Failure> {
    let client =
        ConsulClient::new(&settings::consul(&config.consul)).map_err(Failure::ConsulSettings)?;
    let address = config.consul.address.clone();
    match client.wait_for_leader().await {
        Ok(Some(_leader)) => Ok(client),
        Ok(None) => Err(Failure::NoLeader { address }),
        Err(source) => Err(Failure::Consul { address, source }),
    }
}

/// The configured Terraform, or the one on the PATH.
pub(crate) async fn find_terraform(
    config: &Config,
    surroundings: &Surroundings,
) -> Result<Executable, Failure> {
    let executable = Executable::find(
        config.driver.path.as_deref(),
        &surroundings.environment,
        &surroundings.current_dir,
    )
    .await
    .map_err(Failure::Terraform)?;
    tracing::info!(
        target: "driver",
        path = %executable.path().display(),
        version = %executable.version(),
        "using terraform"
    );
    if !executable.supports_backend(&config.driver.backend) {
        return Err(Failure::Backend {
            backend: config.driver.backend.kind.clone(),
            version: executable.version().to_string(),
        });
    }
    Ok(executable)
}

/// The database in the working directory.
pub(crate) async fn open_store(
    config: &Config,
    surroundings: &Surroundings,
) -> Result<SqliteStore, Failure> {
    let path = config.working_dir.join(DATABASE);
    SqliteStore::open(&path, Arc::clone(&surroundings.clock))
        .await
        .map_err(Failure::Store)
}

pub(crate) fn gateway(tasks: TaskServiceClient<tonic::transport::Channel>) -> Gateway {
    let options = GatewayOptions {
        request_id: Arc::new(Uuid::new_v4),
        local_time: Arc::new(|at| at.with_timezone(&Local).fixed_offset()),
    };
    Gateway::new(options, GatewayDeps { tasks })
}
