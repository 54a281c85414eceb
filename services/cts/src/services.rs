//! How the services are put together: all in one process, or each alone.

mod certificates;
pub(crate) mod client_limits;
pub(crate) mod connections;
pub(crate) mod database;
pub(crate) mod embedded;
pub(crate) mod engine;
pub(crate) mod host;
pub(crate) mod ignored_variables;
pub(crate) mod lock;
pub(crate) mod own_certificate;
pub(crate) mod registration;
pub(crate) mod reload;
pub(crate) mod security_settings;
pub(crate) mod settings;
pub(crate) mod single;
pub(crate) mod telemetry;
mod terraform_console;
pub(crate) mod unsafe_settings;
pub(crate) mod waiting;
pub(crate) mod wiring;
