//! The store of the embedded mode: one SQLite file.
//!
//! One connection writes, a few read; the write-ahead log lets them work at the same time. Commits are
//! not synced to the disk one by one (`synchronous = NORMAL`): nothing is lost when a process dies,
//! and after a power cut the file is consistent and at most the last moments are missing, which the
//! next snapshot of Consul brings back.
//!
//! It knows SQLite and nothing else of the world. Start with [`SqliteStore::open`].

mod bundles;
mod changes;
mod complete;
mod configure;
mod connection;
mod enqueue;
mod export;
mod leadership;
mod lease;
mod logs;
mod prune;
mod queue;
mod requests;
mod row;
mod runs;
mod states;
mod store;
mod tasks;
mod version;
mod workers;

pub use export::{FileError, SqliteExport};
pub use store::SqliteStore;
