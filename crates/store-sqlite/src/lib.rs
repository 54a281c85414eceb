//! The store of the embedded mode: one SQLite file.
//!
//! One connection writes, a few read; the write-ahead log lets them work at the same time. Commits that answer a
//! client of the API or end an attempt wait for the disk (`synchronous = FULL`), and with each of them all earlier
//! commits are on the disk. All other commits do not wait (`NORMAL`): nothing is lost when a process dies; a power
//! cut may lose the last of these commits, which the next snapshot of Consul or the next start restores. Leases are
//! among these commits: no input counts as applied after a power cut.
//!
//! A file that was not closed in order before the machine started again may have lost commits nevertheless, on a disk
//! that does not keep its promises, or as a copy of any age: in that file the last applied inputs are forgotten.
//!
//! This crate uses SQLite and nothing else outside of the process. Start with [`open`].

mod call;
mod connection;
mod continuity;
mod database;
mod export;
mod inputs;
mod lease;
mod pools;
mod row;
mod schema;
mod space;
mod version;
mod writer;

pub use cts_store_sql::export::{Counts, SqlExport};
pub use database::{SqliteDatabase, SqliteStore, attach, open};
pub use export::{FileError, export};
