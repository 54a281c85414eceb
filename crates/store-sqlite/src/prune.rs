//! Forgets old rows, in transactions small enough that no call waits long for the one connection that writes.

use cts_core::EVENTS_KEPT;
use cts_store::{LINES_PRUNED_AT_ONCE, PLANS_KEPT, PRUNED_AT_ONCE, Retention, StoreError};
use cts_store_sql::{Durability, housekeeping};
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::bundles;
use crate::call::shared;
use crate::inputs;
use crate::pools::Pools;
use crate::row::{failed_to, span_micros};
use crate::space;

const OPERATION: &str = "forget old runs";

pub(crate) async fn prune(
    pools: &Pools,
    retention: Retention,
    now: i64,
) -> Result<u64, StoreError> {
    let mut write = pools.writer.begin(Durability::Process).await?;
    housekeeping::forget_drafts(&mut shared(&mut write, now)).await?;
    housekeeping::forget_lost_leases(&mut shared(&mut write, now), retention.age).await?;
    write.commit().await?;
    bundles::prune(pools, now).await?;
    let old = old_runs(&pools.reader, retention, now).await?;
    let mut forgotten = 0;
    for runs in old.chunks(PRUNED_AT_ONCE) {
        for run in runs {
            forget_lines(pools, run).await?;
        }
        let mut write = pools.writer.begin(Durability::Process).await?;
        forgotten += forget_runs(&mut write, runs).await?;
        write.commit().await?;
    }
    for unused in unused_inputs(&pools.reader).await?.chunks(PRUNED_AT_ONCE) {
        let mut write = pools.writer.begin(Durability::Process).await?;
        inputs::forget(&mut write, unused)
            .await
            .map_err(failed_to(OPERATION))?;
        write.commit().await?;
    }
    space::give_back(pools).await?;
    Ok(forgotten)
}

async fn old_runs(
    reader: impl SqliteExecutor<'_>,
    retention: Retention,
    now: i64,
) -> Result<Vec<String>, StoreError> {
    sqlx::query_scalar(
        "-- prune: old runs; indexes events_run, events_task, runs_ended; earlier tasks of a name count together
        SELECT id
        FROM (SELECT r.id, r.task_name, r.incarnation, r.kind, r.status, r.created_at, r.finished_at,
                     t.name IS NOT NULL AS there,
                     row_number() OVER (
                         PARTITION BY r.task_name, t.name IS NULL, r.kind, r.status = 'cancelled'
                         ORDER BY r.created_at DESC, r.id DESC) AS place
              FROM runs r
              LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
              WHERE r.status IN ('succeeded', 'failed', 'cancelled')) old
        WHERE (place > CASE kind WHEN 'apply' THEN ?1 ELSE ?2 END
           OR finished_at < ?3
              AND NOT (there AND kind = 'apply' AND status <> 'cancelled' AND place <= ?4)
              AND NOT (there AND kind = 'apply' AND status = 'cancelled' AND EXISTS (
                  SELECT 1 FROM events e
                  WHERE e.run_id = old.id AND ?4 > (
                      SELECT count(*) FROM events newer
                      WHERE newer.task_name = e.task_name AND newer.incarnation = e.incarnation
                        AND newer.position > e.position))))
          AND NOT (?1 > 0 AND there AND kind = 'apply' AND status = 'succeeded' AND NOT EXISTS (
              SELECT 1 FROM runs newer
              WHERE newer.status IN ('succeeded', 'failed', 'cancelled')
                AND (newer.status = 'cancelled') = 0 AND newer.status = 'succeeded'
                AND newer.task_name = old.task_name AND newer.incarnation = old.incarnation
                AND newer.kind = 'apply' AND (newer.created_at, newer.id) > (old.created_at, old.id)))",
    )
    .bind(retention.runs)
    .bind(retention.runs.min(PLANS_KEPT))
    .bind(now.saturating_sub(span_micros(retention.age)))
    .bind(i64::try_from(EVENTS_KEPT).unwrap_or(i64::MAX))
    .fetch_all(reader)
    .await
    .map_err(failed_to(OPERATION))
}

/// Forgets all lines of one log except the last, which are removed with their run: a log may be too long for one
/// transaction.
async fn forget_lines(pools: &Pools, run: &str) -> Result<(), StoreError> {
    loop {
        let longer: Option<i64> = sqlx::query_scalar(
            "-- prune: how long the log is
            SELECT position FROM log_lines WHERE run_id = ? LIMIT 1 OFFSET ?",
        )
        .bind(run)
        .bind(LINES_PRUNED_AT_ONCE)
        .fetch_optional(&pools.reader)
        .await
        .map_err(failed_to(OPERATION))?;
        if longer.is_none() {
            return Ok(());
        }
        let mut write = pools.writer.begin(Durability::Process).await?;
        sqlx::query(
            "-- prune: log lines
            DELETE FROM log_lines
            WHERE run_id = ?1
              AND position IN (SELECT position FROM log_lines WHERE run_id = ?1 LIMIT ?2)",
        )
        .bind(run)
        .bind(LINES_PRUNED_AT_ONCE)
        .execute(&mut *write)
        .await
        .map_err(failed_to(OPERATION))?;
        write.commit().await?;
    }
}

/// Deletes the runs with their events and the rest of their logs.
async fn forget_runs(
    connection: &mut SqliteConnection,
    runs: &[String],
) -> Result<u64, StoreError> {
    let deleted = sqlx::query(
        "-- prune: runs
        DELETE FROM runs
        WHERE id IN (SELECT value FROM json_each(?))
          AND status IN ('succeeded', 'failed', 'cancelled')",
    )
    .bind(serde_json::json!(runs).to_string())
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(deleted.rows_affected())
}

async fn unused_inputs(reader: impl SqliteExecutor<'_>) -> Result<Vec<String>, StoreError> {
    sqlx::query_scalar(
        "-- prune: unused inputs; index runs_input
        SELECT i.hash FROM inputs i
        WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.input_hash = i.hash)",
    )
    .fetch_all(reader)
    .await
    .map_err(failed_to(OPERATION))
}
