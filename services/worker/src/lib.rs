//! The worker: leases a run, renders its root module, runs Terraform in it, streams the log, renews the lease
//! and reports the end.
//!
//! The worker holds nothing that matters: directories and caches may be lost at any time. The worker uses gRPC clients
//! for the scheduler and `cts-terraform` for Terraform, and has no database. Consul and Vault are read only for the
//! dynamic values of providers and webhooks. Handlers after an apply are in `cts-handlers`. Start with [`Worker`].

mod attempt;
mod attempt_spans;
mod calls;
mod ended;
mod execute;
mod failed_runs;
mod health;
mod heartbeat;
mod journal;
mod lease;
mod leased_run;
mod log_lines;
mod metrics;
mod options;
mod outcome;
mod pending_approval;
mod redaction;
mod remote;
mod remote_driver;
mod run_log;
mod shared;
mod slots;
mod values;
mod worker;

pub use attempt::state::read::state_in_consul;
pub use options::{Dependencies, Driver, Options, ShutdownTokens};
pub use remote_driver::{RemoteDriver, RemoteSettings, RemoteSettingsError, WorkspaceSettings};
pub use values::{ValueSources, reads_secrets};
pub use worker::Worker;
