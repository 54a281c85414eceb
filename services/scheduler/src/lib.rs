//! The scheduler: decides which task must run, when and with which input, grants leases, and keeps task, run
//! and event state.
//!
//! Talks to watchers through their gRPC client and to a [`cts_store::Store`]; never queries Consul and never
//! runs Terraform. Any replica answers any request; work that needs a single owner is done by the replica that
//! leads. The rules themselves are in `cts-core`. Read in this order:
//!
//! * [`Scheduler`]: how a replica is put together;
//! * `leader`: election, the terms of a leader, and the loop that turns changes and requests into queued runs;
//! * `planner`: which task is due, as bookkeeping without IO;
//! * `watch`: the views that tasks need, from watchers;
//! * `tasks`: creating, changing and deleting tasks;
//! * `configuration`: which task blocks are in force;
//! * `grpc`: the services that others call;
//! * `approval`: what the rules about consent see of a plan;
//! * `audit`: the records of calls; `tokens`: tokens and sessions, which change while the scheduler runs;
//! * `notifier`: hints that something has changed, in this process and between replicas;
//! * `explain`: why a task ran, or waits.

mod approval;
mod audit;
mod check_pass;
mod configuration;
mod explain;
mod grpc;
mod identities;
mod leader;
mod liveness;
mod metrics;
mod mode;
mod moment;
mod notifier;
mod options;
mod planner;
mod run_spans;
mod scheduler;
mod status;
mod tasks;
mod term;
mod tokens;
mod unschedulable;
mod watch;
mod wire;

pub use approval::needed::{NeededConsent, needed_consent};
pub use configuration::FileTasks;
pub use grpc::local_consent::local_consent;
pub use identities::{Identities, RandomIdentities};
pub use mode::Mode;
pub use options::{Audit, Dependencies, NextTick, Options, RunError, Sharing, Workers};
pub use scheduler::Scheduler;
pub use tasks::disabled_checks::DisabledChecks;
pub use tasks::modules::{Modules, NamedBy};
pub use tasks::reader::TaskReader;
pub use tasks::run_requests::RunRequests;
pub use tokens::Tokens;
