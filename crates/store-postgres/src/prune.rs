//! Forgets old rows, in transactions small enough that no call waits long for their locks.

use cts_core::EVENTS_KEPT;
use cts_store::{LINES_PRUNED_AT_ONCE, PLANS_KEPT, PRUNED_AT_ONCE, Retention, StoreError};
use cts_store_sql::destruction::INPUTS_LOCK;
use cts_store_sql::housekeeping;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use crate::call::shared;
use crate::row::{failed_to, span_micros};
use crate::{bundles, inputs};

const OPERATION: &str = "forget old runs";

/// Number of task names whose runs one statement reads.
const NAMES_AT_ONCE: i64 = 100;

/// Maximum number of runs or inputs that one statement finds.
const FOUND_AT_ONCE: usize = 1_000;

pub(crate) async fn prune(
    connection: &mut PgConnection,
    retention: Retention,
) -> Result<u64, StoreError> {
    // In a separate transaction, because tasks are locked after inputs.
    housekeeping::forget_drafts(&mut shared(connection)).await?;
    housekeeping::forget_lost_leases(&mut shared(connection), retention.age).await?;
    bundles::prune(connection).await?;
    let mut forgotten = 0;
    let mut names = next_names(connection, "").await?;
    while let Some(last) = names.last() {
        loop {
            let surplus = surplus(connection, &names, retention).await?;
            forgotten += forget(connection, &surplus).await?;
            if surplus.len() < FOUND_AT_ONCE {
                break;
            }
        }
        names = next_names(connection, last).await?;
    }
    let mut position = Some(PrunePosition::default());
    while let Some(before) = position {
        let outdated = outdated(connection, retention, before).await?;
        let runs: Vec<_> = outdated.iter().map(|position| position.run).collect();
        forgotten += forget(connection, &runs).await?;
        position = outdated.last().copied();
    }
    let mut position = Some(String::new());
    while let Some(before) = position {
        let (last, unused) = next_inputs(connection, &before).await?;
        for inputs in unused.chunks(PRUNED_AT_ONCE) {
            forget_inputs(connection, inputs).await?;
        }
        position = last;
    }
    Ok(forgotten)
}

/// The next names of tasks with runs, after this name.
async fn next_names(connection: &mut PgConnection, after: &str) -> Result<Vec<String>, StoreError> {
    sqlx::query_scalar(
        "-- prune: names; index runs_task, from each name to the next one
        WITH RECURSIVE names (name) AS (
            (SELECT task_name FROM runs WHERE task_name > $1 ORDER BY task_name LIMIT 1)
            UNION ALL
            SELECT (SELECT r.task_name FROM runs r WHERE r.task_name > n.name
                    ORDER BY r.task_name LIMIT 1)
            FROM names n WHERE n.name IS NOT NULL
        )
        SELECT name FROM names WHERE name IS NOT NULL LIMIT $2",
    )
    .bind(after)
    .bind(NAMES_AT_ONCE)
    .fetch_all(connection)
    .await
    .map_err(failed_to(OPERATION))
}

/// Runs beyond the number to keep, of tasks with these names; at most [`FOUND_AT_ONCE`].
async fn surplus(
    connection: &mut PgConnection,
    names: &[String],
    retention: Retention,
) -> Result<Vec<Uuid>, StoreError> {
    sqlx::query_scalar(
        "-- prune: surplus; indexes runs_results, runs_cancelled; earlier tasks of a name count together
        SELECT surplus.id
        FROM unnest($1::TEXT[]) AS n (name)
        LEFT JOIN tasks t ON t.name = n.name
        CROSS JOIN LATERAL (VALUES
            (t.incarnation, 9223372036854775807),
            (0, coalesce(t.incarnation - 1, 9223372036854775807))) AS life (first, last)
        CROSS JOIN (VALUES ('apply', $2), ('plan', $3), ('check', $3)) AS k (kind, kept)
        CROSS JOIN LATERAL (
            (SELECT r.id, r.status, r.incarnation, r.created_at FROM runs r
             WHERE r.status IN ('succeeded', 'failed') AND r.task_name = n.name AND r.kind = k.kind
               AND r.incarnation BETWEEN life.first AND life.last
             ORDER BY r.incarnation DESC, r.created_at DESC, r.id DESC OFFSET k.kept)
            UNION ALL
            (SELECT r.id, r.status, r.incarnation, r.created_at FROM runs r
             WHERE r.status = 'cancelled' AND r.task_name = n.name AND r.kind = k.kind
               AND r.incarnation BETWEEN life.first AND life.last
             ORDER BY r.incarnation DESC, r.created_at DESC, r.id DESC OFFSET k.kept)) surplus
        WHERE $2 = 0 OR k.kind <> 'apply' OR surplus.status <> 'succeeded'
           OR surplus.incarnation IS DISTINCT FROM t.incarnation
           OR EXISTS (
               SELECT FROM runs newer
               WHERE newer.status IN ('succeeded', 'failed') AND newer.status = 'succeeded'
                 AND newer.kind = 'apply' AND newer.task_name = n.name
                 AND newer.incarnation = surplus.incarnation
                 AND (newer.created_at, newer.id) > (surplus.created_at, surplus.id))
        LIMIT $4",
    )
    .bind(names)
    .bind(i64::from(retention.runs))
    .bind(i64::from(retention.runs.min(PLANS_KEPT)))
    .bind(found_at_once())
    .fetch_all(connection)
    .await
    .map_err(failed_to(OPERATION))
}

/// Position of a run in the order of their ends.
#[derive(Debug, Clone, Copy, Default, sqlx::FromRow)]
struct PrunePosition {
    finished_at: i64,
    #[sqlx(rename = "id")]
    run: Uuid,
}

/// The next runs beyond the age limit, except runs that determine the status of a task.
async fn outdated(
    connection: &mut PgConnection,
    retention: Retention,
    after: PrunePosition,
) -> Result<Vec<PrunePosition>, StoreError> {
    sqlx::query_as(
        "-- prune: outdated; indexes runs_finished, runs_results, events_run, events_task
        SELECT r.finished_at, r.id
        FROM runs r
        WHERE r.status IN ('succeeded', 'failed', 'cancelled')
          AND r.finished_at < cts_now() - $1 AND (r.finished_at, r.id) > ($2, $3)
          AND CASE
              WHEN r.kind <> 'apply' THEN TRUE
              WHEN (SELECT t.incarnation FROM tasks t WHERE t.name = r.task_name)
                  IS DISTINCT FROM r.incarnation THEN TRUE
              WHEN r.status = 'cancelled' THEN NOT EXISTS (
                  SELECT FROM events e
                  WHERE e.run_id = r.id AND (SELECT count(*) FROM (
                      SELECT FROM events newer
                      WHERE newer.task_name = e.task_name AND newer.incarnation = e.incarnation
                        AND newer.position > e.position
                      LIMIT $4) later) < $4)
              ELSE (SELECT count(*) FROM (
                        SELECT FROM runs newer
                        WHERE newer.status IN ('succeeded', 'failed') AND newer.kind = 'apply'
                          AND newer.task_name = r.task_name AND newer.incarnation = r.incarnation
                          AND (newer.created_at, newer.id) > (r.created_at, r.id)
                        LIMIT $4) later) = $4
                   AND (r.status <> 'succeeded' OR EXISTS (
                       SELECT FROM runs newer
                       WHERE newer.status IN ('succeeded', 'failed') AND newer.status = 'succeeded'
                         AND newer.kind = 'apply' AND newer.task_name = r.task_name
                         AND newer.incarnation = r.incarnation
                         AND (newer.created_at, newer.id) > (r.created_at, r.id)))
              END
        ORDER BY r.finished_at, r.id
        LIMIT $5",
    )
    .bind(span_micros(retention.age))
    .bind(after.finished_at)
    .bind(after.run)
    .bind(i64::try_from(EVENTS_KEPT).unwrap_or(i64::MAX))
    .bind(found_at_once())
    .fetch_all(connection)
    .await
    .map_err(failed_to(OPERATION))
}

fn found_at_once() -> i64 {
    i64::try_from(FOUND_AT_ONCE).unwrap_or(i64::MAX)
}

async fn forget(connection: &mut PgConnection, runs: &[Uuid]) -> Result<u64, StoreError> {
    let mut forgotten = 0;
    for runs in runs.chunks(PRUNED_AT_ONCE) {
        while forget_lines(connection, runs).await? == u64::from(LINES_PRUNED_AT_ONCE) {}
        forgotten += forget_runs(connection, runs).await?;
    }
    Ok(forgotten)
}

/// Forgets a part of the logs of these runs: a log may be too long for one statement.
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

/// Forgets these runs with their events.
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

/// Reads the next inputs: returns the last of them, and those without a run.
async fn next_inputs(
    connection: &mut PgConnection,
    after: &str,
) -> Result<(Option<String>, Vec<String>), StoreError> {
    let failed = failed_to(OPERATION);
    let mut reading = connection.begin().await.map_err(&failed)?;
    // Towards the end of the hashes few inputs are left, and reading the whole table can look cheaper than the index.
    sqlx::query("-- prune: in the order of the index\nSET LOCAL enable_seqscan = off")
        .execute(&mut *reading)
        .await
        .map_err(&failed)?;
    let found = sqlx::query_as(
        "-- prune: unused inputs; indexes inputs_pkey, runs_input
        SELECT max(i.hash),
               coalesce(array_agg(i.hash) FILTER (
                   WHERE NOT EXISTS (SELECT FROM runs r WHERE r.input_hash = i.hash)), '{}')
        FROM (SELECT hash FROM inputs WHERE hash > $1 ORDER BY hash LIMIT $2) i",
    )
    .bind(after)
    .bind(found_at_once())
    .fetch_one(&mut *reading)
    .await
    .map_err(&failed)?;
    reading.commit().await.map_err(&failed)?;
    Ok(found)
}

/// Forgets those of these inputs that have not come into use since they were found.
async fn forget_inputs(connection: &mut PgConnection, inputs: &[String]) -> Result<(), StoreError> {
    let write = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&write)?;
    sqlx::query(
        "-- prune: no writer is about to refer to an input\nSELECT pg_advisory_xact_lock($1)",
    )
    .bind(INPUTS_LOCK)
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    // A separate statement, which sees runs that came during the wait for the lock.
    let contents: Vec<i64> = sqlx::query_scalar(
        "-- prune: inputs; index runs_input
        WITH unused AS MATERIALIZED (
            SELECT i.id FROM inputs i
            WHERE i.hash = ANY ($1)
              AND NOT EXISTS (SELECT FROM runs r WHERE r.input_hash = i.hash)
        ), forgotten AS (
            DELETE FROM inputs WHERE id IN (SELECT id FROM unused)
        )
        SELECT DISTINCT content_id FROM input_contents
        WHERE input_id IN (SELECT id FROM unused)",
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
