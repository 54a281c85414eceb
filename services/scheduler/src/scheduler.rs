//! The scheduler as a whole.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cts_access::Refusals;
use cts_core::Verdict;
use cts_core::lease::PlanKey;
use cts_core::settings::ClusterKey;
use cts_proto::access::v1::access_service_server::AccessServiceServer;
use cts_proto::access::v1::session_service_server::SessionServiceServer;
use cts_proto::bundle::v1::bundle_service_server::BundleServiceServer;
use cts_proto::cluster::v1::cluster_service_server::ClusterServiceServer;
use cts_proto::cluster::v1::follow_service_server::FollowServiceServer;
use cts_proto::log::v1::log_service_server::LogServiceServer;
use cts_proto::run::v1::approval_service_server::ApprovalServiceServer;
use cts_proto::run::v1::plan_service_server::PlanServiceServer;
use cts_proto::run::v1::run_service_server::RunServiceServer;
use cts_proto::task::v1::task_service_server::TaskServiceServer;
use cts_proto::worker::v1::worker_service_server::WorkerServiceServer;
use cts_rpc::{Endpoints, HealthSwitch};
use cts_store::{Hint, LeaderError, StoredSessions};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::approval::inspections::Inspections;
use crate::audit::refusals::IntoStore;
use crate::audit::{audit_file, retention};
use crate::check_pass::CheckPass;
use crate::configuration;
use crate::configuration::compatibility;
use crate::configuration::{FileTasks, OwnConfiguration};
use crate::explain::Board;
use crate::grpc::access_service::AccessEndpoint;
use crate::grpc::approval_service::ApprovalEndpoint;
use crate::grpc::bundle_service::BundleEndpoint;
use crate::grpc::cluster_service::ClusterEndpoint;
use crate::grpc::follow::{Answers, FollowEndpoint};
use crate::grpc::last_heartbeats::LastHeartbeats;
use crate::grpc::lease_proofs::LeaseProofs;
use crate::grpc::log_service::LogEndpoint;
use crate::grpc::overview::Overviews;
use crate::grpc::plan_service::PlanEndpoint;
use crate::grpc::registrations::Registrations;
use crate::grpc::run_service::RunEndpoint;
use crate::grpc::session_service::SessionEndpoint;
use crate::grpc::task_service::TaskEndpoint;
use crate::grpc::worker_service::WorkerEndpoint;
use crate::leader::Leader;
use crate::leader::election::{Joined, LeaderElection, join};
use crate::leader::first_pass::FirstPass;
use crate::leader::leader_context::LeaderContext;
use crate::metrics::Metrics;
use crate::mode::Mode;
use crate::notifier::Notifier;
use crate::notifier::{foreign_writes, hints, log_follower, queue_watch};
use crate::options::{Dependencies, Options, RunError, Sharing};
use crate::run_spans::RunSpans;
use crate::tasks::disabled_checks::DisabledChecks;
use crate::tasks::module_again::ModuleAgain;
use crate::tasks::reader::TaskReader;
use crate::tasks::run_requests::RunRequests;
use crate::tasks::{READINGS, TaskCommands};
use crate::tokens::Tokens;
use crate::tokens::followed::Followed;
use crate::unschedulable::Unschedulable;

/// One replica of the scheduler. Its services can be served before it runs.
#[derive(Debug)]
pub struct Scheduler {
    options: Options,
    leader: Leader,
    task_reader: TaskReader,
    cluster_key: Option<ClusterKey>,
    tokens: Tokens,
    sessions: Followed<StoredSessions>,
    refusals: Refusals,
    proofs: LeaseProofs,
    plan_key: PlanKey,
    inspections: Inspections,
    outgoing: Option<mpsc::Receiver<Hint>>,
    /// Grants under way, which must not end with the calls that requested them.
    grants: TaskTracker,
    health: HealthSwitch,
    started: Instant,
    first: Joined,
    files: FileTasks,
}

impl Scheduler {
    /// Takes back leases of dead processes if this process has the store for itself, and becomes a member, which takes
    /// up to [`Options::leadership`] if its id was in use a moment ago. If this process leads, brings the stored tasks
    /// in line with the configuration. After this the endpoints may be served. Safe to cancel.
    pub async fn prepare(
        mut options: Options,
        dependencies: Dependencies,
    ) -> Result<Self, RunError> {
        let Dependencies {
            store,
            watchers,
            clock,
            next_tick,
            identities,
            task_reader,
            signals,
        } = dependencies;
        let metrics = Arc::new(Metrics::new(&signals));
        let tasks_of_a_pass = match options.mode {
            Mode::Daemon => 0,
            Mode::OnRequest => options.tasks.len(),
        };
        let (notifier, outgoing) = match options.sharing {
            Sharing::Alone => (Notifier::alone(Arc::clone(&clock), tasks_of_a_pass), None),
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
        let cluster_key = if options.hands_out_key {
            let proposed = identities.cluster_key();
            let key = store.cluster_key(&proposed).await;
            Some(key.map_err(RunError::Prepare)?)
        } else {
            None
        };
        let proofs = LeaseProofs {
            key: store
                .lease_key(&identities.lease_key())
                .await
                .map_err(RunError::Prepare)?,
            required: options.requires_proofs,
        };
        let plan_key = store.plan_key(&identities.plan_key()).await;
        let plan_key = plan_key.map_err(RunError::Prepare)?;
        let started = Instant::now();
        let mut first = join(&*store, &options.member, options.leadership).await?;
        let own = OwnConfiguration::read(
            Arc::clone(&store),
            options.member.clone(),
            options.leadership,
            &options.modules,
            &options.tasks,
            options.settings.clone(),
            (options.fleet_max_shrink, options.approvals),
        );
        let own = own.await.map_err(RunError::Prepare)?;
        // From here on `own` has the tasks, with their modules.
        options.tasks = Vec::new();
        let registered = if options.mode == Mode::OnRequest {
            let registered = own.register_for_good().await;
            // Becoming a member may have taken longer than a lease.
            first = join(&*store, &options.member, options.leadership).await?;
            registered
        } else {
            own.register().await
        };
        let registered = registered.map_err(RunError::Prepare)?;
        let spans = RunSpans {
            traces: signals.traces,
            store: Arc::clone(&store),
            watchers: watchers.clone(),
        };
        let leader = Leader {
            context: Arc::new(LeaderContext {
                store: Arc::clone(&store),
                watchers,
                identities,
                modules: ModuleAgain::new(options.modules.clone(), task_reader.clone()),
                workers: options.workers,
                notifier: Arc::new(notifier.measured(Arc::clone(&metrics))),
                recent_inputs: Arc::default(),
                first_pass: Arc::new(FirstPass::new(options.mode)),
                check_pass: Arc::new(CheckPass::new(options.mode)),
                mode: options.mode,
                lease: options.lease,
                retention: options.retention,
                logs_kept: options.logs_kept,
                plans_kept: options.plans_kept,
                input_timeout: options.input_timeout,
                clock,
                next_tick,
                metrics,
                spans,
            }),
            own,
            first_pass: options.first_pass,
            reset: Arc::new(AtomicBool::new(options.reset_storage)),
        };
        if first.leadership.mine {
            match leader.take_over_tasks(first.leadership.epoch).await {
                // If another replica has taken over, that replica does the work.
                Ok(_) | Err(LeaderError::Deposed { .. }) => {}
                Err(LeaderError::Store(error)) => return Err(RunError::Prepare(error)),
            }
        }
        let is_open = registered.verdict == Verdict::Open;
        // A pass does not go on with runs that were left before.
        if options.mode == Mode::Daemon && !is_open {
            let retried = leader.own.retry_failed_now().await;
            retried.map_err(RunError::Prepare)?;
        }
        let notifier = Arc::clone(&leader.context.notifier);
        let modules = options.modules.clone();
        let files = FileTasks::new(leader.own.clone(), modules, is_open, notifier);
        let inspections = Inspections::new(Arc::clone(&leader.context.store));
        Ok(Self {
            options,
            inspections,
            leader,
            task_reader,
            cluster_key,
            tokens: Tokens::default(),
            sessions: Followed::default(),
            refusals: Refusals::default(),
            proofs,
            plan_key,
            outgoing,
            grants: TaskTracker::new(),
            health: HealthSwitch::new(),
            started,
            first,
            files,
        })
    }

    /// The gRPC services of the scheduler. Waiting calls end when `shutdown` is cancelled.
    pub fn endpoints(&self, shutdown: &CancellationToken) -> Endpoints {
        let LeaderContext {
            store,
            notifier,
            identities,
            ..
        } = &*self.leader.context;
        let registrations = Registrations::new(Arc::clone(store), &self.proofs);
        let runs = RunEndpoint {
            store: Arc::clone(store),
            registrations: registrations.clone(),
            identities: Arc::clone(identities),
            notifier: Arc::clone(notifier),
            recent_inputs: Arc::clone(&self.leader.context.recent_inputs),
            first_pass: Arc::clone(&self.leader.context.first_pass),
            mode: self.options.mode,
            lease: self.options.lease,
            leadership: self.options.leadership,
            clock: Arc::clone(&self.leader.context.clock),
            proofs: self.proofs.clone(),
            plan_key: self.plan_key.clone(),
            spans: self.leader.context.spans.clone(),
            metrics: Arc::clone(&self.leader.context.metrics),
            inspections: self.inspections.clone(),
            shutdown: shutdown.clone(),
            grants: self.grants.clone(),
            cause_lists: Arc::new(Semaphore::new(2)),
        };
        let board = Board::new(
            Arc::clone(store),
            Arc::clone(&self.leader.context.clock),
            identities.incarnation(),
            self.options.leadership,
        );
        let overviews = Arc::new(Overviews::new(board.clone()));
        let answers = Answers::new(
            (board.clone(), runs.clone()),
            (Arc::clone(&overviews), self.leader.context.watchers.clone()),
            identities.incarnation(),
        );
        Endpoints::new()
            .with_health(self.health.clone())
            .with(AccessServiceServer::new(AccessEndpoint {
                store: Arc::clone(store),
                tokens: self.tokens.clone(),
                shutdown: shutdown.clone(),
            }))
            .with(ApprovalServiceServer::new(ApprovalEndpoint::new(
                Arc::clone(store),
                Arc::clone(notifier),
                Arc::clone(identities),
                self.proofs.clone(),
            )))
            .with(BundleServiceServer::new(BundleEndpoint {
                store: Arc::clone(store),
                proofs: self.proofs.clone(),
            }))
            .with(ClusterServiceServer::new(ClusterEndpoint {
                store: Arc::clone(store),
                cluster_name: self.options.cluster_name.clone(),
                member_id: self.options.member.id.clone(),
                time_to_live: self.options.leadership,
                watchers: self.leader.context.watchers.clone(),
                health: self.health.clone(),
                overviews,
                clock: Arc::clone(&self.leader.context.clock),
                times: Mutex::default(),
                notifier: Arc::clone(notifier),
            }))
            .with(FollowServiceServer::new(FollowEndpoint {
                answers: Arc::new(answers),
                shutdown: shutdown.clone(),
            }))
            .with(LogServiceServer::new(LogEndpoint {
                store: Arc::clone(store),
                notifier: Arc::clone(notifier),
                proofs: self.proofs.clone(),
                shutdown: shutdown.clone(),
            }))
            .with(PlanServiceServer::new(PlanEndpoint::new(
                Arc::clone(store),
                self.proofs.clone(),
            )))
            .with(RunServiceServer::new(runs.clone()))
            .with(SessionServiceServer::new(SessionEndpoint {
                store: Arc::clone(store),
                notifier: Arc::clone(notifier),
                sessions: self.sessions.clone(),
                shutdown: shutdown.clone(),
            }))
            .with(TaskServiceServer::new(TaskEndpoint {
                store: Arc::clone(store),
                work: self.task_work(shutdown),
                board,
                clock: Arc::clone(&self.leader.context.clock),
                leadership: self.options.leadership,
                detached: self.grants.clone(),
            }))
            .with(WorkerServiceServer::new(WorkerEndpoint {
                store: Arc::clone(store),
                notifier: Arc::clone(notifier),
                runs,
                registrations,
                last_heartbeats: LastHeartbeats::default(),
                cluster_key: self.cluster_key.clone(),
            }))
    }

    /// The health that this scheduler reports: it serves while its database answers.
    pub fn health(&self) -> HealthSwitch {
        self.health.clone()
    }

    /// The tokens of the store; they are read while this runs.
    pub fn tokens(&self) -> Tokens {
        self.tokens.clone()
    }

    /// Takes calls that are refused, and records them while this runs.
    pub fn refusals(&self) -> Refusals {
        self.refusals.clone()
    }

    /// A way to make disabled tasks ready in a pass.
    pub fn disabled_checks(&self) -> DisabledChecks {
        DisabledChecks {
            pass: Arc::clone(&self.leader.context.check_pass),
        }
    }

    /// The task blocks of the files of this member, for files that are read again.
    pub fn file_tasks(&self) -> FileTasks {
        self.files.clone()
    }

    /// A way to request runs of the stored tasks from within this process.
    pub fn run_requests(&self) -> RunRequests {
        RunRequests {
            store: Arc::clone(&self.leader.context.store),
            notifier: Arc::clone(&self.leader.context.notifier),
            identities: Arc::clone(&self.leader.context.identities),
        }
    }

    fn task_work(&self, shutdown: &CancellationToken) -> TaskCommands {
        TaskCommands {
            store: Arc::clone(&self.leader.context.store),
            notifier: Arc::clone(&self.leader.context.notifier),
            identities: Arc::clone(&self.leader.context.identities),
            modules: self.options.modules.clone(),
            readings: Arc::new(Semaphore::new(READINGS)),
            reader: self.task_reader.clone(),
            inspections: self.inspections.clone(),
            requested_by: None,
            shutdown: shutdown.clone(),
        }
    }

    /// Runs the scheduler until `shutdown` is cancelled.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let Self {
            options,
            leader,
            tokens,
            sessions,
            refusals,
            outgoing,
            grants,
            health,
            started,
            first,
            files,
            ..
        } = self;
        let LeaderContext {
            store, notifier, ..
        } = &*leader.context;
        let (store, notifier) = (Arc::clone(store), Arc::clone(notifier));
        let unschedulable = Unschedulable::new(
            Arc::clone(&store),
            options.member.id.clone(),
            options.leadership,
        );
        let metrics = Arc::clone(&leader.context.metrics);
        let scheduler = options.member.incarnation;
        let election = LeaderElection {
            store: Arc::clone(&store),
            notifier: Arc::clone(&notifier),
            member: options.member,
            time_to_live: options.leadership,
            started,
            metrics: Arc::clone(&metrics),
            health,
        };
        let audit = options.audit;
        let recording = shutdown.clone().cancelled_owned();
        let recorded = refusals.run(IntoStore(Arc::clone(&store)), recording);
        let begin = move |term| -> crate::leader::election::LeaderTasks {
            std::iter::once(leader.clone().serve(term)).collect()
        };
        let beside = async {
            tokio::join!(
                queue_watch::watch(Arc::clone(&store), Arc::clone(&notifier), unschedulable),
                log_follower::watch(Arc::clone(&store), Arc::clone(&notifier)),
                tokens.watch(Arc::clone(&store), &notifier),
                sessions.watch("sessions", &notifier, |known| {
                    let store = Arc::clone(&store);
                    async move { store.sessions(known.map(|known| known.version)).await }
                }),
                retention::keep(Arc::clone(&store), audit.kept_for, audit.kept),
                metrics.count_loop(&*store, scheduler),
                async {
                    if let Some(file) = audit.file {
                        audit_file::follow(Arc::clone(&store), file).await;
                    }
                },
                hints::listen(Arc::clone(&store), Arc::clone(&notifier)),
                async {
                    if let Some(outgoing) = outgoing {
                        hints::publish(Arc::clone(&store), outgoing).await;
                    }
                },
                async {
                    if options.mode == Mode::Daemon {
                        configuration::watch(files, &notifier).await;
                    }
                },
                async {
                    match options.sharing {
                        Sharing::Alone => {
                            foreign_writes::watch(Arc::clone(&store), Arc::clone(&notifier)).await;
                        }
                        Sharing::Shared => compatibility::check(Arc::clone(&store)).await,
                    }
                },
            )
        };
        let electing = election.run(first, begin, shutdown.clone());
        tokio::join!(electing, recorded, shutdown.run_until_cancelled(beside));
        metrics.count_applied(&*store, scheduler).await;
        grants.close();
        grants.wait().await;
        Ok(())
    }
}
