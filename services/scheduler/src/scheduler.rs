//! The scheduler as a whole.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{Chain, Clock, Digest, TaskDefinition, TaskSpec};
use cts_proto::log::v1::log_service_server::LogServiceServer;
use cts_proto::run::v1::run_service_server::RunServiceServer;
use cts_proto::task::v1::task_service_server::TaskServiceServer;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::Endpoints;
use cts_store::{Store, StoreError};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::changes::Changes;
use crate::desk::Desk;
use crate::duty::Duty;
use crate::identities::Identities;
use crate::log_service::LogEndpoint;
use crate::recent_inputs::RecentInputs;
use crate::run_service::RunEndpoint;
use crate::task_service::TaskEndpoint;

/// Settings of the scheduler.
#[derive(Debug, Clone)]
pub struct Options {
    /// Tasks of the configuration, in its order.
    pub tasks: Vec<TaskSpec>,
    /// Life of a lease that is not renewed.
    pub lease: Duration,
    /// No other process uses the store, so that every lease found at the start is dead.
    pub sole_user: bool,
    /// Ended runs kept of each task.
    pub runs_kept: u32,
}

impl Options {
    /// The usual settings for these tasks.
    pub fn new(tasks: Vec<TaskSpec>) -> Self {
        Self {
            tasks,
            lease: Duration::from_secs(30),
            sole_user: false,
            runs_kept: 500,
        }
    }
}

/// Digests the driver, backend and provider settings that runs of a task use; passed in, because those
/// settings are no business of the scheduler's.
#[derive(Clone)]
pub struct SettingsDigest(Arc<dyn Fn(&TaskDefinition) -> Digest + Send + Sync>);

impl SettingsDigest {
    /// Wraps a function of a task; equal settings must give equal digests.
    pub fn new(digest: impl Fn(&TaskDefinition) -> Digest + Send + Sync + 'static) -> Self {
        Self(Arc::new(digest))
    }

    pub(crate) fn of(&self, definition: &TaskDefinition) -> Digest {
        (self.0)(definition)
    }
}

impl fmt::Debug for SettingsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SettingsDigest")
    }
}

/// What the scheduler needs from outside.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// Task, run and event state.
    pub store: Arc<dyn Store>,
    /// The watcher.
    pub watcher: WatchServiceClient<Channel>,
    /// Wall-clock time for what is shown.
    pub clock: Arc<dyn Clock>,
    /// Ids and jitter.
    pub identities: Arc<dyn Identities>,
    /// Digests of settings.
    pub settings_digest: SettingsDigest,
}

/// The scheduler cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The state at the start could not be read or written.
    #[error("cannot prepare the scheduler's state")]
    Prepare(#[source] StoreError),
}

/// See the crate.
#[derive(Debug)]
pub struct Scheduler {
    options: Options,
    dependencies: Dependencies,
    changes: Arc<Changes>,
    recent_inputs: Arc<RecentInputs>,
    desk: Desk,
}

impl Scheduler {
    /// Brings the stored tasks in line with the configuration and takes back leases of the dead. After
    /// this the endpoints may be served.
    pub async fn prepare(options: Options, dependencies: Dependencies) -> Result<Self, RunError> {
        let store = &dependencies.store;
        if options.sole_user {
            for requeued in store.release_all().await.map_err(RunError::Prepare)? {
                tracing::info!(
                    target: "ctrl",
                    task_name = %requeued.task,
                    run.id = %requeued.run,
                    "a run was cut off and goes back to the queue"
                );
            }
        }
        store
            .replace_config_tasks(&options.tasks)
            .await
            .map_err(RunError::Prepare)?;
        let tasks = store.tasks().await.map_err(RunError::Prepare)?;
        let desk = Desk::new(tasks.iter().map(|task| &task.spec));
        let changes = Arc::new(Changes::new(Arc::clone(&dependencies.clock)));
        Ok(Self {
            options,
            dependencies,
            changes,
            recent_inputs: Arc::default(),
            desk,
        })
    }

    /// The gRPC services of the scheduler. Waiting calls end when `shutdown` is cancelled.
    pub fn endpoints(&self, shutdown: &CancellationToken) -> Endpoints {
        let store = &self.dependencies.store;
        Endpoints::new()
            .with(TaskServiceServer::new(TaskEndpoint {
                store: Arc::clone(store),
            }))
            .with(RunServiceServer::new(RunEndpoint {
                store: Arc::clone(store),
                identities: Arc::clone(&self.dependencies.identities),
                changes: Arc::clone(&self.changes),
                recent_inputs: Arc::clone(&self.recent_inputs),
                lease: self.options.lease,
                shutdown: shutdown.clone(),
            }))
            .with(LogServiceServer::new(LogEndpoint {
                store: Arc::clone(store),
                shutdown: shutdown.clone(),
            }))
    }

    /// Does the scheduler's duties until `shutdown` is cancelled.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let store = Arc::clone(&self.dependencies.store);
        let reaping = reap(
            Arc::clone(&store),
            Arc::clone(&self.changes),
            self.options.lease / 6,
            shutdown.clone(),
        );
        let pruning = prune(store, self.options.runs_kept, shutdown.clone());
        let duty = Duty {
            desk: self.desk,
            store: self.dependencies.store,
            watcher: self.dependencies.watcher,
            identities: self.dependencies.identities,
            settings_digest: self.dependencies.settings_digest,
            changes: self.changes,
            recent_inputs: self.recent_inputs,
            started: Instant::now(),
        };
        tokio::join!(duty.run(shutdown), reaping, pruning);
        Ok(())
    }
}

/// Takes back leases whose holders have fallen silent.
async fn reap(
    store: Arc<dyn Store>,
    changes: Arc<Changes>,
    every: Duration,
    shutdown: CancellationToken,
) {
    let mut ticks = tokio::time::interval(every.max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = ticks.tick() => {}
        }
        match store.reap().await {
            Ok(requeued) => {
                for run in requeued {
                    tracing::warn!(task_name = %run.task, run.id = %run.run, "a lease expired");
                    changes.tell(run.run, &run.task, run.status);
                    changes.queue_changed();
                }
            }
            Err(error) => {
                tracing::error!(error = %Chain(&error), "cannot take back expired leases");
            }
        }
    }
}

/// Forgets old runs, so that the database does not grow for ever.
async fn prune(store: Arc<dyn Store>, keep: u32, shutdown: CancellationToken) {
    let mut ticks = tokio::time::interval(Duration::from_hours(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is immediate; the start has better things to do.
    ticks.tick().await;
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = ticks.tick() => {}
        }
        match store.prune(keep).await {
            Ok(0) => {}
            Ok(runs) => tracing::info!(runs, "old runs forgotten"),
            Err(error) => tracing::error!(error = %Chain(&error), "cannot forget old runs"),
        }
    }
}
