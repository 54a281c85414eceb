//! Archives of the rows that resets of the storage removed.
//!
//! A reset first copies every row that it removes into an archive, in the same transaction.

use chrono::{DateTime, Utc};
use cts_core::ArchiveId;

/// Largest number of archives kept, so that a process that is started with a reset each time does not fill the disk.
pub const ARCHIVES_KEPT: u32 = 10;

/// Summary of an archive: the rows that one reset removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Identity.
    pub id: ArchiveId,
    /// Time of the reset.
    pub created_at: DateTime<Utc>,
    /// Number of removed tasks.
    pub tasks: u64,
    /// Number of removed runs.
    pub runs: u64,
    /// Number of rows in all tables.
    pub rows: u64,
}

/// One removed row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedRow {
    /// Position of the row in the archive, from 1: by table, and within a table in the order of creation.
    pub position: u64,
    /// The table: `tasks`, `deleted_tasks`, `tick_events`, `runs`, `events` or `log_lines`.
    pub table: String,
    /// The columns as a JSON object, with their names and stored values. Bytes are hexadecimal.
    pub content: String,
}
