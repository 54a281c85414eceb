//! Packed modules.

use std::collections::BTreeSet;

use cts_core::Digest;
use cts_store::StoreError;
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::row::failed_to;

/// How long a bundle stays that is not in use, in microseconds.
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

pub(crate) async fn prune(connection: &mut SqliteConnection, now: i64) -> Result<(), StoreError> {
    sqlx::query("-- prune: bundles\nDELETE FROM bundles WHERE used_at <= ?")
        .bind(now.saturating_sub(KEPT))
        .execute(connection)
        .await
        .map_err(failed_to("forget module bundles"))?;
    Ok(())
}
