//! Stores frozen inputs and their contents.

use cts_core::FrozenInput;
use cts_store::EncodedContents;
use cts_store::enqueue::EnqueueError;
use serde_json::Value;
use sqlx::SqliteConnection;

use cts_store_sql::failed_to;

const STORE: &str = "store an input";

/// Stores an input and its missing contents.
pub(crate) async fn store(
    connection: &mut SqliteConnection,
    input: &FrozenInput,
    encoded: &EncodedContents,
    now: i64,
) -> Result<(), EnqueueError> {
    let hash = input.hash.to_string();
    let id: Option<i64> = sqlx::query_scalar(
        "-- enqueue: inputs are stored once
        INSERT INTO inputs (id, hash, created_at)
        VALUES ((SELECT coalesce(max(id), 0) + 1 FROM inputs), ?, ?)
        ON CONFLICT (hash) DO NOTHING
        RETURNING id",
    )
    .bind(hash)
    .bind(now)
    .fetch_optional(&mut *connection)
    .await
    .map_err(failed_to(STORE))?;
    let Some(id) = id else { return Ok(()) };
    for content in &input.contents {
        if let Some((encoding, bytes)) = encoded.get(&content.hash) {
            sqlx::query(
                "-- enqueue: contents are stored once
                INSERT INTO contents (hash, encoding, content, created_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (hash) DO NOTHING",
            )
            .bind(content.hash.to_string())
            .bind(encoding.as_str())
            .bind(bytes)
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(failed_to(STORE))?;
        }
    }
    let hashes = input.contents.iter();
    let hashes: Value = hashes.map(|content| content.hash.to_string()).collect();
    let listed = sqlx::query(
        "-- enqueue: contents of an input
        INSERT INTO input_contents (input_id, content_id, position)
        SELECT ?, c.id, listed.key FROM json_each(?) listed JOIN contents c ON c.hash = listed.value",
    )
    .bind(id)
    .bind(hashes.to_string())
    .execute(&mut *connection)
    .await
    .map_err(failed_to(STORE))?;
    let complete =
        u64::try_from(input.contents.len()).is_ok_and(|all| all == listed.rows_affected());
    complete.then_some(()).ok_or(EnqueueError::Forgotten)
}
