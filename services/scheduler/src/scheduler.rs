//! The scheduler as a whole.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cts_core::{Clock, Digest, TaskDefinition, TaskSpec, Verdict};
use cts_proto::bundle::v1::bundle_service_server::BundleServiceServer;
use cts_proto::cluster::v1::cluster_service_server::ClusterServiceServer;
use cts_proto::log::v1::log_service_server::LogServiceServer;
use cts_proto::run::v1::run_service_server::RunServiceServer;
use cts_proto::task::v1::task_service_server::TaskServiceServer;
use cts_proto::worker::v1::worker_service_server::WorkerServiceServer;
use cts_rpc::{Endpoints, HealthSwitch, Peers};
use cts_store::{Hint, LeaderError, Member, Retention, Store, StoreError, Unchanged};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::configuration;
use crate::configuration::OwnConfiguration;
use crate::configuration::compatibility;
use crate::grpc::bundle_service::BundleEndpoint;
use crate::grpc::cluster_service::ClusterEndpoint;
use crate::grpc::log_service::LogEndpoint;
use crate::grpc::run_service::RunEndpoint;
use crate::grpc::task_service::TaskEndpoint;
use crate::grpc::worker_service::WorkerEndpoint;
use crate::identities::Identities;
use crate::leader::Leader;
use crate::leader::election::{Joined, LeaderElection, join};
use crate::leader::mode::Mode;
use crate::leader::untaken::Untaken;
use crate::notifier::Notifier;
use crate::notifier::{followed_logs, hints, queue_watch};
use crate::tasks::modules::Modules;
use crate::tasks::reader::TaskReader;
use crate::tasks::{READINGS, TaskCommands};

/// Starts of a program that is started over and over do not try a failed task again more often than this.
const HASTENED_AT_MOST_EVERY: Duration = Duration::from_mins(10);

/// Settings of the scheduler.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is done with the tasks.
    pub mode: Mode,
    /// Tasks of the configuration, in its order.
    pub tasks: Vec<TaskSpec>,
    /// Life of a run's lease that is not renewed.
    pub lease: Duration,
    /// Whether other processes use the store.
    pub sharing: Sharing,
    /// How this replica registers.
    pub member: Member,
    /// Life of the leadership that is not renewed.
    pub leadership: Duration,
    /// Name of the cluster, where high availability is configured.
    pub cluster_name: Option<String>,
    /// What the first input of each task means, after a start or a takeover, that is applied already.
    pub first_pass: Unchanged,
    /// How local modules reach workers.
    pub modules: Modules,
    /// What else the members of a cluster should have in common, by name, for people; without secrets.
    pub settings: BTreeMap<String, String>,
    /// Which ended runs are kept.
    pub retention: Retention,
    /// How long a requested run waits for the data that it needs.
    pub input_timeout: Duration,
    /// Forget all tasks with what happened to them when this replica becomes the leader for the first time, so
    /// that only those of its configuration are left (`-reset-storage`).
    pub reset_storage: bool,
}

/// Who uses the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// This process only, so that every lease found at the start is dead.
    Alone,
    /// Other replicas too.
    Shared,
}

impl Options {
    /// The usual settings for these tasks in a process that has its store and modules for itself.
    pub fn alone(tasks: Vec<TaskSpec>, member: Member) -> Self {
        Self {
            mode: Mode::Daemon,
            tasks,
            lease: Duration::from_secs(30),
            sharing: Sharing::Alone,
            member,
            leadership: Duration::from_secs(15),
            cluster_name: None,
            first_pass: Unchanged::AsTaskSays,
            modules: Modules::InPlace,
            settings: BTreeMap::new(),
            retention: Retention::of_any_age(500),
            input_timeout: Duration::from_mins(1),
            reset_storage: false,
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
    /// The watchers.
    pub watchers: Peers,
    /// Wall-clock time for what is shown.
    pub clock: Arc<dyn Clock>,
    /// Ids and jitter.
    pub identities: Arc<dyn Identities>,
    /// Digests of settings.
    pub settings_digest: SettingsDigest,
    /// Makes tasks of what callers declare.
    pub task_reader: TaskReader,
}

/// The scheduler cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The state at the start could not be read or written.
    #[error("cannot prepare the scheduler's state")]
    Prepare(#[source] StoreError),
    /// Another process has the member id, and lives.
    #[error(
        "another process has the id {id:?} and is alive; give each member an `id` of its own, or stop the other one"
    )]
    IdInUse {
        /// The id.
        id: String,
    },
}

/// One replica of the scheduler. Its services can be served before it runs.
#[derive(Debug)]
pub struct Scheduler {
    options: Options,
    leader: Leader,
    store: Arc<dyn Store>,
    identities: Arc<dyn Identities>,
    task_reader: TaskReader,
    outgoing: Option<mpsc::Receiver<Hint>>,
    /// What must not end with the call that asked for it.
    grants: TaskTracker,
    health: HealthSwitch,
    started: Instant,
    first: Joined,
    /// It is not certain yet whether the configuration of this member takes effect.
    is_open: bool,
}

impl Scheduler {
    /// Takes back leases of the dead, if this process has the store for itself, becomes a member, which takes
    /// up to [`Options::leadership`] if its id was in use a moment ago, and, if it leads, brings the stored tasks
    /// in line with the configuration. After this the endpoints may be served. Safe to cancel.
    pub async fn prepare(
        mut options: Options,
        dependencies: Dependencies,
    ) -> Result<Self, RunError> {
        let Dependencies {
            store,
            watchers,
            clock,
            identities,
            settings_digest,
            task_reader,
        } = dependencies;
        let tasks_in_one_round = if options.mode.is_one_round() {
            options.tasks.len()
        } else {
            0
        };
        let (notifier, outgoing) = match options.sharing {
            Sharing::Alone => (
                Notifier::alone(Arc::clone(&clock), tasks_in_one_round),
                None,
            ),
            Sharing::Shared => {
                let (notifier, outgoing) =
                    Notifier::shared(Arc::clone(&clock), options.member.id.clone());
                (notifier, Some(outgoing))
            }
        };
        if options.sharing == Sharing::Alone {
            for requeued in store.release_all().await.map_err(RunError::Prepare)? {
                tracing::info!(
                    target: "ctrl",
                    task_name = %requeued.task,
                    run.id = %requeued.run,
                    run.status = requeued.status.as_str(),
                    "a run was cut off"
                );
            }
        }
        // What is begun once is not to go on with what was left before.
        if !options.mode.is_one_round() {
            let hastened = store.hasten_retries(HASTENED_AT_MOST_EVERY).await;
            for task in hastened.map_err(RunError::Prepare)? {
                tracing::info!(target: "ctrl", task_name = %task, "a failed task is tried again because the program was started");
            }
        }
        let started = Instant::now();
        let mut first = join(&*store, &options.member, options.leadership).await?;
        let own = OwnConfiguration::read(
            Arc::clone(&store),
            options.member.clone(),
            options.leadership,
            &options.modules,
            &options.tasks,
            options.settings.clone(),
        );
        let own = own.await.map_err(RunError::Prepare)?;
        // It has them from here on, with their modules.
        options.tasks = Vec::new();
        let registered = if options.mode.is_one_round() {
            let registered = own.register_for_good().await;
            // That may have taken longer than a lease.
            first = join(&*store, &options.member, options.leadership).await?;
            registered
        } else {
            own.register().await
        };
        let registered = registered.map_err(RunError::Prepare)?;
        let leader = Leader {
            store: Arc::clone(&store),
            watchers,
            identities: Arc::clone(&identities),
            settings_digest,
            notifier: Arc::new(notifier),
            recent_inputs: Arc::default(),
            own,
            mode: options.mode,
            round: Arc::default(),
            first_pass: options.first_pass,
            lease: options.lease,
            retention: options.retention,
            input_timeout: options.input_timeout,
            clock,
            reset: Arc::new(AtomicBool::new(options.reset_storage)),
        };
        if first.leadership.mine {
            match leader.take_over_tasks(first.leadership.epoch).await {
                // The replica that has taken over meanwhile does it.
                Ok(_) | Err(LeaderError::Deposed { .. }) => {}
                Err(LeaderError::Store(error)) => return Err(RunError::Prepare(error)),
            }
        }
        Ok(Self {
            options,
            leader,
            store,
            identities,
            task_reader,
            outgoing,
            grants: TaskTracker::new(),
            health: HealthSwitch::new(),
            started,
            first,
            is_open: registered.verdict == Verdict::Open,
        })
    }

    /// The gRPC services of the scheduler. Waiting calls end when `shutdown` is cancelled.
    ///
    /// They may be served and used before [`Scheduler::run`]: a caller that follows runs by then misses
    /// none of those that this process asks for.
    pub fn endpoints(&self, shutdown: &CancellationToken) -> Endpoints {
        let store = &self.store;
        let notifier = &self.leader.notifier;
        let runs = RunEndpoint {
            store: Arc::clone(store),
            identities: Arc::clone(&self.identities),
            notifier: Arc::clone(notifier),
            recent_inputs: Arc::clone(&self.leader.recent_inputs),
            mode: self.options.mode,
            lease: self.options.lease,
            leadership: self.options.leadership,
            clock: Arc::clone(&self.leader.clock),
            shutdown: shutdown.clone(),
            grants: self.grants.clone(),
        };
        Endpoints::new()
            .with_health(self.health.clone())
            .with(BundleServiceServer::new(BundleEndpoint {
                store: Arc::clone(store),
            }))
            .with(ClusterServiceServer::new(ClusterEndpoint {
                store: Arc::clone(store),
                cluster_name: self.options.cluster_name.clone(),
                member_id: self.options.member.id.clone(),
                time_to_live: self.options.leadership,
                health: self.health.clone(),
            }))
            .with(LogServiceServer::new(LogEndpoint {
                store: Arc::clone(store),
                notifier: Arc::clone(notifier),
                shutdown: shutdown.clone(),
            }))
            .with(RunServiceServer::new(runs.clone()))
            .with(TaskServiceServer::new(TaskEndpoint {
                store: Arc::clone(store),
                work: self.task_work(shutdown),
                mode: self.options.mode,
                clock: Arc::clone(&self.leader.clock),
                leadership: self.options.leadership,
                detached: self.grants.clone(),
            }))
            .with(WorkerServiceServer::new(WorkerEndpoint {
                store: Arc::clone(store),
                notifier: Arc::clone(notifier),
                runs,
            }))
    }

    fn task_work(&self, shutdown: &CancellationToken) -> TaskCommands {
        TaskCommands {
            store: Arc::clone(&self.store),
            notifier: Arc::clone(&self.leader.notifier),
            identities: Arc::clone(&self.identities),
            modules: self.options.modules.clone(),
            readings: Arc::new(Semaphore::new(READINGS)),
            reader: self.task_reader.clone(),
            shutdown: shutdown.clone(),
        }
    }

    /// Runs the scheduler until `shutdown` is cancelled.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let Self {
            options,
            leader,
            store,
            outgoing,
            grants,
            health,
            started,
            first,
            is_open,
            ..
        } = self;
        let notifier = Arc::clone(&leader.notifier);
        let untaken = Untaken::new(
            Arc::clone(&store),
            options.member.id.clone(),
            options.leadership,
        );
        let election = LeaderElection {
            store: Arc::clone(&store),
            notifier: Arc::clone(&notifier),
            member: options.member,
            time_to_live: options.leadership,
            started,
            health,
        };
        let own = leader.own.clone();
        let begin = move |term| -> crate::leader::election::LeaderTasks {
            JoinSet::from_iter([leader.clone().serve(term)])
        };
        let beside = async {
            tokio::join!(
                queue_watch::watch(Arc::clone(&store), Arc::clone(&notifier), untaken),
                followed_logs::watch(Arc::clone(&store), Arc::clone(&notifier)),
                hints::listen(Arc::clone(&store), Arc::clone(&notifier)),
                async {
                    if let Some(outgoing) = outgoing {
                        hints::publish(Arc::clone(&store), outgoing).await;
                    }
                },
                async {
                    if !options.mode.is_one_round() {
                        configuration::watch(own, is_open).await;
                    }
                },
                async {
                    if options.sharing == Sharing::Shared {
                        compatibility::check(Arc::clone(&store)).await;
                    }
                },
            )
        };
        let campaigning = election.run(first, begin, shutdown.clone());
        tokio::join!(campaigning, shutdown.run_until_cancelled(beside));
        grants.close();
        grants.wait().await;
        Ok(())
    }
}
