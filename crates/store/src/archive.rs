//! Archives of the rows that resets of the storage have removed.
//!
//! A reset copies every row that it removes into an archive first, in the same transaction.

use chrono::{DateTime, Utc};
use cts_core::ArchiveId;

/// Largest number of archives kept: a process that is started with a reset each time must not fill the disk.
pub const ARCHIVES_KEPT: u32 = 10;

/// Summary of an archive: the rows that one reset has removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Identity.
    pub id: ArchiveId,
    /// When that was.
    pub created_at: DateTime<Utc>,
    /// How many tasks were removed.
    pub tasks: u64,
    /// How many runs.
    pub runs: u64,
    /// Number of rows in all tables.
    pub rows: u64,
}

/// One removed row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedRow {
    /// Position of the row in the archive, from 1: by table, and in each table in the order in which its rows
    /// were made.
    pub position: u64,
    /// The table: `tasks`, `deleted_tasks`, `tick_events`, `runs`, `events` or `log_lines`.
    pub table: String,
    /// The columns as a JSON object, with their names and stored values. Bytes are hexadecimal.
    pub content: String,
}
