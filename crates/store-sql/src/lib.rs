//! The methods of the store that SQLite and Postgres share.
//!
//! A method runs [statements](sql) over a [`Connection`]. Statements have the same text for both databases except for
//! a few [words](Dialect); where the plans of Postgres need it, the method has one text for each database. Acquire, the
//! bytes of inputs and the statement with which Postgres ends an apply that succeeded are implemented per database,
//! because their speed depends on the database.
//!
//! Where rows are locked, the order is that of `cts-store-postgres`.

mod access;
mod configuration;
mod database;
mod methods;
mod metrics;
mod query;
mod server_log;
mod store;
pub mod tables;
mod transfer;

pub use access::{audit, sessions, tokens};
pub use configuration::{configurations, settings};
pub use database::{
    Connections, Database, Durability, Failure, Intent, Length, Outcome, Session, is_repeatable,
    late, outcome, unanswered,
};
pub use methods::lease::{leadership, leases, workers};
pub(crate) use methods::lease::{reclaim, release_all, set_back};
pub use methods::run::{
    approval_decisions, approvals, attempt_ends, cancel, effects, endings, events, failed_starts,
    inputs, logs, plans, queue, remote_runs, requests, shown_effects,
};
pub(crate) use methods::run::{attempts, braked_runs, causes, enqueue, repeat};
pub(crate) use methods::task::current_task;
pub use methods::task::{
    brake, changes, checks, configure, destruction, facts, shrink_limits, tasks, terraform_states,
    tick_events,
};
pub(crate) use methods::upkeep::{archive, log_space, prune, times};
pub use methods::upkeep::{bundles, housekeeping};
pub(crate) use query::conditions;
pub use query::connection::{Connection, Row};
pub use query::dialect::Dialect;
pub use query::statement::{
    Decode, Statement, bytes, failed_to, flag, integer, is_stopping, sql, text, text_if_any,
};
pub use query::value::{Bind, Value};
pub use server_log::ServerLog;
pub use store::SqlStore;
pub use transfer::{export, page, restored, schema};
