//! One service alone, with gRPC over TCP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use cts_config::Config;
use cts_rpc::Endpoints;
use cts_runtime::{ProcessEnv, Tasks};
use cts_watcher::Watcher;
use cts_worker::ShutdownTokens;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::services::client_limits::services_limiter;
use crate::services::connections::{Links, infallible};
use crate::services::database::Database;
use crate::services::engine::needed_engine;
use crate::services::registration::CatalogEntry;
use crate::services::reload::Parts;
use crate::services::settings::{self, Shape};
use crate::services::telemetry::Observation;
use crate::services::waiting::{Patience, Waiting};
use crate::services::wiring::{self, Beginning, WorkerParts, consul_client};

/// Serves a watcher until `shutdown`.
pub(crate) async fn run_watcher(
    config: &Config,
    process_env: &ProcessEnv,
    grpc: SocketAddr,
    mut observation: Observation,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let mut links = Links::of_service(config).await?;
    links.measure(observation.calls.clone());
    let grpc = links.listen(grpc).await?;
    let parts = Tasks::new(shutdown.clone());
    links.follow_files(&parts, &shutdown);
    observation.serve(links.server_tls(), None, &parts, &shutdown);
    wiring::log_consul_setup();
    let mut waiting = Waiting::new(config, process_env, Patience::Waits, None);
    let asking = waiting.until(async || consul_client(config, Patience::Waits).await);
    let Some(consul) = unless_ended(&shutdown, Box::pin(asking)).await? else {
        parts.wait().await?;
        return Ok(());
    };
    let watcher = Watcher::new(
        consul,
        settings::watch(&config.consul),
        &observation.signals,
        Arc::clone(&process_env.clock),
    );
    let endpoints = Endpoints::new().with(watcher.service());
    links.serve(
        endpoints,
        services_limiter(config, process_env),
        grpc,
        &parts,
        &shutdown,
    );
    parts.spawn("watcher", watcher.run(shutdown.clone()));
    observation.reloads.serve(links.parts());
    observation.readiness.ready();
    shutdown.cancelled().await;
    wiring::log_watching_end();
    let end = parts.wait().await;
    observation.end().await;
    Ok(end?)
}

/// Serves a scheduler until `shutdown`.
pub(crate) async fn run_scheduler(
    config: &Config,
    process_env: &ProcessEnv,
    watchers: &[String],
    grpc: SocketAddr,
    mut observation: Observation,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    wiring::log_controller_setup("daemon");
    config.require_shared_backend()?;
    if config.database.is_none() {
        return Err(Failure::NoDatabase {
            what: "`cts scheduler`",
        });
    }
    let mut links = Links::of_service(config).await?;
    links.measure(observation.calls.clone());
    let grpc = links.listen(grpc).await?;
    tracing::info!(target: "cli", "initializing controller");
    let mut waiting = Waiting::new(config, process_env, Patience::Waits, None);
    let opening = waiting.until(async || Database::open(config, process_env).await);
    let Some(database) = unless_ended(&shutdown, Box::pin(opening)).await? else {
        return Ok(());
    };
    let database = database.measured(&observation.signals.meter);
    // The peers and the server must outlive the scheduler, which resigns over them.
    let inner = CancellationToken::new();
    let inside = Tasks::new(inner.clone());
    let outside = Tasks::new(shutdown.clone());
    links.follow_files(&inside, &inner);
    let watchers = links.watchers(watchers, &process_env.clock, &inside, &inner)?;
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
        observation.signals.clone(),
    );
    let Some(scheduler) = unless_ended(&shutdown, Box::pin(preparing)).await? else {
        inner.cancel();
        inside.wait().await?;
        database.close().await;
        return Ok(());
    };
    links.recognise(&scheduler, config, process_env)?;
    links.follow_credentials(&inside, &inner);
    observation.needs_database(&scheduler);
    observation.serve(links.server_tls(), links.authenticator(), &inside, &inner);
    links.serve(
        scheduler.endpoints(&shutdown),
        services_limiter(config, process_env),
        grpc,
        &outside,
        &shutdown,
    );
    observation.reloads.serve(Parts {
        tasks: Some((scheduler.file_tasks(), Shape::Cluster)),
        ..links.parts()
    });
    outside.spawn("scheduler", scheduler.run(shutdown.clone()));
    observation.readiness.ready();
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = inner.cancelled() => shutdown.cancel(),
    }
    wiring::log_monitoring_end();
    observation.readiness.not_ready("stopping");
    let outer_end = outside.wait().await;
    inner.cancel();
    let inner_end = inside.wait().await;
    database.close().await;
    observation.end().await;
    inner_end?;
    Ok(outer_end?)
}

/// Works for schedulers until `shutdown`, then finishes what it has; until `stop`, then interrupts it.
pub(crate) async fn run_worker(
    config: &Config,
    process_env: &ProcessEnv,
    schedulers: &[String],
    working_dir: Option<PathBuf>,
    grpc: SocketAddr,
    mut observation: Observation,
    tokens: ShutdownTokens,
) -> Result<(), Failure> {
    let ShutdownTokens {
        drain: shutdown,
        stop,
    } = tokens;
    config.require_shared_backend()?;
    config.require_reachable_backend()?;
    let mut links = Links::of_service(config).await?;
    links.measure(observation.calls.clone());
    let grpc = links.listen(grpc).await?;
    let working_dir = working_dir.map_or_else(
        || settings::worker_directory(config),
        |path| process_env.current_dir.join(path),
    );
    let finding = needed_engine(config, process_env, &working_dir);
    let Some(engine) = unless_ended(&shutdown, finding).await? else {
        return Ok(());
    };
    // Runs are finished and reported after the shutdown has begun.
    let inner = CancellationToken::new();
    let inside = Tasks::new(inner.clone());
    links.follow_files(&inside, &inner);
    let schedulers = links.schedulers(schedulers, &process_env.clock, &inside, &inner)?;
    links.serve(
        Endpoints::new(),
        services_limiter(config, process_env),
        grpc,
        &inside,
        &inner,
    );
    let WorkerParts {
        worker,
        processes,
        guard,
        _lock,
    } = wiring::worker(
        config,
        process_env,
        engine,
        working_dir,
        schedulers.channel(),
        Shape::Cluster,
        observation.signals.clone(),
    )?;
    observation.needs_schedulers(&schedulers);
    observation.serve(links.server_tls(), None, &inside, &inner);
    let shutdown_tokens = ShutdownTokens {
        drain: shutdown.clone(),
        stop,
    };
    let outside = Tasks::new(shutdown.clone());
    let working = worker.run(shutdown_tokens.clone());
    outside.spawn("worker", working);
    observation.reloads.serve(links.parts());
    observation.readiness.ready();
    let guard_end = CancellationToken::new();
    let guarding = guard.map(|guard| {
        let kept = Tasks::new(guard_end.clone());
        kept.spawn("guard", infallible(guard.keep(guard_end.clone())));
        kept
    });
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = inner.cancelled() => shutdown_tokens.stop.cancel(),
    }
    observation.readiness.not_ready("draining");
    let outer_end = outside.wait().await;
    processes.close();
    processes.wait().await;
    guard_end.cancel();
    if let Some(guarding) = guarding {
        guarding.wait().await?;
    }
    inner.cancel();
    let inner_end = inside.wait().await;
    observation.end().await;
    inner_end?;
    Ok(outer_end?)
}

/// Serves the REST API in front of schedulers until `shutdown`.
pub(crate) async fn run_gateway(
    config: &Config,
    process_env: &ProcessEnv,
    schedulers: &[String],
    api: TcpListener,
    grpc: SocketAddr,
    mut observation: Observation,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let mut links = Links::of_service(config).await?;
    links.measure(observation.calls.clone());
    let tls = wiring::api_tls(config).await?;
    let entry = CatalogEntry::new(config, wiring::unasked_consul_client(config)?);
    let grpc = links.listen(grpc).await?;
    let parts = Tasks::new(shutdown.clone());
    links.follow_files(&parts, &shutdown);
    let schedulers = links.schedulers(schedulers, &process_env.clock, &parts, &shutdown)?;
    links.serve(
        Endpoints::new(),
        services_limiter(config, process_env),
        grpc,
        &parts,
        &shutdown,
    );
    observation.needs_schedulers(&schedulers);
    observation.serve(links.server_tls(), None, &parts, &shutdown);
    let signals = observation.signals.clone();
    let mut reloaded = links.parts();
    let api_tls = tls.iter().cloned();
    reloaded.servers.extend(api_tls.map(|tls| ("tls", tls)));
    observation.reloads.serve(reloaded);
    let gateway = wiring::gateway(config, process_env, schedulers.into(), tls, signals)?;
    wiring::log_api_start(&api);
    let leaving = CancellationToken::new();
    if let Some(entry) = entry {
        entry.keep(&parts, &leaving);
    }
    parts.spawn("gateway", gateway.serve(api, leaving.clone()));
    observation.readiness.ready();
    shutdown.cancelled().await;
    wiring::log_api_end();
    leaving.cancel();
    let end = parts.wait().await;
    observation.end().await;
    Ok(end?)
}

/// Result of `preparing`; `None` if the shutdown comes first, when nothing has begun that would have to be
/// finished.
async fn unless_ended<T>(
    shutdown: &CancellationToken,
    preparing: impl Future<Output = Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    shutdown.run_until_cancelled(preparing).await.transpose()
}
