//! The steps that whole-system tests share: a directory of their own ([`Site`]) with configuration and modules,
//! `cts` processes in it ([`Instance`], [`Cluster`], [`Process`]), and requests to the API ([`Api`]).
//!
//! `CTS_TEST_SHAPE` chooses the shape ([`Shape`]) of most tests; the tests in `tests/cluster` are about
//! clusters only. They run the built executables with a real Consul and a real Terraform, listen on loopback
//! only and leave no process running, also when they fail. Nothing here depends on what is tested.
#![warn(missing_docs)]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "this is test code: what cannot go on must fail the test, with a clear text"
)]

mod api;
mod clocks;
mod cluster;
mod driver;
mod environment;
mod health;
mod instance;
mod launcher;
mod leftovers;
mod metrics;
mod modules;
mod other_user;
mod process;
mod programs;
mod remote;
mod shape;
mod site;
mod state;
mod workspaces;

pub use api::{Api, assert_successful};
pub use clocks::{clock_files, install_clocks, set_clock};
pub use cluster::{Cluster, Plan, Service};
pub use driver::Driver;
pub use health::serving;
pub use instance::Instance;
pub use launcher::Launcher;
pub use metrics::{
    DocumentedMetric, Scrape, documented_metrics, scrape, scrape_address, scrape_request,
};
pub use modules::{KEY_RECORDER, MADE_FILE, RECORDER, STEP_SCRIPT, STEPS, task};
pub use process::{Exit, Process};
pub use programs::{executable, link};
pub use remote::{RemoteServer, start_stub};
pub use shape::Shape;
pub use site::{Backend, LOCAL_BACKEND, Site};
pub use state::{ids_of, recorded_keys, recorded_services};

/// How long anything may take that is not measured. Far more than a loaded machine needs.
pub const DEADLINE: std::time::Duration = std::time::Duration::from_mins(2);

/// The answer of a probe of `eventually`: whether a condition is met, or else this complaint.
pub fn met<E>(condition: bool, complaint: E) -> Result<(), E> {
    if condition { Ok(()) } else { Err(complaint) }
}
