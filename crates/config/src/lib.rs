//! Finds the configuration files, decodes them, applies environment and defaults, and yields validated values
//! or a report of *all* problems, each with file, line, column and source line.
//!
//! The formats and rules are those of docs/configuration.md. Nothing here opens a connection or looks at the
//! process: environment, current directory and host name come in with [`LoadContext`], and only
//! `environment.rs` names variables. The effect of a task's settings is unknown here.
//!
//! Start from [`load()`], [`Config`] and [`Report`].
#![warn(missing_docs)]

mod block;
mod buffer;
mod checks;
mod client_limits;
mod client_tls;
mod cloud_workspace;
mod coerce;
mod condition;
mod config;
mod consul;
mod database;
mod deprecated;
mod driver;
mod dump;
mod environment;
mod free_form;
mod gateway;
mod guard;
mod high_availability;
mod json;
mod license;
mod limits;
mod load;
mod mask;
mod module_input;
mod module_source;
mod place;
mod problem;
mod provider;
mod query;
mod scheduler;
mod security;
mod service_block;
mod services;
mod sink;
mod source;
mod suggestion;
mod syslog;
mod task;
mod task_declaration;
mod task_file;
mod template;
mod terraform_cloud;
mod timeouts;
mod tls;
mod token_file;
mod top_level;
mod transport;
mod tree;
mod variables;
mod vault;
mod webhook;
mod worker;

pub use client_limits::{ClientLimit, GatewayLimits, ServicesLimits};
pub use client_tls::ClientTls;
pub use config::{Config, LogLevel};
pub use consul::{BasicAuth, ConsulConfig, DefaultCheck, ServiceRegistration};
pub use database::DatabaseConfig;
pub use driver::{BackendRefusal, ReleaseSource, TerraformDriver};
pub use dump::{dump, dump_json};
pub use gateway::{GatewayConfig, GatewayMode};
pub use high_availability::{HaStorage, HighAvailability};
pub use load::{ConfigError, LoadContext, Loaded, check, load};
pub use problem::{Problem, Report, Severity};
pub use scheduler::{OnTakeover, SchedulerConfig};
pub use security::{KeyFileError, SecurityConfig};
pub use services::{ServicesConfig, ServicesTls};
pub use syslog::{SyslogConfig, SyslogFacility};
pub use task_declaration::DeclaredTasks;
pub use task_file::{DeprecatedUse, TaskFile, TaskFileError, load_task_file};
pub use terraform_cloud::{CloudWorkspaces, TerraformCloudDriver};
pub use tls::ApiTls;
pub use transport::Transport;
pub use vault::VaultConfig;
pub use webhook::WebhookConfig;
pub use worker::WorkerConfig;

#[cfg(test)]
mod tests;
