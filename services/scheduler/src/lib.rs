//! The scheduler: decides which task must run, when and with which input, grants leases, and keeps
//! task, run and event state.
//!
//! It talks to watchers through their gRPC client and to a [`cts_store::Store`]; it never asks Consul
//! and never runs Terraform. Any replica answers any request; what needs a single owner is in `tenure`,
//! which the replica serves that `campaign` has made the leader. Start with [`Scheduler`]; the rules
//! themselves are in `cts-core`, their bookkeeping is in `desk`.

mod bundle_service;
mod campaign;
mod changes;
mod cluster_service;
mod compatibility;
mod configuration;
mod desk;
mod duty;
mod explain;
mod follow;
mod followed_logs;
mod following;
mod hints;
mod identities;
mod log_service;
mod mode;
mod modules;
mod queue_watch;
mod recent_inputs;
mod removals;
mod run_service;
mod scheduler;
mod status;
mod task_reader;
mod task_service;
mod task_work;
mod tenure;
mod term;
mod untaken;
mod worker_service;

pub use identities::{Identities, RandomIdentities};
pub use mode::Mode;
pub use modules::Modules;
pub use scheduler::{Dependencies, Options, RunError, Scheduler, SettingsDigest, Sharing};
pub use task_reader::TaskReader;
