//! One service alone, with gRPC over TCP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use cts_config::Config;
use cts_rpc::Endpoints;
use cts_runtime::ProcessEnv;
use cts_watcher::Watcher;
use cts_worker::ShutdownTokens;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::services::database::Database;
use crate::services::engine::needed_engine;
use crate::services::host::Host;
use crate::services::registration::CatalogEntry;
use crate::services::reload::Parts;
use crate::services::settings::{self, Shape};
use crate::services::telemetry::Observation;
use crate::services::waiting::Waiting;
use crate::services::wiring::AbsentPeers;
use crate::services::wiring::{self, Beginning, consul_client};

/// Serves a watcher until `shutdown`.
pub(crate) async fn run_watcher(
    config: &Config,
    process_env: &ProcessEnv,
    grpc: SocketAddr,
    observation: Observation,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let (mut host, grpc) =
        Host::of_service(config, process_env, grpc, observation, shutdown).await?;
    host.observe();
    wiring::log_consul_setup();
    let mut waiting = Waiting::new(config, process_env, AbsentPeers::Wait, None);
    let asking = waiting.until(async || consul_client(config, AbsentPeers::Wait).await);
    let Some(consul) = host.unless_ended(Box::pin(asking)).await? else {
        return host.end(None).await;
    };
    let watcher = Watcher::new(
        consul,
        settings::watch(&config.consul),
        &host.observation.signals,
        Arc::clone(&process_env.clock),
    );
    let endpoints = Endpoints::new().with(watcher.service());
    host.serve(endpoints, grpc, &host.inside);
    let watching = watcher.run(host.inside.token().clone());
    host.inside.spawn("watcher", watching);
    host.ready(host.links.parts());
    host.stopping("stopping").await;
    wiring::log_watching_end();
    host.end(None).await
}

/// Serves a scheduler until `shutdown`.
pub(crate) async fn run_scheduler(
    config: &Config,
    process_env: &ProcessEnv,
    watchers: &[String],
    grpc: SocketAddr,
    observation: Observation,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    wiring::log_controller_setup("daemon");
    config.require_shared_backend()?;
    if config.database.is_none() {
        return Err(Failure::NoDatabase {
            what: "`cts scheduler`",
        });
    }
    let (mut host, grpc) =
        Host::of_service(config, process_env, grpc, observation, shutdown).await?;
    tracing::info!(target: "cli", "initializing controller");
    let mut waiting = Waiting::new(config, process_env, AbsentPeers::Wait, None);
    let opening = waiting.until(async || Database::open(config, process_env).await);
    let Some(database) = host.unless_ended(Box::pin(opening)).await? else {
        return host.end(None).await;
    };
    let database = database.measured(&host.observation.signals.meter);
    let clock = &process_env.clock;
    let watchers = host.links.watchers(watchers, clock, &host.inside)?;
    let preparing = wiring::scheduler(
        config,
        process_env,
        &database,
        watchers,
        Beginning {
            shape: Shape::Cluster,
            mode: cts_scheduler::Mode::Daemon,
            reset_storage: false,
        },
        host.observation.signals.clone(),
    );
    let Some(scheduler) = host.unless_ended(Box::pin(preparing)).await? else {
        return host.end(Some(&database)).await;
    };
    host.links.recognise(&scheduler, config, process_env)?;
    host.observation.needs_database(&scheduler);
    host.observe();
    let endpoints = scheduler.endpoints(host.between.token());
    host.serve(endpoints, grpc, &host.between);
    let parts = Parts {
        tasks: Some((scheduler.file_tasks(), Shape::Cluster)),
        ..host.links.parts()
    };
    let scheduling = scheduler.run(host.between.token().clone());
    host.between.spawn("scheduler", scheduling);
    host.ready(parts);
    host.stopping("stopping").await;
    wiring::log_monitoring_end();
    host.end(Some(&database)).await
}

/// Works for schedulers until the drain, and then finishes its work, which the stop interrupts.
pub(crate) async fn run_worker(
    config: &Config,
    process_env: &ProcessEnv,
    schedulers: &[String],
    working_dir: Option<PathBuf>,
    grpc: SocketAddr,
    observation: Observation,
    ShutdownTokens { drain, stop }: ShutdownTokens,
) -> Result<(), Failure> {
    config.require_shared_backend()?;
    config.require_reachable_backend()?;
    let (mut host, grpc) = Host::of_service(config, process_env, grpc, observation, drain).await?;
    let working_dir = working_dir.map_or_else(
        || settings::worker_directory(config),
        |path| process_env.current_dir.join(path),
    );
    let finding = needed_engine(config, process_env, &working_dir);
    let Some(engine) = host.unless_ended(finding).await? else {
        return host.end(None).await;
    };
    let clock = &process_env.clock;
    let schedulers = host.links.schedulers(schedulers, clock, &host.inside)?;
    host.serve(Endpoints::new(), grpc, &host.inside);
    let worker = wiring::worker(
        config,
        process_env,
        engine,
        working_dir,
        schedulers.channel(),
        Shape::Cluster,
        host.observation.signals.clone(),
    )?;
    host.observation.needs_schedulers(&schedulers);
    host.observe();
    let _lock = worker.begin(&host, stop.clone());
    host.ready(host.links.parts());
    if host.stopping("draining").await {
        stop.cancel();
    }
    host.end(None).await
}

/// Serves the REST API in front of schedulers until `shutdown`.
pub(crate) async fn run_gateway(
    config: &Config,
    process_env: &ProcessEnv,
    schedulers: &[String],
    (api, page): (TcpListener, Option<TcpListener>),
    grpc: SocketAddr,
    observation: Observation,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let (mut host, grpc) =
        Host::of_service(config, process_env, grpc, observation, shutdown).await?;
    let tls = wiring::api_tls(config).await?;
    let entry = CatalogEntry::new(config, wiring::unasked_consul_client(config)?);
    let clock = &process_env.clock;
    let schedulers = host.links.schedulers(schedulers, clock, &host.inside)?;
    host.serve(Endpoints::new(), grpc, &host.inside);
    host.observation.needs_schedulers(&schedulers);
    host.observe();
    let parts = host.links.parts().with_api(tls.as_ref());
    let signals = host.observation.signals.clone();
    let gateway = wiring::gateway(config, process_env, schedulers.into(), tls, signals)?;
    let gateway = gateway.with_page_listener(page);
    wiring::log_api_start(&api);
    if let Some(entry) = entry {
        entry.keep(&host.outside);
    }
    let serving = gateway.serve(api, host.outside.token().clone());
    host.outside.spawn("gateway", serving);
    host.ready(parts);
    host.stopping("stopping").await;
    wiring::log_api_end();
    host.end(None).await
}
