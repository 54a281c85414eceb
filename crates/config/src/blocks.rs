//! Blocks of the top level, one file each: the settings, their defaults and limits, and how they are read.

pub(crate) mod approvals;
pub(crate) mod buffer;
pub(crate) mod client_limits;
pub(crate) mod client_tls;
pub(crate) mod consul;
pub(crate) mod database;
pub(crate) mod driver;
pub(crate) mod environment;
pub(crate) mod fleet_max_shrink;
pub(crate) mod gateway;
pub(crate) mod high_availability;
pub(crate) mod license;
pub(crate) mod provider;
pub(crate) mod required_providers;
pub(crate) mod scheduler;
pub(crate) mod security;
pub(crate) mod services;
pub(crate) mod syslog;
pub(crate) mod telemetry;
pub(crate) mod terraform_cloud;
pub(crate) mod tls;
pub(crate) mod transport;
pub(crate) mod vault;
pub(crate) mod webhook;
pub(crate) mod worker;
