//! Packed modules.

use std::collections::BTreeSet;

use cts_core::Digest;
use cts_store::StoreError;

use crate::{Connection, bytes, sql, text};

/// Notes that these bundles are in use. Returns the bundles that are not stored.
pub async fn keep(c: &mut dyn Connection, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError> {
    let stored = sql(
        "note the bundles in use",
        "-- keep_bundles
        UPDATE bundles SET used_at = {now} WHERE hash {in $1} RETURNING hash AS value",
    );
    let stored = stored.bind(hashes).all(c, text).await?;
    let mut known: BTreeSet<String> = stored.into_iter().collect();
    let missing = hashes.iter().copied();
    Ok(missing
        .filter(|hash| known.insert(hash.to_string()))
        .collect())
}

/// Stores a bundle under its hash, unless it is already stored.
pub async fn store(c: &mut dyn Connection, hash: Digest, bytes: &[u8]) -> Result<(), StoreError> {
    let stored = sql(
        "store a bundle",
        "-- store_bundle
        INSERT INTO bundles (hash, content, created_at, used_at)
        VALUES ($1, $2, {now}, {now})
        ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at",
    );
    stored.bind(hash).bind(bytes).execute(c).await?;
    Ok(())
}

/// Reads a bundle.
pub async fn read(c: &mut dyn Connection, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
    let content = sql(
        "read a bundle",
        "-- bundle\nSELECT content AS value FROM bundles WHERE hash = $1",
    );
    content.bind(hash).optional(c, bytes).await
}
