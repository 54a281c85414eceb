//! The four services, put together from the configuration; the same in one process and in four.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::Local;
use cts_bundle::{BundleCache, Limits};
use cts_config::Config;
use cts_consul::ConsulClient;
use cts_gateway::{Deps as GatewayDeps, Gateway, Options as GatewayOptions};
use cts_handlers::{Handlers, Pace};
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::cluster::v1::follow_service_client::FollowServiceClient;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::run::v1::plan_service_client::PlanServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_rpc::Peers;
use cts_runtime::{LogFormat, ProcessEnv};
use cts_scheduler::{
    Dependencies as SchedulerDependencies, Identities as _, NextTick, RandomIdentities, Scheduler,
};
use cts_telemetry::Signals;
use cts_terraform::guard::{Guard, GuardCommand, GuardKeeper};
use cts_terraform::{Executable, OutputSink, Terraform, Tuning};
use cts_tls::ServerTls;
use cts_vault::Vault;
use cts_worker::{
    Dependencies as WorkerDependencies, Driver, RemoteDriver, ShutdownTokens, ValueSources, Worker,
    reads_secrets,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Channel;
use uuid::Uuid;

use crate::failure::Failure;
use crate::services::client_limits::gateway_limits;
use crate::services::database::Database;
use crate::services::host::Host;
use crate::services::ignored_variables::{INSTEAD, ignored_variables};
use crate::services::lock::{DirectoryLock, Use};
use crate::services::security_settings;
use crate::services::settings::{self, Shape};
use crate::services::terraform_console::StandardError;

/// Directory in which a worker unpacks modules, in its working directory; no task can have the name, because it has a
/// dot.
const BUNDLES: &str = ".bundles";

/// First argument of a guard process.
pub(crate) const GUARD_COMMAND: &str = "guard-terraform";

/// Argument of a guard whose log is JSON.
pub(crate) const JSON: &str = "json";

/// The executable of this process, also after the file was replaced.
const THIS_EXECUTABLE: &str = "/proc/self/exe";

/// Reaction of a start to a Consul or a database that cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsentPeers {
    /// The start fails.
    Fail,
    /// The start waits, as long as it takes.
    Wait,
}

/// A client of Consul that has sent no request yet.
pub(crate) fn unasked_consul_client(config: &Config) -> Result<ConsulClient, Failure> {
    ConsulClient::new(&settings::consul(&config.consul)).map_err(Failure::ConsulSettings)
}

/// A client of a Consul that answers and has a leader. With [`AbsentPeers::Wait`] Consul is called once; the caller
/// repeats the call.
pub(crate) async fn consul_client(
    config: &Config,
    absent_peers: AbsentPeers,
) -> Result<ConsulClient, Failure> {
    let client = unasked_consul_client(config)?;
    let address = config.consul.address.clone();
    let leader = match absent_peers {
        AbsentPeers::Fail => client.wait_for_leader().await,
        AbsentPeers::Wait => client.leader().await,
    };
    match leader {
        Ok(Some(_leader)) => Ok(client),
        Ok(None) => Err(Failure::NoLeader { address }),
        Err(source) => Err(Failure::Consul { address, source }),
    }
}

/// Logged before the first request to Consul.
pub(crate) fn log_consul_setup() {
    tracing::info!(target: "ctrl", "initializing Consul client and testing connection");
}

/// How a scheduler begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning {
    pub(crate) shape: Shape,
    pub(crate) mode: cts_scheduler::Mode,
    /// Whether stored tasks are deleted first.
    pub(crate) reset_storage: bool,
}

/// A scheduler over `database`.
pub(crate) async fn scheduler(
    config: &Config,
    process_env: &ProcessEnv,
    database: &Database,
    watchers: Peers,
    beginning: Beginning,
    signals: Signals,
) -> Result<Scheduler, Failure> {
    let Beginning {
        shape,
        mode,
        reset_storage,
    } = beginning;
    let identities = RandomIdentities;
    let options = settings::scheduler(
        config,
        identities.incarnation(),
        database.sharing(),
        shape,
        mode,
        reset_storage,
    );
    let dependencies = SchedulerDependencies {
        store: database.store(),
        watchers,
        clock: Arc::clone(&process_env.clock),
        next_tick: NextTick::of(chrono::Local),
        identities: Arc::new(identities),
        task_reader: settings::task_reader(config, process_env, shape),
        signals,
    };
    Ok(Scheduler::prepare(options, dependencies).await?)
}

/// A worker with the parts that have to be supervised next to it.
#[derive(Debug)]
pub(crate) struct WorkerParts {
    worker: Worker,
    /// Supervisors of Terraform processes.
    processes: TaskTracker,
    /// Keeps a guard alive, where other workers can get this worker's runs.
    guard: Option<GuardKeeper>,
    lock: DirectoryLock,
}

impl WorkerParts {
    /// Works until the end of `host`; `stop` interrupts Terraform. Returns the lock of the working directory, which must
    /// be kept until the end.
    pub(crate) fn begin(self, host: &Host, stop: CancellationToken) -> DirectoryLock {
        let Host {
            outside,
            between,
            inside,
            ..
        } = host;
        let drain = outside.token().clone();
        outside.spawn("worker", self.worker.run(ShutdownTokens { drain, stop }));
        // A worker that panics leaves Terraform to them.
        let (ending, processes) = (between.until_shutdown(), self.processes);
        between.spawn_infallible("supervisors of Terraform", async move {
            ending.await;
            processes.close();
            processes.wait().await;
        });
        if let Some(guard) = self.guard {
            inside.spawn_infallible("guard", guard.keep(inside.token().clone()));
        }
        self.lock
    }
}

fn guard_arguments(worker: &str, format: LogFormat) -> Vec<OsString> {
    let mut arguments = vec![GUARD_COMMAND.into(), worker.into()];
    if format == LogFormat::Json {
        arguments.push(JSON.into());
    }
    arguments
}

/// A worker of the schedulers that `scheduler` leads to.
pub(crate) fn worker(
    config: &Config,
    process_env: &ProcessEnv,
    engine: Option<Executable>,
    working_dir: PathBuf,
    scheduler: Channel,
    shape: Shape,
    signals: Signals,
) -> Result<WorkerParts, Failure> {
    let lock = DirectoryLock::take(&working_dir, Use::Tasks)?;
    let processes = TaskTracker::new();
    let bundles = working_dir.join(BUNDLES);
    let keys = config.security.read_keys()?;
    let options = settings::worker(
        config,
        process_env,
        engine.as_ref(),
        working_dir,
        keys,
        shape,
    );
    let withheld = options.environment.withheld();
    if !withheld.is_empty() {
        tracing::info!(
            target: "driver",
            variables = withheld.join(", "),
            "settings and credentials of cts in its environment are not handed to terraform; a module that needs one gets it by task_env"
        );
    }
    if let Some(variables) = ignored_variables(process_env) {
        tracing::warn!(target: "driver", variables, instead = INSTEAD, "variables of the environment have no effect, terraform does not get them");
    }
    let (guard, keeper) = match shape {
        Shape::Embedded => (None, None),
        Shape::Cluster => {
            let id = options.record.id.to_string();
            let command = GuardCommand {
                program: THIS_EXECUTABLE.into(),
                arguments: guard_arguments(&id, process_env.log_format),
                // Modules can read this environment, so it holds no more than theirs.
                environment: options.environment.variables().clone(),
                worker: id,
            };
            let (guard, keeper) = Guard::start(command).map_err(Failure::Guard)?;
            (Some(guard), Some(keeper))
        }
    };
    let bundles = settings::takes_bundles(config, shape).then(|| {
        let clock = Arc::clone(&process_env.clock);
        Arc::new(BundleCache::new(bundles, Limits::default(), clock))
    });
    // Its address may be in the environment for other programs.
    let token = config.terraform_cloud.as_ref();
    let token = token.and_then(|driver| driver.token.as_ref());
    let reads_secrets = reads_secrets(&config.providers, &options.webhooks, token);
    let vault = settings::vault(config).filter(|_| reads_secrets);
    let vault = vault.map(Vault::new).transpose();
    let values = ValueSources {
        environment: process_env.text_environment(),
        consul: unasked_consul_client(config)?,
        vault: vault.map_err(Failure::VaultSettings)?,
    };
    let tuning = Tuning {
        parallelism: config.driver.parallelism,
        refresh: config.driver.refresh,
    };
    let terraform = engine
        .map(|executable| Arc::new(Terraform::new(executable, processes.clone()).tuned(tuning)));
    tracing::info!(target: "ctrl", "initializing driver factory");
    let driver = driver(config, terraform)?;
    let worker = Worker::new(
        options,
        WorkerDependencies {
            values,
            scheduler,
            driver,
            bundles,
            guard,
            handlers: Handlers::new(Pace::default(), Arc::clone(&process_env.clock)),
            console: config
                .driver
                .log
                .then(|| Arc::new(StandardError(process_env.log_format)) as Arc<dyn OutputSink>),
            signals,
        },
    );
    Ok(WorkerParts {
        worker,
        processes,
        guard: keeper,
        lock,
    })
}

/// The driver of the configuration. `terraform` may be missing where a server makes the runs.
fn driver(config: &Config, terraform: Option<Arc<Terraform>>) -> Result<Driver, Failure> {
    match (settings::remote(config), terraform) {
        (Some(remote), terraform) => {
            let driver = RemoteDriver::new(remote, terraform).map_err(Failure::RemoteSettings)?;
            Ok(Driver::Remote(Arc::new(driver)))
        }
        (None, Some(terraform)) => Ok(Driver::Terraform(terraform)),
        (None, None) => Err(Failure::NoEngine),
    }
}

/// TLS files of the API: its certificate, and the authorities of its clients, if it has TLS. Reads the files.
pub(crate) async fn api_tls(config: &Config) -> Result<Option<ServerTls>, Failure> {
    match settings::api_tls(config) {
        Some(files) => Ok(Some(ServerTls::load(files).await.map_err(Failure::ApiTls)?)),
        None => Ok(None),
    }
}

/// Logs which kind of controller begins.
pub(crate) fn log_controller_setup(kind: &str) {
    tracing::info!(target: "ctrl", { "type" = kind }, "setting up controller");
}

/// Logs that the API begins to listen.
pub(crate) fn log_api_start(listener: &TcpListener) {
    let port = listener.local_addr().ok().map(|address| address.port());
    tracing::info!(target: "api", port, "starting server");
}

pub(crate) fn log_api_end() {
    tracing::info!(target: "api", "shutdown api server");
}

/// Logs that changes no longer run tasks.
pub(crate) fn log_monitoring_end() {
    tracing::info!(target: "tasksmanager", "stop monitoring tasks");
}

/// Logs that Consul is no longer read.
pub(crate) fn log_watching_end() {
    tracing::info!(target: "tasksmanager", "stopping dependency monitoring");
}

/// Schedulers of a gateway.
pub(crate) struct Schedulers {
    /// For the tasks and everything else that schedulers know.
    pub(crate) peers: Peers,
    /// Channel for the state of the schedulers themselves.
    pub(crate) cluster: Channel,
}

impl From<Peers> for Schedulers {
    fn from(peers: Peers) -> Self {
        Self {
            cluster: peers.channel(),
            peers,
        }
    }
}

/// A gateway in front of the schedulers that `scheduler` leads to.
pub(crate) fn gateway(
    config: &Config,
    process_env: &ProcessEnv,
    schedulers: Schedulers,
    tls: Option<ServerTls>,
    signals: Signals,
) -> Result<Gateway, Failure> {
    let options = GatewayOptions {
        request_id: Arc::new(Uuid::new_v4),
        local_time: Arc::new(|at| at.with_timezone(&Local).fixed_offset()),
        mode: settings::gateway_mode(config),
        limits: gateway_limits(config, process_env),
        trusted_proxies: config.gateway.trusted_proxies.clone(),
        forwarded_header: settings::forwarded_header(config),
        browsers: security_settings::api_browsers(config),
        access: security_settings::gateway(config, process_env)?,
        page: security_settings::page(config),
    };
    let Schedulers { peers, cluster } = schedulers;
    let scheduler = peers.channel();
    let deps = GatewayDeps {
        tasks: TaskServiceClient::new(scheduler.clone())
            .max_decoding_message_size(cts_rpc::TASK_BYTES),
        cluster: ClusterServiceClient::new(cluster),
        follow: FollowServiceClient::new(scheduler.clone()),
        workers: WorkerServiceClient::new(scheduler.clone()),
        runs: RunServiceClient::new(scheduler.clone()),
        logs: LogServiceClient::new(scheduler.clone()),
        plans: PlanServiceClient::new(scheduler.clone())
            .max_decoding_message_size(cts_rpc::PLAN_BYTES + cts_rpc::CHUNK_BYTES),
        approvals: ApprovalServiceClient::new(scheduler.clone())
            .max_decoding_message_size(cts_rpc::TASK_BYTES),
        access: AccessServiceClient::new(scheduler.clone()),
        sessions: SessionServiceClient::new(scheduler),
        schedulers: peers,
        signals,
    };
    let gateway = Gateway::new(options, deps);
    Ok(match tls {
        Some(tls) => gateway.with_tls(tls),
        None => gateway,
    })
}
