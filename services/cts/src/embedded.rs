//! All four services in one process, talking through their generated clients over in-memory transports.
//!
//! Over SQLite the process has everything for itself. Over Postgres it is one of several equal ones, and
//! the rules of the cluster hold: leases, guard, bundles.

use std::convert::Infallible;

use cts_config::Config;
use cts_gateway::Gateway;
use cts_rpc::{Endpoints, MemoryListener, Peers, memory_transport};
use cts_runtime::Tasks;
use cts_scheduler::Scheduler;
use cts_watcher::{Options as WatcherOptions, Watcher};
use cts_worker::Orders;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::database::Database;
use crate::failure::Failure;
use crate::links::Links;
use crate::parts::{self, WorkerParts, consul_client, find_terraform};
use crate::settings::{self, Shape};
use crate::surroundings::Surroundings;

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
    links: Links,
    database: Database,
    watcher: Watcher,
    watch_listener: MemoryListener,
    scheduler: Scheduler,
    schedule_listener: MemoryListener,
    worker: WorkerParts,
    gateway: Gateway,
    /// Ends the services that others need to end well.
    inner: CancellationToken,
}

impl Embedded {
    /// Checks Consul and Terraform, then opens the database and puts everything together. Nothing is
    /// written before the checks have passed. Must be called inside a runtime.
    pub async fn prepare(
        config: &Config,
        surroundings: &Surroundings,
        sockets: Sockets,
    ) -> Result<Self, Failure> {
        let links = Links::new(&config.services).await?;
        let shape = if config.database.is_some() {
            Shape::Cluster
        } else {
            Shape::Embedded
        };
        if shape == Shape::Cluster || config.high_availability.is_some() {
            config.driver.require_shared_backend()?;
        }
        let consul = consul_client(config).await?;
        let executable = find_terraform(config, surroundings).await?;
        let database = Database::open(config, surroundings).await?;

        let (watch_listener, watch_channel) = memory_transport();
        let (schedule_listener, schedule_channel) = memory_transport();
        let watcher = Watcher::new(&WatcherOptions::default(), consul);
        let inner = CancellationToken::new();
        // The worker's directory is locked before any run can be granted.
        let worker = parts::worker(
            config,
            surroundings,
            executable,
            settings::worker_directory(config),
            schedule_channel.clone(),
            shape,
        )?;
        let watchers = Peers::fixed(watch_channel);
        let scheduler = parts::scheduler(config, surroundings, &database, watchers, shape).await?;
        let gateway = parts::gateway(config, schedule_channel, shape);
        Ok(Self {
            sockets,
            links,
            database,
            watcher,
            watch_listener,
            scheduler,
            schedule_listener,
            worker,
            gateway,
            inner,
        })
    }

    /// Runs until `shutdown` is cancelled, or a part fails.
    ///
    /// The end goes from the outside in: API and worker first, which interrupts Terraform gently and
    /// reports what became of it, then the scheduler and the watcher, then the database.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Failure> {
        let Self {
            sockets,
            links,
            database,
            watcher,
            watch_listener,
            scheduler,
            schedule_listener,
            worker,
            gateway,
            inner,
        } = self;
        let outside = Tasks::new(shutdown.clone());
        let inside = Tasks::new(inner.clone());
        links.follow_files(&inside, &inner);

        let watch_endpoints = Endpoints::new().with(watcher.service());
        let schedule_endpoints = scheduler.endpoints(&inner);
        if let Some(socket) = sockets.grpc {
            let all = schedule_endpoints.clone().with(watcher.service());
            links.serve(all, socket, &inside, &inner);
        }
        inside.spawn(
            "watcher's server",
            watch_endpoints.serve_memory(watch_listener, inner.clone().cancelled_owned()),
        );
        inside.spawn(
            "scheduler's server",
            schedule_endpoints.serve_memory(schedule_listener, inner.clone().cancelled_owned()),
        );
        let watching = watcher.run(inner.clone());
        inside.spawn("watcher", async {
            watching.await;
            Ok::<_, Infallible>(())
        });
        inside.spawn("scheduler", scheduler.run(inner.clone()));
        let WorkerParts {
            worker,
            processes,
            guard,
            _lock,
        } = worker;
        if let Some(guard) = guard {
            let keeping = guard.keep(inner.clone());
            inside.spawn("guard", async {
                keeping.await;
                Ok::<_, Infallible>(())
            });
        }
        outside.spawn("gateway", gateway.serve(sockets.api, shutdown.clone()));
        let orders = Orders {
            drain: shutdown.clone(),
            stop: shutdown.clone(),
        };
        outside.spawn("worker", worker.run(orders));

        tokio::select! {
            () = shutdown.cancelled() => {}
            () = inner.cancelled() => shutdown.cancel(),
        }
        let outer_end = outside.wait().await;
        processes.close();
        processes.wait().await;
        inner.cancel();
        let inner_end = inside.wait().await;
        database.close().await;
        inner_end?;
        outer_end?;
        Ok(())
    }
}
