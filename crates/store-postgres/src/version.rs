//! The version of the states of tasks.
//!
//! Triggers draw a number for a task whose state changes (`task_versions`). Runs in progress, logs and heartbeats
//! change no state, so they cause no new read of all states.

use std::sync::Arc;

use cts_store::StoreError;
use parking_lot::Mutex;
use sqlx::PgConnection;

use crate::row::failed_to;

/// The version of the states, as last read. Cheap to clone; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Version(Arc<Mutex<KnownVersion>>);

#[derive(Debug, Clone, Default)]
struct KnownVersion {
    /// Snapshot of the visible transactions: it changes with each transaction that has written.
    snapshot: String,
    version: String,
}

impl Version {
    /// A digest over the versions of all tasks, computed only if a transaction has written since the last call.
    pub(crate) async fn read(&self, connection: &mut PgConnection) -> Result<String, StoreError> {
        let known = self.0.lock().clone();
        let (snapshot, version): (String, Option<String>) = sqlx::query_as(
            "-- version
            SELECT seen, CASE WHEN seen <> $1 THEN (
                SELECT concat(count(*), '.', sum(hashtextextended(task_name, version)))
                FROM task_versions) END
            FROM (SELECT pg_current_snapshot()::TEXT AS seen) AS now",
        )
        .bind(&known.snapshot)
        .fetch_one(connection)
        .await
        .map_err(failed_to("read the version of the states"))?;
        let Some(version) = version else {
            return Ok(known.version);
        };
        *self.0.lock() = KnownVersion {
            snapshot,
            version: version.clone(),
        };
        Ok(version)
    }
}
