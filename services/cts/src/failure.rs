//! Why a program ends, and the matching exit code (docs/cli.md#exit-codes).

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_access::IssuerError;
use cts_cli::{
    CommandError, EXIT_BRAKE, EXIT_CONSENT, EXIT_GENERAL, EXIT_SLOW_END, EXIT_TERRAFORM,
    EXIT_UNUSABLE, say_error,
};
use cts_config::{BackendRefusal, ConfigError, DatabaseUrlError, KeyFileError};
use cts_consul::{ConsulError, SettingsError};
use cts_core::{Chain, Clock, ErrorCode};
use cts_rpc::{InvalidAddress, PeersError, PlainTextRefused, TlsError};
use cts_runtime::{LogFormat, LogSettings, SyslogError, TaskFailure, init_log};
use cts_scheduler::RunError;
use cts_store::StoreError;
use cts_telemetry::TelemetryError;

use crate::engine_error::EngineError;
use crate::first_lines::log_problems;
use crate::place_error::PlaceError;
use crate::private_environment::HandoverError;

/// A program cannot start, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Vault cannot be asked with these settings.
    #[error("the settings of Vault cannot be used")]
    VaultSettings(#[source] cts_vault::SettingsError),
    /// The key of the cluster cannot be read.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The file with the URL of the database cannot be used.
    #[error(transparent)]
    DatabaseUrl(#[from] DatabaseUrlError),
    /// Settings are not safe, and `security.strict` refuses that.
    #[error("security.strict = true refuses settings that are not safe: {}", .0.join("; "))]
    NotSafe(Vec<String>),
    /// The command line cannot be used, or its configuration.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The configuration cannot be used for Consul.
    #[error("the settings for Consul cannot be used")]
    ConsulSettings(#[source] SettingsError),
    /// Consul did not answer.
    #[error("Consul at {address} cannot be reached; set consul.address or CONSUL_HTTP_ADDR")]
    Consul {
        address: String,
        #[source]
        source: ConsulError,
    },
    /// Consul answered, but has no leader.
    #[error("Consul at {address} has no cluster leader")]
    NoLeader { address: String },
    /// No Terraform or `OpenTofu` can be used.
    #[error(transparent)]
    Engine(Box<EngineError>),
    /// The server that makes the runs cannot be used with these settings.
    #[error("driver \"terraform-cloud\" cannot be used")]
    RemoteSettings(#[source] cts_worker::RemoteSettingsError),
    /// A worker without a program that applies modules.
    #[error("no engine for the tasks")]
    NoEngine,
    /// This backend keeps its state on one machine.
    #[error(transparent)]
    LocalBackend(#[from] BackendRefusal),
    /// Members of a cluster without a database would each have tasks of their own, and each lead.
    #[error(
        "{what} needs the Postgres database that the members of its cluster share: set CTS_DATABASE_URL or CTS_DATABASE_URL_FILE, or write a `database` block with its `url` or `url_file`. SQLite is for a single `cts start` without `high_availability`"
    )]
    NoDatabase {
        /// The command that was started.
        what: &'static str,
    },
    /// The mark of a start is for a file.
    #[error(
        "`-restored` of `cts start` marks the SQLite file of one process: with Postgres stop all processes of cts, run `cts migrate -restored`, and start them again"
    )]
    RestoredServer,
    /// Callers cannot be distinguished.
    #[error(
        "{keys} = true needs the certificates of services: configure services.tls, with verify_incoming = true"
    )]
    NoCertificates {
        /// The keys that need them.
        keys: &'static str,
    },
    /// The files of `services.tls` cannot be used.
    #[error("services.tls cannot be used")]
    Tls(#[from] TlsError),
    /// The files of `tls` cannot be used.
    #[error("tls cannot be used for the API")]
    ApiTls(#[source] TlsError),
    /// The issuers of `security` cannot be used.
    #[error("security.oidc cannot be used")]
    Issuers(#[source] IssuerError),
    /// Metrics and traces cannot be recorded or exported as configured.
    #[error("telemetry cannot be used")]
    Telemetry(#[from] TelemetryError),
    /// The log cannot be set up.
    #[error("the log cannot be set up")]
    Log(#[source] SyslogError),
    /// A connection would be plain text where that is not allowed.
    #[error(transparent)]
    PlainText(#[from] PlainTextRefused),
    /// The addresses of a service cannot be used.
    #[error(transparent)]
    Peers(#[from] PeersError),
    /// The process that stops Terraform in our place does not start.
    #[error("cannot start the guard of this worker")]
    Guard(#[source] io::Error),
    /// `cts migrate` has no usable store.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A scheduler did not do what was asked.
    #[error("{0}")]
    Call(String),
    /// Another process works in the same directory.
    #[error(
        "another cts is at work in {}; end it, or give this one a directory of its own with {setting}",
        directory.display()
    )]
    Locked {
        directory: PathBuf,
        /// The settings that name it, with an example.
        setting: &'static str,
    },
    /// A file or directory cannot be used.
    #[error("cannot use {}", path.display())]
    Path {
        /// The file or directory.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Temporary files cannot be stored anywhere.
    #[error("cannot make a temporary directory")]
    Temporary(#[source] io::Error),
    /// A task that was named on the command line is not in the configuration.
    #[error("there is no task {name:?} in the configuration{}", .nearest.as_ref().map(|nearest| format!("; did you mean {nearest:?}?")).unwrap_or_default())]
    UnknownTask {
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// Some tasks of a pass did not go through.
    #[error("{failed} of {of} tasks failed: {first}")]
    Pass {
        failed: usize,
        /// Number of tasks in the pass.
        of: usize,
        /// The first task by name, with the first line of its error.
        first: String,
    },
    /// The brake of the fleet is set at the end of a pass.
    #[error(
        "the brake of the fleet is set: {lost} of {of} instances are lost ({losses}); it holds {held} of {tasks} tasks until the instances are back or until `cts task release -all`; {failed} failed"
    )]
    Braked {
        /// Lost instances.
        lost: u64,
        /// Instances of the reference.
        of: u64,
        /// The largest losses.
        losses: String,
        /// Number of tasks of the pass that the brake holds.
        held: usize,
        /// Number of tasks in the pass.
        tasks: usize,
        /// Number of tasks that failed for other reasons.
        failed: usize,
    },
    /// Tasks wait for the consent of a person at the end of a pass.
    #[error(
        "{waiting} of {tasks} tasks wait for the consent of a person: {named}; the next start finds them, and `cts approvals list` shows what they would do; {failed} failed"
    )]
    Unapproved {
        /// Number of tasks that wait.
        waiting: usize,
        /// Number of tasks in the pass.
        tasks: usize,
        /// The first tasks that wait, with their runs.
        named: String,
        /// Number of tasks that failed.
        failed: usize,
    },
    /// A signal came before all tasks of a pass were through.
    #[error("ended by a signal when {ended} of {of} tasks were done")]
    PassCut {
        /// How many were through.
        ended: usize,
        /// Number of tasks in the pass.
        of: usize,
    },
    /// The database cannot be used.
    #[error("the database cannot be used")]
    Store(#[from] StoreError),
    /// The scheduler cannot be prepared.
    #[error(transparent)]
    Scheduler(#[from] RunError),
    /// A port cannot be listened on.
    #[error("cannot listen on {address}; choose another place with {setting}")]
    Listen {
        address: SocketAddr,
        /// The settings that name it, with an example.
        setting: &'static str,
        #[source]
        source: io::Error,
    },
    /// The address of a service cannot be read.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// The process cannot find out about itself.
    #[error("cannot read the process's surroundings")]
    ProcessEnv(#[source] io::Error),
    /// `CTS_ENVIRONMENT_FD` is set, but not by an earlier execution of this process.
    #[error(
        "cannot take over the environment that CTS_ENVIRONMENT_FD names; the variable is for cts alone: unset it"
    )]
    Handover(#[source] HandoverError),
    /// A part ended by itself.
    #[error("unexpected shutdown")]
    Part(#[from] TaskFailure),
}

impl Failure {
    /// Prints the reason on standard error and gives the exit code.
    pub(crate) fn report(&self) -> u8 {
        match self {
            Self::Command(error) => error.report(),
            other => {
                say_error(other.code(), other);
                other.exit_code()
            }
        }
    }

    /// Reports why a service ends and returns its exit code. The reason is the last line of the log, in the configured
    /// form and places. Before a log exists, the reason is on standard error in `format`, after the problems of the
    /// configuration.
    pub(crate) fn end(&self, format: LogFormat, clock: Arc<dyn Clock>) -> u8 {
        if !tracing::dispatcher::has_been_set() {
            let is_usage = matches!(self, Self::Command(CommandError::NoConfiguration));
            if is_usage && format == LogFormat::Text {
                return self.report();
            }
            let settings = LogSettings {
                format,
                ..LogSettings::default()
            };
            if init_log(settings, Box::new(io::stderr()), clock).is_err() {
                return self.report();
            }
            if let Self::Command(CommandError::Configuration(
                ConfigError::Problems(found) | ConfigError::NothingFound(found),
            )) = self
            {
                log_problems(found);
            }
        }
        self.log();
        self.exit_code()
    }

    /// Logs the reason, with the message of the original's log.
    fn log(&self) {
        let code = self.code().as_str();
        if let Self::Command(CommandError::Configuration(ConfigError::Problems(report))) = self {
            let first = report.first_problem();
            if let Some((message, file)) = first.file_message {
                tracing::error!(target: "config", file_path = file, "{message}");
            }
            tracing::error!(target: "cli", error = first.sentence, code, "{}", first.message);
            return;
        }
        tracing::error!(target: "cli", error = %Chain(self), code, "{}", self.log_message());
    }

    /// The code (docs/runbook.md#error-codes).
    pub(crate) const fn code(&self) -> ErrorCode {
        match self {
            Self::Command(error) => error.code(),
            Self::VaultSettings(_) => ErrorCode::VaultUnusable,
            Self::NotSafe(_) => ErrorCode::SettingsNotSafe,
            Self::ConsulSettings(_) | Self::Consul { .. } => ErrorCode::ConsulUnusable,
            Self::NoLeader { .. } => ErrorCode::ConsulNoLeader,
            Self::Engine(_) | Self::NoEngine => ErrorCode::EngineUnusable,
            Self::RemoteSettings(_) => ErrorCode::RemoteUnusable,
            Self::LocalBackend(_)
            | Self::NoDatabase { .. }
            | Self::RestoredServer
            | Self::NoCertificates { .. }
            | Self::UnknownTask { .. } => ErrorCode::SettingsIncomplete,
            Self::Key(_)
            | Self::DatabaseUrl(_)
            | Self::Tls(_)
            | Self::ApiTls(_)
            | Self::Issuers(_) => ErrorCode::CredentialsUnusable,
            Self::Telemetry(_) => ErrorCode::TelemetryUnusable,
            Self::Log(_) => ErrorCode::LogUnusable,
            Self::PlainText(_) => ErrorCode::PlaintextRefused,
            Self::Peers(_) | Self::Address(_) => ErrorCode::AddressInvalid,
            Self::Place(_) | Self::Store(_) | Self::Scheduler(_) => ErrorCode::DatabaseUnusable,
            Self::Call(_) => ErrorCode::CommandFailed,
            Self::Locked { .. } => ErrorCode::DirectoryLocked,
            Self::Path { .. } | Self::Temporary(_) => ErrorCode::PathUnusable,
            Self::Pass { .. }
            | Self::PassCut { .. }
            | Self::Braked { .. }
            | Self::Unapproved { .. } => ErrorCode::PassFailed,
            Self::Listen { .. } => ErrorCode::PortUnusable,
            Self::Guard(_) | Self::ProcessEnv(_) | Self::Handover(_) => ErrorCode::ProcessUnusable,
            Self::Part(_) => ErrorCode::PartEnded,
        }
    }

    /// The message in the original's log, by the code.
    const fn log_message(&self) -> &'static str {
        if let Self::Command(_) = self {
            return "error building configuration";
        }
        match self.code() {
            ErrorCode::SettingsNotSafe
            | ErrorCode::SettingsIncomplete
            | ErrorCode::CredentialsUnusable
            | ErrorCode::RemoteUnusable
            | ErrorCode::PlaintextRefused
            | ErrorCode::AddressInvalid
            | ErrorCode::TelemetryUnusable => "error validating configuration",
            ErrorCode::LogUnusable => "error setting up logging",
            ErrorCode::EngineUnusable => "error installing driver",
            ErrorCode::PortUnusable
            | ErrorCode::CommandFailed
            | ErrorCode::PassFailed
            | ErrorCode::PartEnded => "error running controller",
            _ => "error setting up controller",
        }
    }

    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Command(error) => return error.exit_code(),
            Self::Place(_) => return EXIT_UNUSABLE,
            Self::PassCut { .. } => return EXIT_SLOW_END,
            Self::Braked { .. } => return EXIT_BRAKE,
            Self::Unapproved { .. } => return EXIT_CONSENT,
            _ => {}
        }
        match self.code() {
            ErrorCode::EngineUnusable => EXIT_TERRAFORM,
            ErrorCode::DatabaseUnusable
            | ErrorCode::CommandFailed
            | ErrorCode::DirectoryLocked
            | ErrorCode::PathUnusable
            | ErrorCode::PassFailed
            | ErrorCode::PortUnusable
            | ErrorCode::ProcessUnusable
            | ErrorCode::PartEnded => EXIT_GENERAL,
            _ => EXIT_UNUSABLE,
        }
    }
}

/// An end by a signal that takes longer has its own exit code, [`EXIT_SLOW_END`].
pub(crate) const GRACEFUL_END: Duration = Duration::from_secs(10);
