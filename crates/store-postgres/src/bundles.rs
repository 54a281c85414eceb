//! Packed modules.

use std::collections::BTreeSet;

use cts_core::Digest;
use cts_store::{StoreError, decode};
use cts_store_sql::bundles;
use sqlx::PgConnection;

use crate::call::shared;
use crate::row::{by, failed_to};

const OPERATION: &str = "forget module bundles";

/// Time for which an unused bundle stays, in microseconds: a week.
const LIFE: i64 = 7 * 24 * 3600 * 1_000_000;

/// Number of tasks whose inputs are read at once.
const TASKS_AT_ONCE: i64 = 100;

/// Forgets bundles that have been unused for long. A bundle that a run still needs counts as in use now.
pub(crate) async fn prune(connection: &mut PgConnection) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    let (before, old): (i64, i64) = sqlx::query_as(
        "-- prune: old bundles
        SELECT cts_now() - $1, count(*) FROM bundles WHERE used_at <= cts_now() - $1",
    )
    .bind(LIFE)
    .fetch_one(&mut *connection)
    .await
    .map_err(&failed)?;
    if old == 0 {
        return Ok(());
    }
    let mut names = next_names(connection, "").await?;
    while let Some(last) = names.last() {
        let used: Vec<_> = named(connection, &names).await?.into_iter().collect();
        bundles::keep(&mut shared(connection), &used).await?;
        names = next_names(connection, last).await?;
    }
    sqlx::query("-- prune: bundles\nDELETE FROM bundles WHERE used_at <= $1")
        .bind(before)
        .execute(connection)
        .await
        .map_err(&failed)?;
    Ok(())
}

async fn next_names(connection: &mut PgConnection, after: &str) -> Result<Vec<String>, StoreError> {
    sqlx::query_scalar(
        "-- prune: tasks with bundles
        SELECT name FROM tasks WHERE name > $1 ORDER BY name LIMIT $2",
    )
    .bind(after)
    .bind(TASKS_AT_ONCE)
    .fetch_all(connection)
    .await
    .map_err(failed_to(OPERATION))
}

/// The bundles in the inputs of the queued and running runs of these tasks, and in the inputs with which these tasks
/// can be destroyed.
async fn named(
    connection: &mut PgConnection,
    tasks: &[String],
) -> Result<BTreeSet<Digest>, StoreError> {
    let rows = sqlx::query(
        "-- prune: bundles in use; indexes runs_waiting, runs_one_running, runs_results, runs_cancelled
        SELECT i.hash, c.encoding, c.content
        FROM unnest($1::TEXT[]) AS n (name)
        CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = n.name LIMIT 1) t
        CROSS JOIN LATERAL (
            (SELECT q.input_hash FROM runs q
             WHERE q.task_name = t.name AND q.status = 'queued')
            UNION ALL
            (SELECT q.input_hash FROM runs q
             WHERE q.task_name = t.name AND q.status = 'running')
            UNION ALL
            -- A task queues one apply at a time, so its applies are leased in the order in which they are queued. The one
            -- that was leased last is among these.
            (SELECT q.input_hash FROM runs q
             WHERE q.status IN ('succeeded', 'failed') AND q.task_name = t.name AND q.kind = 'apply'
               AND q.incarnation = t.incarnation AND q.started_at IS NOT NULL
             ORDER BY q.incarnation DESC, q.created_at DESC, q.id DESC LIMIT 1)
            UNION ALL
            (SELECT q.input_hash FROM runs q
             WHERE q.status = 'cancelled' AND q.task_name = t.name AND q.kind = 'apply'
               AND q.incarnation = t.incarnation AND q.started_at IS NOT NULL
             ORDER BY q.incarnation DESC, q.created_at DESC, q.id DESC LIMIT 1)) r
        CROSS JOIN LATERAL (SELECT * FROM inputs WHERE hash = r.input_hash LIMIT 1) i
        JOIN input_contents p ON p.input_id = i.id AND p.position = 0
        JOIN contents c ON c.id = p.content_id",
    )
    .bind(tasks)
    .fetch_all(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    let named = rows.iter().map(by(decode::bundle_of_input));
    named.filter_map(Result::transpose).collect()
}
