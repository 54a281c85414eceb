//! Finds the configuration files, decodes them, applies environment and defaults, and yields
//! validated values or a report of *all* problems, each with file, line, column and source line.
//!
//! The formats and rules are those of spec/config.md. Nothing here opens a connection or looks at
//! the process: environment, current directory and host name come in with [`LoadContext`], and
//! only `environment.rs` names variables. What a task does with its settings is unknown here.
//!
//! Start from [`load()`], [`Config`] and [`Report`].
#![warn(missing_docs)]

mod block;
mod buffer;
mod coerce;
mod condition;
mod config;
mod consul;
mod database;
mod driver;
mod duration;
mod environment;
mod free_form;
mod gateway;
mod high_availability;
mod limits;
mod load;
mod mask;
mod module_source;
mod place;
mod problem;
mod provider;
mod scheduler;
mod services;
mod sink;
mod source;
mod suggestion;
mod task;
mod template;
mod top_level;
mod tree;
mod variables;
mod worker;

pub use config::{Config, LogLevel};
pub use consul::{
    BasicAuth, ConsulConfig, ConsulTls, DefaultCheck, ServiceRegistration, Transport,
};
pub use database::DatabaseConfig;
pub use driver::{BackendRefusal, TerraformDriver};
pub use gateway::{GatewayConfig, GatewayMode};
pub use high_availability::{HaStorage, HighAvailability};
pub use load::{ConfigError, LoadContext, Loaded, load};
pub use problem::{Problem, Report, Severity};
pub use scheduler::{OnTakeover, SchedulerConfig};
pub use services::{ServicesConfig, ServicesTls};
pub use worker::WorkerConfig;

#[cfg(test)]
mod tests;
