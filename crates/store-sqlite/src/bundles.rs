//! Packed modules.

use std::collections::BTreeSet;

use cts_core::Digest;
use cts_store::{StoreError, decode};
use sqlx::SqliteExecutor;

use crate::connection::Pools;
use crate::row::{by, failed_to};
use crate::writer::Durability;

const OPERATION: &str = "forget module bundles";

/// Time for which an unused bundle stays, in microseconds.
const KEPT: i64 = 7 * 24 * 3600 * 1_000_000;

pub(crate) async fn keep(
    executor: impl SqliteExecutor<'_>,
    hashes: &[Digest],
    now: i64,
) -> Result<Vec<Digest>, StoreError> {
    let asked: Vec<_> = hashes.iter().map(Digest::to_string).collect();
    let stored: Vec<String> = sqlx::query_scalar(
        "-- keep_bundles
        UPDATE bundles SET used_at = ?
        WHERE hash IN (SELECT value FROM json_each(?))
        RETURNING hash",
    )
    .bind(now)
    .bind(serde_json::Value::from(asked).to_string())
    .fetch_all(executor)
    .await
    .map_err(failed_to("keep module bundles"))?;
    let mut known: BTreeSet<_> = stored.into_iter().collect();
    let missing = hashes.iter().filter(|hash| known.insert(hash.to_string()));
    Ok(missing.copied().collect())
}

pub(crate) async fn store(
    executor: impl SqliteExecutor<'_>,
    hash: Digest,
    bytes: &[u8],
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- store_bundle: once by hash
        INSERT INTO bundles (hash, content, created_at, used_at) VALUES (?1, ?2, ?3, ?3)
        ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at",
    )
    .bind(hash.to_string())
    .bind(bytes)
    .bind(now)
    .execute(executor)
    .await
    .map_err(failed_to("store a module bundle"))?;
    Ok(())
}

pub(crate) async fn one(
    executor: impl SqliteExecutor<'_>,
    hash: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("-- bundle\nSELECT content FROM bundles WHERE hash = ?")
        .bind(hash.to_string())
        .fetch_optional(executor)
        .await
        .map_err(failed_to("read a module bundle"))
}

/// Forgets bundles that were out of use for long. A bundle that a run still needs counts as in use now.
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
    keep(&mut *write, &used, now).await?;
    sqlx::query("-- prune: bundles\nDELETE FROM bundles WHERE used_at <= ?")
        .bind(before)
        .execute(&mut *write)
        .await
        .map_err(&failed)?;
    write.commit().await
}

/// Bundles that are named by the inputs of queued and running runs, and of the runs whose input a destruction
/// would have.
async fn named(reader: impl SqliteExecutor<'_>) -> Result<BTreeSet<Digest>, StoreError> {
    let rows = sqlx::query(
        "-- prune: bundles in use; indexes runs_due, runs_one_running, runs_ended
        SELECT i.hash, coalesce(c.encoding, i.encoding) AS encoding,
               coalesce(c.content, i.content) AS content
        FROM inputs i
        LEFT JOIN input_contents p ON p.input_id = i.id AND p.position = 0
        LEFT JOIN contents c ON c.id = p.content_id
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
