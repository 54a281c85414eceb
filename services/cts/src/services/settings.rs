//! Turns the configuration into the settings of each part.

mod blocks;
mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cts_config::{
    ClientTls, Config, ConsulConfig, DeclaredTasks, ForwardedHeader as ConfiguredHeader,
    GatewayMode, OnTakeover, WebhookConfig,
};
use cts_consul::{ConsulSettings, TlsSettings};
use cts_core::{Incarnation, REMOTE_DRIVER, TaskSpec};
use cts_gateway::{ForwardedHeader, Gateway, Mode};
use cts_handlers::WebhookSettings;
use cts_runtime::{LogFormat, LogRelay, LogSettings, ProcessEnv, SYSLOG_SOCKETS, SyslogSettings};
use cts_scheduler::{Audit, Modules, Options as SchedulerOptions, Sharing, TaskReader, Workers};
use cts_store::{Member, Retention, Unchanged};
use cts_tls::{Authorities, ClientFiles, IdentityFiles, ServerFiles};
use cts_vault::VaultSettings;
use cts_watcher::WatchOptions;

pub(crate) use self::worker::{remote, worker};

/// Longest time for an answer of Vault.
const LONGEST_VAULT_ANSWER: Duration = Duration::from_secs(20);

/// Longer than any attempt to connect.
const NO_LIMIT: Duration = Duration::from_hours(24);

/// Interval of TCP keep-alive probes that Go takes for zero.
const KEEP_ALIVE_OF_GO: Duration = Duration::from_secs(15);

/// How the services live together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One process that shares nothing with other processes.
    Embedded,
    /// Several processes, on one machine or on many.
    Cluster,
}

/// Settings of the log: content, format and destination.
pub(crate) fn log(config: &Config, format: LogFormat) -> LogSettings {
    let otlp = config.telemetry.otlp.as_ref();
    let exports_log = otlp.is_some_and(|otlp| otlp.signals.logs);
    LogSettings {
        level: config.log_level,
        format,
        syslog: config.syslog.as_ref().map(|syslog| SyslogSettings {
            facility: syslog.facility.code(),
            name: syslog.name.clone(),
            process: std::process::id(),
            sockets: SYSLOG_SOCKETS.map(PathBuf::from).into(),
        }),
        relay: exports_log.then(LogRelay::default),
    }
}

pub(super) fn watch(config: &ConsulConfig) -> WatchOptions {
    WatchOptions {
        hold_filtered: config.hold_filtered,
        ..WatchOptions::default()
    }
}

pub(crate) fn consul(config: &ConsulConfig) -> ConsulSettings {
    let set = |text: &String| (!text.is_empty()).then(|| text.into());
    let tls = &config.tls;
    let transport = &config.transport;
    ConsulSettings {
        address: config.address.clone(),
        token: config.token.clone(),
        basic_auth: config
            .auth
            .as_ref()
            .map(|auth| (auth.username.clone(), auth.password.clone())),
        tls: TlsSettings {
            enabled: config.https,
            verify: tls.verify,
            ca_cert: set(&tls.ca_cert),
            ca_path: set(&tls.ca_path),
            cert: set(&tls.cert),
            key: set(&tls.key),
            server_name: (!tls.server_name.is_empty()).then(|| tls.server_name.clone()),
        },
        namespace: config.namespace.clone(),
        partition: config.partition.clone(),
        dial_timeout: unless_zero(transport.dial_timeout, NO_LIMIT),
        tls_handshake_timeout: unless_zero(transport.tls_handshake_timeout, NO_LIMIT),
        keep_alive: unless_zero(transport.dial_keep_alive, KEEP_ALIVE_OF_GO),
        idle_timeout: unless_zero(transport.idle_conn_timeout, NO_LIMIT),
        max_idle_per_host: transport.unused_connections(),
        max_per_host: transport.max_conns_per_host,
        disable_keep_alives: transport.disable_keep_alives,
        ..ConsulSettings::default()
    }
}

/// As in Go, zero stands for another value.
fn unless_zero(written: Duration, zero: Duration) -> Duration {
    if written.is_zero() { zero } else { written }
}

/// How Vault is reached, if it is configured.
pub(crate) fn vault(config: &Config) -> Option<VaultSettings> {
    let vault = config.vault.as_ref()?;
    let (tls, transport) = (&vault.tls, &vault.transport);
    Some(VaultSettings {
        address: vault.address.clone(),
        namespace: vault.namespace.clone(),
        token: vault.token.clone(),
        token_file: vault.vault_agent_token_file.clone(),
        renew_token: vault.renew_token,
        unwrap_token: vault.unwrap_token,
        tls: client_files(tls),
        server_name: server_name(tls),
        connect_timeout: unless_zero(transport.dial_timeout, NO_LIMIT)
            + unless_zero(transport.tls_handshake_timeout, NO_LIMIT),
        timeout: LONGEST_VAULT_ANSWER,
    })
}

fn webhook(webhook: &WebhookConfig) -> WebhookSettings {
    WebhookSettings {
        name: webhook.name.clone(),
        url: webhook.url.clone(),
        secret: webhook.secret.clone(),
        timeout: webhook.timeout,
        retries: webhook.retries,
        tls: client_files(&webhook.tls),
        server_name: server_name(&webhook.tls),
    }
}

fn client_files(tls: &ClientTls) -> ClientFiles {
    ClientFiles {
        authorities: Authorities::of(path(&tls.ca_cert), path(&tls.ca_path)),
        identity: IdentityFiles::of(path(&tls.cert), path(&tls.key)),
        verify: tls.verify,
    }
}

fn server_name(tls: &ClientTls) -> Option<String> {
    (!tls.server_name.is_empty()).then(|| tls.server_name.clone())
}

/// An empty text names no file.
fn path(text: &str) -> Option<&Path> {
    (!text.is_empty()).then(|| Path::new(text))
}

pub(crate) fn scheduler(
    config: &Config,
    incarnation: Incarnation,
    sharing: Sharing,
    shape: Shape,
    mode: cts_scheduler::Mode,
    reset_storage: bool,
) -> SchedulerOptions {
    let member = Member {
        id: config.id.clone(),
        incarnation,
        service_name: config.consul.service_registration.service_name.clone(),
        address: config
            .high_availability
            .as_ref()
            .and_then(|cluster| cluster.address.clone()),
    };
    let (tasks, modules) = declared(config, shape);
    let mut options = SchedulerOptions::alone(tasks, member);
    options.modules = modules;
    options.lease = config.scheduler.lease_ttl;
    options.retention = Retention {
        runs: config.scheduler.runs_kept,
        age: config.scheduler.runs_kept_for,
    };
    options.logs_kept = config.scheduler.logs_kept;
    options.plans_kept = config.scheduler.plans_kept;
    options.sharing = sharing;
    options.mode = mode;
    if mode == cts_scheduler::Mode::OnRequest {
        // A pass waits for the answers of Consul until it is interrupted.
        options.input_timeout = Duration::MAX;
    }
    options.reset_storage = reset_storage;
    if let Some(cluster) = &config.high_availability {
        options.leadership = cluster.session_ttl;
        options.cluster_name = Some(cluster.cluster_name.clone());
    }
    options.settings = common_settings(config, &options);
    options.fleet_max_shrink = config.fleet_max_shrink;
    options.approvals = config.approvals;
    let audit = &config.security.audit;
    options.audit = Audit {
        kept_for: audit.kept_for,
        kept: audit.kept,
        file: audit.file.clone(),
    };
    options.hands_out_key = config.security.key_file.is_none();
    options.requires_proofs = config.security.service_roles;
    // A pass waits for its own worker.
    options.workers = match (shape, mode) {
        (Shape::Cluster, cts_scheduler::Mode::Daemon) => Workers::Others,
        _ => Workers::Own,
    };
    if shape == Shape::Cluster {
        options.first_pass = match config.on_takeover() {
            OnTakeover::Changed => Unchanged::Skip,
            OnTakeover::All => Unchanged::Run,
        };
    }
    options
}

/// The task blocks as a member registers them, but for the packing of their modules, and how that is done.
pub(crate) fn declared(config: &Config, shape: Shape) -> (Vec<TaskSpec>, Modules) {
    let mut tasks = config.tasks.clone();
    let engine = required_engine(config, shape);
    for task in &mut tasks {
        require_engine(task, &engine);
    }
    if !takes_bundles(config, shape) {
        return (tasks, Modules::InPlace);
    }
    let working_dirs = [
        Some(&config.working_dir),
        config.worker.working_dir.as_ref(),
    ];
    let excluded = working_dirs.into_iter().flatten().cloned().collect();
    let roots = config.module_roots.clone();
    (tasks, Modules::Bundled { excluded, roots })
}

/// Settings that members of a cluster should have in common besides their tasks. Backend and provider blocks
/// are the workers'.
fn common_settings(config: &Config, options: &SchedulerOptions) -> BTreeMap<String, String> {
    let version = config.driver.version.as_deref().unwrap_or("any version");
    let engine = match &config.terraform_cloud {
        Some(_) => REMOTE_DRIVER,
        None => config.driver.engine.driver(),
    };
    let of = |text: &str| text.to_owned();
    BTreeMap::from([
        (
            of("cluster.name"),
            options.cluster_name.clone().unwrap_or_default(),
        ),
        (of("session_ttl"), format!("{:?}", options.leadership)),
        (of("lease_ttl"), format!("{:?}", options.lease)),
        (of("on_takeover"), format!("{:?}", config.on_takeover())),
        (of("engine"), format!("{engine} {version}")),
        (of("version"), of(env!("CARGO_PKG_VERSION"))),
    ])
}

/// The engine of the worker, and its configured version; one process has only one version.
fn required_engine(config: &Config, shape: Shape) -> (&'static str, Option<String>) {
    if config.terraform_cloud.is_some() {
        return (REMOTE_DRIVER, None);
    }
    let driver = &config.driver;
    let version = match shape {
        Shape::Embedded => None,
        Shape::Cluster => driver.version.clone(),
    };
    (driver.engine.driver(), version)
}

/// Requires an engine of the worker.
fn require_engine(task: &mut TaskSpec, (driver, version): &(&'static str, Option<String>)) {
    (*driver).clone_into(&mut task.requirement.driver);
    task.requirement.version.clone_from(version);
}

/// Makes tasks of what callers of the API declare, as the configuration would.
pub(crate) fn task_reader(config: &Config, process_env: &ProcessEnv, shape: Shape) -> TaskReader {
    let declared = Arc::new(DeclaredTasks::new(config, &process_env.current_dir));
    let of_files = Arc::clone(&declared);
    // The whole configuration would have the tasks of the file a second time.
    let engine = required_engine(config, shape);
    let clock = Arc::clone(&process_env.clock);
    TaskReader::new(move |draft| {
        let mut task = declared.read(draft, clock.now())?;
        require_engine(&mut task, &engine);
        Ok(task)
    })
    .with_modules(move |task| of_files.read_module(task))
}

/// The parent of the tasks' directories, unless the command line names one.
pub(crate) fn worker_directory(config: &Config) -> PathBuf {
    let own = config.worker.working_dir.as_ref();
    own.unwrap_or(&config.working_dir).clone()
}

/// The files of the API's TLS, if it has any.
pub(crate) fn api_tls(config: &Config) -> Option<ServerFiles> {
    let tls = config.tls.as_ref()?;
    Some(ServerFiles {
        identity: IdentityFiles {
            cert: tls.cert.clone(),
            key: tls.key.clone(),
        },
        clients: tls.clients(),
        protocols: Gateway::TLS_PROTOCOLS.to_vec(),
    })
}

pub(crate) fn gateway_mode(config: &Config) -> Mode {
    match config.gateway.mode {
        GatewayMode::Transparent => Mode::Transparent,
        GatewayMode::StrictFollower => Mode::StrictFollower,
    }
}

pub(crate) fn forwarded_header(config: &Config) -> ForwardedHeader {
    match config.gateway.forwarded_header {
        ConfiguredHeader::XForwardedFor => ForwardedHeader::XForwardedFor,
        ConfiguredHeader::Forwarded => ForwardedHeader::Forwarded,
    }
}

/// Whether modules reach the worker as bundles: those of other machines, and those that a server gets.
pub(crate) fn takes_bundles(config: &Config, shape: Shape) -> bool {
    shape == Shape::Cluster || config.terraform_cloud.is_some()
}
