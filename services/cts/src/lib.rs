//! The composition root: reads configuration and surroundings, builds the adapters, connects them to
//! the services and runs them, all in one process ([`Embedded`]) or one alone.
//!
//! This is the only crate that sees every other one, and the only one that asks the process for its
//! arguments, environment, directory and signals. Nothing in it is global, so several [`Embedded`]
//! instances can live in one process.

mod archive;
mod arguments;
mod cluster;
mod config_command;
mod database;
mod embedded;
mod entry;
mod failure;
mod invocation;
mod links;
mod lock;
mod migrate;
mod parts;
mod pass;
mod program;
mod registration;
mod scheduler_call;
mod settings;
mod single;
mod surroundings;
mod task_command;
mod terraform_console;
mod workers;

pub use cts_scheduler::Mode;
pub use embedded::{Beginning, Embedded, Sockets};
pub use failure::Failure;
pub use program::run_program;
pub use surroundings::Surroundings;
