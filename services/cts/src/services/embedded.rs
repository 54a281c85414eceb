//! All four services in one process, connected by their generated clients over in-memory transports.
//!
//! Over SQLite the process shares nothing with other processes. Over Postgres the process is one of several equal
//! processes, and the rules of the cluster hold: leases, guard, bundles.

use std::sync::Arc;

use cts_config::Config;
use cts_gateway::Gateway;
use cts_listen::ClientLimiter;
use cts_rpc::{Endpoints, MemoryListener, Peers, memory_transport, memory_transports};
use cts_runtime::ProcessEnv;
use cts_scheduler::{DisabledChecks, Mode, RunRequests, Scheduler};
use cts_store::StoredTask;
use cts_watcher::Watcher;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::failure::Failure;
use crate::services::client_limits::services_limiter;
use crate::services::connections::{Links, require_certificates};
use crate::services::database::Database;
use crate::services::engine::needed_engine;
use crate::services::host::Host;
use crate::services::registration::CatalogEntry;
use crate::services::settings::{self, Shape};
use crate::services::telemetry::Observation;
use crate::services::waiting::{Api, Waiting};
use crate::services::wiring::AbsentPeers;
use crate::services::wiring::{self, Beginning, WorkerParts, consul_client};

/// Bound sockets; binding is the caller's, so that a port in use fails before anything begins.
#[derive(Debug, Default)]
pub struct Sockets {
    /// Listener of the REST API; `None` without the API.
    pub api: Option<TcpListener>,
    /// Listener of the page, if it is not on the listener of the API.
    pub page: Option<TcpListener>,
    /// Listener for gRPC clients such as `grpcurl`, if wanted.
    pub grpc: Option<TcpListener>,
    /// Listener for metrics and health checks, with their content.
    pub observation: Observation,
}

/// How an instance runs its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartMode {
    /// Runs them whenever something has changed.
    Daemon,
    /// One pass: each task is applied once.
    Once,
    /// One pass: each task is planned once, and nothing is changed.
    Inspect,
}

impl StartMode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Once => "once",
            Self::Inspect => "inspect",
        }
    }
}

/// Options of an instance's start.
#[derive(Debug, Clone, Copy)]
pub struct StartOptions {
    /// How the tasks run.
    pub mode: StartMode,
    /// Whether stored tasks are deleted first, so that only the tasks of the configuration are left.
    pub reset_storage: bool,
    /// Whether the file was restored from a backup, so that no input counts as applied.
    pub restored: bool,
    /// Treatment of a Consul or a database that cannot be reached.
    pub absent_peers: AbsentPeers,
}

/// An instance that is ready to run.
#[derive(Debug)]
pub struct Embedded {
    sockets: Sockets,
    links: Links,
    limiter: ClientLimiter,
    database: Database,
    watcher: Watcher,
    watch_listener: MemoryListener,
    scheduler: Scheduler,
    schedule_listener: MemoryListener,
    worker: WorkerParts,
    gateway: Gateway,
    entry: Option<CatalogEntry>,
    mode: StartMode,
    schedule_channel: Channel,
}

impl Embedded {
    /// Checks Consul and Terraform, then opens the database and puts everything together. Nothing is written before the
    /// checks have passed. With [`StartMode::Inspect`] the database lives as long as the instance. Must be called
    /// inside a runtime.
    pub async fn prepare(
        config: &Config,
        process_env: &ProcessEnv,
        sockets: Sockets,
        options: StartOptions,
    ) -> Result<Self, Failure> {
        let StartOptions {
            mode,
            reset_storage,
            restored,
            absent_peers,
        } = options;
        if restored && config.database.is_some() {
            return Err(Failure::RestoredServer);
        }
        wiring::log_controller_setup(mode.as_str());
        if sockets.grpc.is_some() && !config.security.require_auth {
            // Without tokens only certificates have roles.
            require_certificates(config)?;
        }
        let mut links = Links::checked(config).await?;
        let shape = if config.database.is_some() && mode != StartMode::Inspect {
            Shape::Cluster
        } else {
            Shape::Embedded
        };
        config.require_reachable_backend()?;
        if shape == Shape::Cluster || config.high_availability.is_some() {
            config.require_shared_backend()?;
        }
        if mode == StartMode::Daemon
            && config.high_availability.is_some()
            && config.database.is_none()
        {
            return Err(Failure::NoDatabase {
                what: "`cts start` with a `high_availability` block",
            });
        }
        let tls = match &sockets.api {
            Some(_) => wiring::api_tls(config).await?,
            None => None,
        };
        let api = sockets.api.as_ref().map(|listener| Api {
            listener,
            page: sockets.page.as_ref(),
            tls: tls.clone(),
        });
        let mut waiting = Waiting::new(config, process_env, absent_peers, api);
        wiring::log_consul_setup();
        let consul = waiting
            .until(async || consul_client(config, absent_peers).await)
            .await?;
        let entry = match &sockets.api {
            Some(_) => CatalogEntry::new(config, consul.clone()),
            None => None,
        };
        let working_dir = settings::worker_directory(config);
        let engine = needed_engine(config, process_env, &working_dir).await?;
        tracing::info!(target: "cli", "initializing controller");
        let database = match mode {
            StartMode::Daemon | StartMode::Once => {
                let open = async || Database::open(config, process_env).await;
                waiting.until(open).await?
            }
            StartMode::Inspect => Database::temporary(process_env).await?,
        };
        if restored {
            database.mark_restored().await?;
        }
        let database = database.measured(&sockets.observation.signals.meter);
        links.measure(sockets.observation.calls.clone());

        let (watch_listener, watch_channel) = memory_transport();
        // Clients drain the answers to the gateway at their own pace; leases must not wait for them.
        let (schedule_listener, [worker_channel, gateway_channel, schedule_channel]) =
            memory_transports();
        let signals = &sockets.observation.signals;
        let watcher = Watcher::new(
            consul,
            settings::watch(&config.consul),
            signals,
            Arc::clone(&process_env.clock),
        );
        // The worker's directory is locked before any run can be granted.
        let worker = wiring::worker(
            config,
            process_env,
            engine,
            working_dir,
            worker_channel,
            shape,
            signals.clone(),
        )?;
        let watchers = Peers::fixed(watch_channel);
        let scheduler = wiring::scheduler(
            config,
            process_env,
            &database,
            watchers,
            Beginning {
                shape,
                mode: match mode {
                    StartMode::Daemon => Mode::Daemon,
                    StartMode::Once | StartMode::Inspect => Mode::OnRequest,
                },
                reset_storage,
            },
            signals.clone(),
        )
        .await?;
        if sockets.grpc.is_some() || sockets.observation.listens() {
            links.recognise(&scheduler, config, process_env)?;
        }
        let schedulers = Peers::fixed(gateway_channel).into();
        let mut reloaded = links.parts().with_api(tls.as_ref());
        reloaded.tasks = Some((scheduler.file_tasks(), shape));
        let gateway = wiring::gateway(config, process_env, schedulers, tls, signals.clone())?;
        let limiter = services_limiter(config, process_env);
        waiting.end().await?;
        sockets.observation.reloads.serve(reloaded);
        Ok(Self {
            sockets,
            links,
            limiter,
            database,
            watcher,
            watch_listener,
            scheduler,
            schedule_listener,
            worker,
            gateway,
            entry,
            mode,
            schedule_channel,
        })
    }

    /// The tasks that are stored now.
    pub(crate) async fn tasks(&self) -> Result<Vec<StoredTask>, Failure> {
        Ok(self.database.store().tasks().await?)
    }

    /// The way to the scheduler's services, which answer once this runs.
    pub(crate) fn scheduler(&self) -> Channel {
        self.schedule_channel.clone()
    }

    /// A way to request runs, which are made once this runs.
    pub(crate) fn disabled_checks(&self) -> DisabledChecks {
        self.scheduler.disabled_checks()
    }

    pub(crate) fn run_requests(&self) -> RunRequests {
        self.scheduler.run_requests()
    }

    /// Runs until `shutdown` is cancelled, or a part fails.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Failure> {
        let Self {
            sockets,
            links,
            limiter,
            database,
            watcher,
            watch_listener,
            scheduler,
            schedule_listener,
            worker,
            gateway,
            entry,
            mode,
            ..
        } = self;
        // The log names the server before the first run, and the end of each part in one order.
        if let Some(api) = &sockets.api {
            wiring::log_api_start(api);
        }
        let mut host = Host::new(links, sockets.observation, limiter, shutdown);
        host.observation.needs_database(&scheduler);
        host.observe();
        let Host {
            outside,
            between,
            inside,
            ..
        } = &host;

        let calls = &host.observation.calls;
        let watch_endpoints = Endpoints::new()
            .with(watcher.service())
            .with_metrics(calls.clone());
        let schedule_endpoints = scheduler.endpoints(between.token());
        let schedule_endpoints = schedule_endpoints.with_metrics(calls.clone());
        if let Some(socket) = sockets.grpc {
            let all = schedule_endpoints.clone().with(watcher.service());
            host.serve(all, socket, inside);
        }
        inside.spawn(
            "watcher's server",
            watch_endpoints.serve_memory(watch_listener, inside.until_shutdown()),
        );
        inside.spawn(
            "scheduler's server",
            schedule_endpoints.serve_memory(schedule_listener, inside.until_shutdown()),
        );
        inside.spawn("watcher", watcher.run(inside.token().clone()));
        between.spawn("scheduler", scheduler.run(between.token().clone()));
        if let Some(entry) = entry {
            entry.keep(outside);
        }
        if let Some(api) = sockets.api {
            let gateway = gateway.with_page_listener(sockets.page);
            outside.spawn("gateway", gateway.serve(api, outside.token().clone()));
        }
        let _lock = worker.begin(&host, outside.token().clone());
        host.observation.readiness.ready();

        host.stopping("stopping").await;
        if mode == StartMode::Daemon {
            wiring::log_api_end();
            wiring::log_monitoring_end();
            wiring::log_watching_end();
        }
        host.end(Some(&database)).await
    }
}
