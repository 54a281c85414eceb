//! Stores frozen inputs and their contents.

use std::collections::BTreeMap;

use cts_core::{Digest, FrozenInput};
use cts_store::EncodedContents;
use cts_store::enqueue::EnqueueError;
use sqlx::PgConnection;

use cts_store_sql::failed_to;

/// Stores inputs and their missing contents. The caller holds the lock that protects existing contents.
pub(crate) async fn store(
    connection: &mut PgConnection,
    inputs: &BTreeMap<Digest, &FrozenInput>,
    encoded: &EncodedContents,
    now: i64,
) -> Result<(), EnqueueError> {
    let mut wanted: BTreeMap<Digest, _> = BTreeMap::new();
    let (mut owners, mut positions, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for (hash, input) in inputs {
        for (position, content) in (0_i16..).zip(&input.contents) {
            wanted.insert(content.hash, encoded.get(&content.hash));
            owners.push(hash.to_string());
            positions.push(position);
            parts.push(content.hash.to_string());
        }
    }
    let (mut hashes, mut encodings, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    for (hash, encoded) in &wanted {
        if let Some((encoding, bytes)) = encoded {
            hashes.push(hash.to_string());
            encodings.push(encoding.as_str());
            contents.push(*bytes);
        }
    }
    let forgotten: i64 = sqlx::query_scalar(
        "-- enqueue: inputs and contents are stored once
        WITH new AS (
            INSERT INTO contents (hash, encoding, content, created_at)
            SELECT n.hash, n.encoding, n.content, $8
            FROM unnest($1::TEXT[], $2::TEXT[], $3::BYTEA[]) AS n (hash, encoding, content)
            ON CONFLICT (hash) DO NOTHING
            RETURNING id, hash
        ), there AS (
            SELECT id, hash FROM new
            UNION ALL
            SELECT id, hash FROM contents WHERE hash = ANY ($4)
        ), named AS (
            INSERT INTO inputs (hash, created_at)
            SELECT n.hash, $8 FROM unnest($9::TEXT[]) AS n (hash)
            ON CONFLICT (hash) DO NOTHING
            RETURNING id, hash
        ), parts AS (
            SELECT n.input, n.position, there.id
            FROM unnest($5::TEXT[], $6::SMALLINT[], $7::TEXT[]) AS n (input, position, content)
            LEFT JOIN there ON there.hash = n.content
        ), listed AS (
            INSERT INTO input_contents (input_id, content_id, position)
            SELECT named.id, parts.id, parts.position
            FROM parts JOIN named ON named.hash = parts.input
            WHERE parts.id IS NOT NULL
        )
        SELECT count(*) FROM parts WHERE id IS NULL",
    )
    .bind(hashes)
    .bind(encodings)
    .bind(contents)
    .bind(wanted.keys().map(Digest::to_string).collect::<Vec<_>>())
    .bind(owners)
    .bind(positions)
    .bind(parts)
    .bind(now)
    .bind(inputs.keys().map(Digest::to_string).collect::<Vec<_>>())
    .fetch_one(connection)
    .await
    .map_err(failed_to("store inputs"))?;
    if forgotten == 0 {
        Ok(())
    } else {
        Err(EnqueueError::Forgotten)
    }
}
