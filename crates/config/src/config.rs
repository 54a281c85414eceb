//! The configuration as a whole.

use std::path::PathBuf;

use cts_core::{BufferPeriod, ProviderBlock, TaskSpec};
use secrecy::SecretString;

use crate::consul::ConsulConfig;
use crate::driver::TerraformDriver;
use crate::environment;
use crate::worker::WorkerConfig;

/// A valid configuration: nothing in it is unset, relative or of doubtful type any more.
#[derive(Debug, Clone)]
pub struct Config {
    /// `log_level`.
    pub log_level: LogLevel,
    /// `port` of the API.
    pub port: u16,
    /// `id` under which this instance registers with Consul; may be empty.
    pub id: String,
    /// `working_dir`, absolute: parent of the task directories.
    pub working_dir: PathBuf,
    /// The global `buffer_period`, resolved.
    pub buffer_period: BufferPeriod,
    /// `consul`.
    pub consul: ConsulConfig,
    /// `driver "terraform"`.
    pub driver: TerraformDriver,
    /// `terraform_provider` blocks in the order of the files.
    pub providers: Vec<ProviderBlock>,
    /// `worker`, a block of ours.
    pub worker: WorkerConfig,
    /// `task` blocks in the order of the files; names are unique.
    pub tasks: Vec<TaskSpec>,
}

impl Config {
    /// The variables that Terraform's `consul` backend needs in the environment of its process;
    /// none with any other backend (spec/config.md 9.5). One of them may be the token, so all values
    /// are wrapped.
    pub fn terraform_environment(&self) -> Vec<(String, SecretString)> {
        if self.driver.backend.kind == "consul" {
            environment::of_consul_backend(&self.consul)
        } else {
            Vec::new()
        }
    }
}

/// How much is logged (spec/config.md 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum LogLevel {
    /// `TRACE`.
    Trace,
    /// `DEBUG`.
    Debug,
    /// `INFO`, the default.
    #[default]
    Info,
    /// `WARN`.
    Warn,
    /// `ERR`. The original takes the word but logs as for `INFO`; here it means errors only.
    Error,
}

impl LogLevel {
    pub(crate) const NAMES: [&'static str; 5] = ["TRACE", "DEBUG", "INFO", "WARN", "ERR"];

    /// Reads one of the configured names, in any case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let position = Self::NAMES
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))?;
        let levels = [
            Self::Trace,
            Self::Debug,
            Self::Info,
            Self::Warn,
            Self::Error,
        ];
        levels.get(position).copied()
    }

    /// The usual lower-case name, as log filters write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}
