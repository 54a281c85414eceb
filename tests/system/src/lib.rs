//! The steps that whole-system tests share: a directory of their own ([`Site`]) with configuration and
//! modules, `cts` processes in it ([`Instance`], [`Process`]), and questions to the API ([`Api`]).
//!
//! The tests are in `tests/it`. They run the built executables with a real Consul and a real Terraform,
//! listen on loopback only and leave no process behind, also when they fail. Nothing here knows what is
//! tested.
#![warn(missing_docs)]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "this is test code: what cannot go on must fail the test, with a clear text"
)]

mod api;
mod instance;
mod leftovers;
mod modules;
mod process;
mod programs;
mod site;
mod state;

pub use api::Api;
pub use instance::Instance;
pub use modules::{RECORDER, STEP_SCRIPT, STEPS, task};
pub use process::{Exit, Process};
pub use programs::executable;
pub use site::{Backend, LOCAL_BACKEND, Site};
pub use state::{ids_of, recorded_services};

/// How long anything may take that is not measured. Far more than a loaded machine needs.
pub const DEADLINE: std::time::Duration = std::time::Duration::from_mins(2);
