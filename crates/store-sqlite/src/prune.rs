//! Forgets what is old.

use cts_store::{DRAFTS_KEPT, PLANS_KEPT, StoreError};
use sqlx::SqliteConnection;

use crate::row::{failed_to, span_micros};

pub(crate) async fn prune(
    connection: &mut SqliteConnection,
    keep: u32,
    now: i64,
) -> Result<u64, StoreError> {
    forget_drafts(connection, now).await?;
    let write = failed_to("forget old runs");
    let runs = sqlx::query(
        "-- prune: runs, and with them their events and log lines; earlier tasks of a name count together
        DELETE FROM runs
        WHERE id IN (
            SELECT id
            FROM (SELECT r.id, r.kind, row_number() OVER (
                      PARTITION BY r.task_name, t.name IS NULL, r.kind, r.status = 'cancelled'
                      ORDER BY r.created_at DESC, r.id DESC) AS place
                  FROM runs r
                  LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
                  WHERE r.status IN ('succeeded', 'failed', 'cancelled'))
            WHERE place > CASE kind WHEN 'apply' THEN ?1 ELSE ?2 END)",
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

/// Of what nobody waits for any more.
async fn forget_drafts(connection: &mut SqliteConnection, now: i64) -> Result<(), StoreError> {
    for statement in [
        "-- prune: drafts\nDELETE FROM tasks WHERE phase = 'discarded' AND updated_at <= ?",
        "-- prune: refused requests\nDELETE FROM run_requests WHERE refused_at <= ?",
    ] {
        sqlx::query(statement)
            .bind(now.saturating_sub(span_micros(DRAFTS_KEPT)))
            .execute(&mut *connection)
            .await
            .map_err(failed_to("forget drafts"))?;
    }
    Ok(())
}
