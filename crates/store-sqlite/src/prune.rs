//! Forgets what is old.

use cts_store::{PLANS_KEPT, StoreError};
use sqlx::SqliteConnection;

use crate::row::failed_to;

pub(crate) async fn prune(connection: &mut SqliteConnection, keep: u32) -> Result<u64, StoreError> {
    let write = failed_to("forget old runs");
    let runs = sqlx::query(
        "-- prune: runs, and with them their events and log lines; index runs_ended
        DELETE FROM runs
        WHERE id IN (
            SELECT id
            FROM (SELECT id, kind, row_number() OVER (
                      PARTITION BY task_name, kind, status = 'cancelled'
                      ORDER BY created_at DESC, id DESC) AS place
                  FROM runs
                  WHERE status IN ('succeeded', 'failed', 'cancelled'))
            WHERE place > CASE kind WHEN 'plan' THEN ?2 ELSE ?1 END)",
    )
    .bind(keep)
    .bind(keep.min(PLANS_KEPT))
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    sqlx::query(
        "-- prune: inputs; index runs_input
        DELETE FROM inputs
        WHERE hash IN (
            SELECT i.hash FROM inputs i
            WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.input_hash = i.hash))",
    )
    .execute(connection)
    .await
    .map_err(&write)?;
    Ok(runs.rows_affected())
}
