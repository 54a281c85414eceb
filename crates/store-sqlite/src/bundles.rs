//! Packed modules.

use std::collections::BTreeSet;

use cts_core::Digest;
use cts_store::{StoreError, decode};
use sqlx::SqliteExecutor;

use crate::call::shared;
use crate::pools::Pools;
use crate::row::{by, failed_to};
use cts_store_sql::Durability;

const OPERATION: &str = "forget module bundles";

/// Time for which an unused bundle stays, in microseconds.
const KEPT: i64 = 7 * 24 * 3600 * 1_000_000;

/// Forgets bundles that have been unused for long. A bundle that a run still needs counts as in use now.
pub(crate) async fn prune(pools: &Pools, now: i64) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    let before = now.saturating_sub(KEPT);
    let old: Vec<String> =
        sqlx::query_scalar("-- prune: old bundles\nSELECT hash FROM bundles WHERE used_at <= ?")
            .bind(before)
            .fetch_all(&pools.reader)
            .await
            .map_err(&failed)?;
    if old.is_empty() {
        return Ok(());
    }
    let used: Vec<_> = named(&pools.reader).await?.into_iter().collect();
    let mut write = pools.writer.begin(Durability::Process).await?;
    cts_store_sql::bundles::keep(&mut shared(&mut write, now), &used).await?;
    sqlx::query("-- prune: bundles\nDELETE FROM bundles WHERE used_at <= ?")
        .bind(before)
        .execute(&mut *write)
        .await
        .map_err(&failed)?;
    write.commit().await
}

/// Bundles that are named by the inputs of queued and running runs, and by inputs with which a task can be destroyed.
async fn named(reader: impl SqliteExecutor<'_>) -> Result<BTreeSet<Digest>, StoreError> {
    let rows = sqlx::query(
        "-- prune: bundles in use; indexes runs_due, runs_one_running, runs_ended
        SELECT i.hash, c.encoding, c.content
        FROM inputs i
        JOIN input_contents p ON p.input_id = i.id AND p.position = 0
        JOIN contents c ON c.id = p.content_id
        WHERE i.hash IN (
            SELECT input_hash FROM runs WHERE status = 'queued'
            UNION
            SELECT input_hash FROM runs WHERE status = 'running'
            UNION
            -- A task queues one apply at a time, so its applies are leased in the order in which they are queued. The one
            -- that was leased last is among these.
            SELECT (SELECT r.input_hash FROM runs r
                    WHERE r.status IN ('succeeded', 'failed', 'cancelled') AND r.task_name = t.name
                      AND r.kind = 'apply' AND (r.status = 'cancelled') = c.cancelled
                      AND r.incarnation = t.incarnation AND r.started_at IS NOT NULL
                    ORDER BY r.created_at DESC, r.id DESC LIMIT 1)
            FROM tasks t CROSS JOIN (SELECT 0 AS cancelled UNION ALL SELECT 1) c)",
    )
    .fetch_all(reader)
    .await
    .map_err(failed_to(OPERATION))?;
    let named = rows.iter().map(by(decode::bundle_of_input));
    named.filter_map(Result::transpose).collect()
}
