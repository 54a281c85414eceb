//! The composition root: reads configuration and environment, builds the adapters, connects them to the services, and
//! runs all services in one process ([`Embedded`]) or a single service.
//!
//! This is the only crate that depends on every other crate, and the only crate that reads the process's arguments,
//! environment, directory and signals. Nothing in this crate is global, so several [`Embedded`] instances can live in
//! one process.
//!
//! Read `entry` and `program` (from the arguments to the exit code), then `services` or `commands`.

mod commands;
mod engine_error;
mod entry;
mod failure;
mod first_lines;
mod guard_lines;
mod listeners;
mod place_error;
mod private_environment;
mod program;
mod services;
mod time_zone;

pub use cts_runtime::{LogFormat, ProcessEnv};
pub use failure::Failure;
pub use program::run_program;
pub use services::embedded::{Embedded, Sockets, StartMode, StartOptions};
pub use services::telemetry::Observation;
pub use services::wiring::AbsentPeers;
