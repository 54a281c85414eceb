//! The blocks of a configuration other than tasks.

mod approvals;
mod database;
mod driver;
mod engines;
mod environment;
mod fleet_max_shrink;
mod high_availability;
mod page;
mod providers;
pub(crate) mod security;
mod services;
mod telemetry;
mod terraform_cloud;
mod vault;
mod webhooks;
