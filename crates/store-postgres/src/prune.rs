//! Forgets what is old, in transactions so small that nothing waits long for what they hold.

use cts_core::EVENTS_KEPT;
use cts_store::{
    DRAFTS_KEPT, LINES_PRUNED_AT_ONCE, PLANS_KEPT, PRUNED_AT_ONCE, Retention, StoreError,
};
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use crate::inputs;
use crate::row::{failed_to, span_micros};

/// Key of the advisory lock of inputs: shared by whoever is about to refer to one, alone by whoever
/// removes those that nobody refers to.
pub(crate) const INPUTS_LOCK: i64 = 0x6374_735f_696e_7075;

/// Bundles that were not in use for so long are forgotten, in microseconds: a week.
const BUNDLE_LIFE: i64 = 7 * 24 * 3600 * 1_000_000;

const OPERATION: &str = "forget old runs";

pub(crate) async fn prune(
    connection: &mut PgConnection,
    retention: Retention,
) -> Result<u64, StoreError> {
    forget_drafts(connection).await?;
    forget_bundles(connection).await?;
    let old = old_runs(connection, retention).await?;
    let mut forgotten = 0;
    for runs in old.chunks(PRUNED_AT_ONCE) {
        while forget_lines(connection, runs).await? == u64::from(LINES_PRUNED_AT_ONCE) {}
        forgotten += forget_runs(connection, runs).await?;
    }
    let unused = unused_inputs(connection).await?;
    for inputs in unused.chunks(PRUNED_AT_ONCE) {
        forget_inputs(connection, inputs).await?;
    }
    Ok(forgotten)
}

async fn old_runs(
    connection: &mut PgConnection,
    retention: Retention,
) -> Result<Vec<Uuid>, StoreError> {
    let mut reading = long_reading(connection).await?;
    let runs = sqlx::query_scalar(
        "-- prune: old runs; earlier tasks of a name count together
        SELECT id
        FROM (SELECT r.id, r.kind, r.status, r.finished_at, t.name IS NOT NULL AS there,
                     row_number() OVER (
                         PARTITION BY r.task_name, t.name IS NULL, r.kind, r.status = 'cancelled'
                         ORDER BY r.created_at DESC, r.id DESC) AS place
              FROM runs r
              LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
              WHERE r.status IN ('succeeded', 'failed', 'cancelled')) ended
        WHERE place > CASE kind WHEN 'apply' THEN $1 ELSE $2 END
           OR finished_at < cts_now() - $3
              AND NOT (there AND kind = 'apply' AND status <> 'cancelled' AND place <= $4)",
    )
    .bind(i64::from(retention.runs))
    .bind(i64::from(retention.runs.min(PLANS_KEPT)))
    .bind(span_micros(retention.age))
    .bind(i64::try_from(EVENTS_KEPT).unwrap_or(i64::MAX))
    .fetch_all(&mut *reading)
    .await
    .map_err(failed_to(OPERATION))?;
    reading.commit().await.map_err(failed_to(OPERATION))?;
    Ok(runs)
}

/// A transaction that may look through everything. It only reads, so nothing waits for it.
async fn long_reading(
    connection: &mut PgConnection,
) -> Result<sqlx::PgTransaction<'_>, StoreError> {
    let mut reading = connection.begin().await.map_err(failed_to(OPERATION))?;
    sqlx::query("-- prune: it may take long\nSET LOCAL statement_timeout = '5min'")
        .execute(&mut *reading)
        .await
        .map_err(failed_to(OPERATION))?;
    Ok(reading)
}

/// A part of the logs of these runs: a log may be too long for one statement.
async fn forget_lines(connection: &mut PgConnection, runs: &[Uuid]) -> Result<u64, StoreError> {
    let deleted = sqlx::query(
        "-- prune: log lines
        DELETE FROM log_lines
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM log_lines WHERE run_id = ANY ($1) LIMIT $2))",
    )
    .bind(runs)
    .bind(i64::from(LINES_PRUNED_AT_ONCE))
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(deleted.rows_affected())
}

/// With their events.
async fn forget_runs(connection: &mut PgConnection, runs: &[Uuid]) -> Result<u64, StoreError> {
    let deleted = sqlx::query(
        "-- prune: runs
        DELETE FROM runs
        WHERE id = ANY ($1) AND status IN ('succeeded', 'failed', 'cancelled')",
    )
    .bind(runs)
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(deleted.rows_affected())
}

async fn forget_bundles(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query(
        "-- prune: bundles
        DELETE FROM bundles WHERE used_at <= cts_now() - $1",
    )
    .bind(BUNDLE_LIFE)
    .execute(connection)
    .await
    .map_err(failed_to("forget module bundles"))?;
    Ok(())
}

async fn unused_inputs(connection: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    let mut reading = long_reading(connection).await?;
    let inputs = sqlx::query_scalar(
        "-- prune: unused inputs; index runs_input
        SELECT i.hash FROM inputs i
        WHERE NOT EXISTS (SELECT FROM runs r WHERE r.input_hash = i.hash)",
    )
    .fetch_all(&mut *reading)
    .await
    .map_err(failed_to(OPERATION))?;
    reading.commit().await.map_err(failed_to(OPERATION))?;
    Ok(inputs)
}

/// Those of them that have not come into use since.
async fn forget_inputs(connection: &mut PgConnection, inputs: &[String]) -> Result<(), StoreError> {
    let write = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&write)?;
    sqlx::query("-- prune: nobody is about to refer to an input\nSELECT pg_advisory_xact_lock($1)")
        .bind(INPUTS_LOCK)
        .execute(&mut *transaction)
        .await
        .map_err(&write)?;
    // A statement of its own: runs that came while the lock was waited for are seen.
    let contents: Vec<i64> = sqlx::query_scalar(
        "-- prune: inputs; index runs_input
        WITH unused AS MATERIALIZED (
            SELECT i.hash FROM inputs i
            WHERE i.hash = ANY ($1)
              AND NOT EXISTS (SELECT FROM runs r WHERE r.input_hash = i.hash)
        ), forgotten AS (
            DELETE FROM inputs WHERE hash IN (SELECT hash FROM unused)
        )
        SELECT DISTINCT content_id FROM input_contents
        WHERE input_hash IN (SELECT hash FROM unused)",
    )
    .bind(inputs)
    .fetch_all(&mut *transaction)
    .await
    .map_err(&write)?;
    inputs::forget_contents(&mut transaction, &contents)
        .await
        .map_err(&write)?;
    transaction.commit().await.map_err(&write)
}

/// Of what nobody waits for any more. On its own, because tasks are locked after inputs.
async fn forget_drafts(connection: &mut PgConnection) -> Result<(), StoreError> {
    for statement in [
        "-- prune: drafts
        DELETE FROM tasks WHERE phase = 'discarded' AND updated_at <= cts_now() - $1",
        "-- prune: refused requests
        DELETE FROM run_requests WHERE refused_at <= cts_now() - $1",
    ] {
        sqlx::query(statement)
            .bind(span_micros(DRAFTS_KEPT))
            .execute(&mut *connection)
            .await
            .map_err(failed_to("forget drafts"))?;
    }
    Ok(())
}
