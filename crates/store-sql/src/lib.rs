//! The methods of the store that SQLite and Postgres share.
//!
//! A method runs [statements](sql) over a [`Connection`]. Statements have the same text for both databases except for
//! a few [words](Dialect); where they differ more, the method has one text for each database. Acquire, enqueue, prune
//! and the statement with which Postgres ends an apply that succeeded are implemented per database, because their
//! speed depends on the database.
//!
//! Where rows are locked, the order is that of `cts-store-postgres`.
#![warn(missing_docs)]

mod archive;
pub mod attempt_ends;
mod attempts;
pub mod audit;
pub mod bundles;
pub mod cancel;
pub mod changes;
pub mod checks;
mod conditions;
pub mod configurations;
pub mod configure;
mod connection;
mod current_task;
mod database;
pub mod destruction;
mod dialect;
pub mod endings;
mod enqueue;
pub mod events;
pub mod export;
pub mod facts;
pub mod failed_starts;
pub mod housekeeping;
pub mod inputs;
pub mod leadership;
pub mod leases;
mod log_space;
pub mod logs;
mod metrics;
pub mod page;
mod prune;
pub mod queue;
mod reclaim;
mod release_all;
pub mod remote_runs;
mod repeat;
pub mod requests;
pub mod restored;
pub mod schema;
mod server_log;
mod set_back;
pub mod settings;
pub mod shrink_limits;
mod statement;
mod store;
pub mod tables;
pub mod tasks;
pub mod terraform_states;
pub mod tick_events;
pub mod tokens;
mod value;
pub mod workers;

pub use connection::{Connection, Row};
pub use database::{
    Connections, Database, Durability, Failure, Intent, Length, Outcome, Session, is_repeatable,
    late, outcome, unanswered,
};
pub use dialect::Dialect;
pub use server_log::ServerLog;
pub use statement::{
    Decode, Statement, bytes, failed_to, flag, integer, is_stopping, sql, text, text_if_any,
};
pub use store::SqlStore;
pub use value::{Bind, Value};
