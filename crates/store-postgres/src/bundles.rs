//! Packed modules.

use std::collections::BTreeSet;

use cts_core::Digest;
use cts_store::StoreError;
use sqlx::PgConnection;

use crate::row::failed_to;

pub(crate) async fn keep(
    connection: &mut PgConnection,
    hashes: &[Digest],
) -> Result<Vec<Digest>, StoreError> {
    let texts: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    let stored: Vec<String> = sqlx::query_scalar(
        "-- keep_bundles
        UPDATE bundles SET used_at = cts_now() WHERE hash = ANY ($1) RETURNING hash",
    )
    .bind(texts)
    .fetch_all(connection)
    .await
    .map_err(failed_to("note the bundles in use"))?;
    let mut known: BTreeSet<String> = stored.into_iter().collect();
    let missing = hashes.iter().copied();
    Ok(missing
        .filter(|hash| known.insert(hash.to_string()))
        .collect())
}

pub(crate) async fn store(
    connection: &mut PgConnection,
    hash: Digest,
    bytes: &[u8],
) -> Result<(), StoreError> {
    sqlx::query(
        "-- store_bundle
        INSERT INTO bundles (hash, content, created_at, used_at)
        VALUES ($1, $2, cts_now(), cts_now())
        ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at",
    )
    .bind(hash.to_string())
    .bind(bytes)
    .execute(connection)
    .await
    .map_err(failed_to("store a bundle"))?;
    Ok(())
}

pub(crate) async fn read(
    connection: &mut PgConnection,
    hash: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("-- bundle\nSELECT content FROM bundles WHERE hash = $1")
        .bind(hash.to_string())
        .fetch_optional(connection)
        .await
        .map_err(failed_to("read a bundle"))
}
