//! The store of the cluster shape: a Postgres database, version 13 or newer, shared by every scheduler.
//!
//! Every time comes from the database (`cts_now()` of the schema); no host's clock decides anything. Hints between
//! the processes use `NOTIFY`, outside of the transactions.
//!
//! Locks are taken in this order, so that no deadlocks occur: the advisory lock of leadership, the advisory lock of
//! inputs, rows of `tasks` by name, rows of `runs`. A change of a queued or running run, or of a request, has locked
//! its task; appending to a log and renewing a lease lock only the run. The advisory lock of a concurrency group is
//! tried and never waited for. Writers of sessions, and revocations of tokens, lock the row of `session_head` before
//! rows of `access_tokens` and `sessions`.
//!
//! Before its first use, each connection is compared with the stored timeline: a failover may have lost commits
//! (`timeline`).
//!
//! This crate uses Postgres and nothing else outside of the process. Start with [`connect`]
//! and [`migrate`].

mod call;
mod complete;
mod connection;
mod database;
mod doubts;
mod election_connection;
mod hints;
mod inputs;
mod inspection;
mod leadership;
mod lease;
mod pooling;
mod row;
mod schema;
mod session;
mod statistics;
mod timeline;
mod transfer;
mod version;

pub use connection::{Settings, absence, is_unverified_over_network};
pub use database::{PostgresDatabase, PostgresStore, connect};
pub use inspection::{Inspection, ServerState, TlsMode, applied_states, inspect};
pub use pooling::PoolerError;
pub use schema::{AppliedMigration, SchemaError, SchemaState, migrate, pending};
pub use transfer::{NotEmpty, PostgresImport, check_empty, export};
