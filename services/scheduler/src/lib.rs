//! The scheduler: decides which task must run, when and with which input, grants leases, and keeps
//! task, run and event state.
//!
//! It talks to watchers through their gRPC client and to a [`cts_store::Store`]; it never asks Consul
//! and never runs Terraform. Start with [`Scheduler`]; the rules themselves are in `cts-core`, their
//! bookkeeping is in `desk`.

mod changes;
mod desk;
mod duty;
mod follow;
mod identities;
mod log_service;
mod recent_inputs;
mod run_service;
mod scheduler;
mod status;
mod task_service;

pub use identities::{Identities, RandomIdentities};
pub use scheduler::{Dependencies, Options, RunError, Scheduler, SettingsDigest};
