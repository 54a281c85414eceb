//! Forgets what is old.

use cts_store::StoreError;
use sqlx::SqliteConnection;

use crate::row::failed_to;

pub(crate) async fn prune(connection: &mut SqliteConnection, keep: u32) -> Result<u64, StoreError> {
    let write = failed_to("forget old runs");
    let runs = sqlx::query(
        "-- prune: runs, and with them their events and log lines; index runs_task
        DELETE FROM runs
        WHERE status NOT IN ('queued', 'running')
          AND id NOT IN (
            SELECT n.id FROM runs n WHERE n.task_name = runs.task_name
            ORDER BY n.created_at DESC, n.id DESC LIMIT ?)",
    )
    .bind(keep)
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    sqlx::query(
        "-- prune: inputs; index runs_input
        DELETE FROM inputs
        WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.input_hash = inputs.hash)",
    )
    .execute(connection)
    .await
    .map_err(&write)?;
    Ok(runs.rows_affected())
}
