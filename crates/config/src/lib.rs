//! Finds the configuration files, decodes them, applies environment and defaults, and yields validated values
//! or a report of *all* problems, each with file, line, column and source line.
//!
//! The formats and rules are those of docs/configuration.md. Nothing here opens a connection or looks at the
//! process: environment, current directory and host name come in with [`LoadContext`], and only
//! `environment.rs` names variables. The effect of a task's settings is unknown here.
//!
//! Start from [`load()`], [`Config`] and [`Report`].

mod allowed_sources;
mod blocks;
mod config;
mod context;
mod decode;
mod dump;
mod dump_body;
mod dump_values;
mod keys;
mod load;
mod local_module;
mod report;
mod settings;
mod task_file;
mod tasks;
mod top_level;

pub use blocks::client_limits::{ClientLimit, GatewayLimits, ServicesLimits};
pub use blocks::client_tls::ClientTls;
pub use blocks::consul::{BasicAuth, ConsulConfig, DefaultCheck, ServiceRegistration};
pub use blocks::database::{DatabaseConfig, DatabaseUrl, DatabaseUrlError};
pub use blocks::driver::{BackendRefusal, ReleaseSource, TerraformDriver};
pub use blocks::gateway::{
    ForwardedHeader, GatewayConfig, GatewayMode, LoginToken, PageConfig, PageLoginConfig,
};
pub use blocks::high_availability::{HaStorage, HighAvailability};
pub use blocks::scheduler::{OnTakeover, SchedulerConfig};
pub use blocks::security::{AuditConfig, KeyFileError, OidcConfig, SecurityConfig};
pub use blocks::services::{ListenConfig, ServicesConfig, ServicesTls};
pub use blocks::syslog::{SyslogConfig, SyslogFacility};
pub use blocks::telemetry::{OtlpConfig, OtlpSignals, TelemetryConfig};
pub use blocks::terraform_cloud::{CloudWorkspaces, TerraformCloudDriver};
pub use blocks::tls::ApiTls;
pub use blocks::transport::Transport;
pub use blocks::vault::VaultConfig;
pub use blocks::webhook::WebhookConfig;
pub use blocks::worker::WorkerConfig;
pub use config::Config;
pub use context::LoadContext;
pub use dump::{dump, dump_json};
pub use load::{ConfigError, Loaded, check, load};
pub use report::original::OriginalError;
pub use report::problem::{Problem, Report, Severity};
pub use task_file::{TaskFile, TaskFileError, load_task_file};
pub use tasks::declaration::DeclaredTasks;
pub use tasks::file_keys::file_only_keys;
pub use tasks::pinned::unpinned_module;

#[cfg(test)]
mod tests;
