//! One service alone, with gRPC over TCP.
//!
//! The scheduler keeps its state in SQLite here as well, so there can be one of it only.

use std::convert::Infallible;
use std::sync::Arc;

use cts_config::Config;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::{Endpoints, connect};
use cts_runtime::Tasks;
use cts_scheduler::{
    Dependencies as SchedulerDependencies, Options as SchedulerOptions, RandomIdentities, Scheduler,
};
use cts_terraform::{OutputSink, Terraform};
use cts_watcher::{Options as WatcherOptions, Watcher};
use cts_worker::{Dependencies as WorkerDependencies, Worker};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::embedded::{consul_client, find_terraform, gateway, open_store};
use crate::failure::Failure;
use crate::lock::DirectoryLock;
use crate::settings;
use crate::surroundings::Surroundings;
use crate::terraform_console::StandardError;

/// Serves the watcher until `shutdown`.
pub(crate) async fn run_watcher(
    config: &Config,
    grpc: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let watcher = Watcher::new(&WatcherOptions::default(), consul_client(config).await?);
    let parts = Tasks::new(shutdown.clone());
    let endpoints = Endpoints::new().with(watcher.service());
    parts.spawn(
        "gRPC listener",
        endpoints.serve_tcp(grpc, shutdown.clone().cancelled_owned()),
    );
    let watching = watcher.run(shutdown);
    parts.spawn("watcher", async {
        watching.await;
        Ok::<_, Infallible>(())
    });
    Ok(parts.wait().await?)
}

/// Serves the scheduler until `shutdown`.
pub(crate) async fn run_scheduler(
    config: &Config,
    surroundings: &Surroundings,
    watcher: &str,
    grpc: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let _lock = DirectoryLock::take(&config.working_dir)?;
    let store = open_store(config, surroundings).await?;
    let scheduler = Scheduler::prepare(
        SchedulerOptions::new(config.tasks.clone()),
        SchedulerDependencies {
            store: Arc::new(store.clone()),
            watcher: WatchServiceClient::new(connect(watcher)?),
            clock: Arc::clone(&surroundings.clock),
            identities: Arc::new(RandomIdentities),
            settings_digest: settings::settings_digest(config),
        },
    )
    .await?;
    let parts = Tasks::new(shutdown.clone());
    let endpoints = scheduler.endpoints(&shutdown);
    parts.spawn(
        "gRPC listener",
        endpoints.serve_tcp(grpc, shutdown.clone().cancelled_owned()),
    );
    parts.spawn("scheduler", scheduler.run(shutdown));
    let end = parts.wait().await;
    store.close().await;
    Ok(end?)
}

/// Works for a scheduler until `shutdown`.
pub(crate) async fn run_worker(
    config: &Config,
    surroundings: &Surroundings,
    scheduler: &str,
    grpc: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let executable = find_terraform(config, surroundings).await?;
    let channel = connect(scheduler)?;
    let processes = TaskTracker::new();
    let options = settings::worker(config, surroundings, &executable);
    let worker = Worker::new(
        options,
        WorkerDependencies {
            runs: RunServiceClient::new(channel.clone()),
            logs: LogServiceClient::new(channel),
            terraform: Arc::new(Terraform::new(executable, processes.clone())),
            console: config
                .driver
                .log
                .then(|| Arc::new(StandardError) as Arc<dyn OutputSink>),
        },
    );
    let parts = Tasks::new(shutdown.clone());
    let endpoints = Endpoints::new();
    parts.spawn(
        "gRPC listener",
        endpoints.serve_tcp(grpc, shutdown.clone().cancelled_owned()),
    );
    parts.spawn("worker", worker.run(shutdown));
    let end = parts.wait().await;
    processes.close();
    processes.wait().await;
    Ok(end?)
}

/// Serves the REST API in front of a scheduler until `shutdown`.
pub(crate) async fn run_gateway(
    scheduler: &str,
    api: TcpListener,
    grpc: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let gateway = gateway(TaskServiceClient::new(connect(scheduler)?));
    let parts = Tasks::new(shutdown.clone());
    let endpoints = Endpoints::new();
    parts.spawn(
        "gRPC listener",
        endpoints.serve_tcp(grpc, shutdown.clone().cancelled_owned()),
    );
    parts.spawn("gateway", gateway.serve(api, shutdown));
    Ok(parts.wait().await?)
}
