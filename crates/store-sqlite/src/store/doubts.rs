//! A file has no timelines.

use cts_store::Continuity;

use super::SqliteStore;

impl Continuity for SqliteStore {}
