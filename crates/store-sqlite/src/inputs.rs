//! Frozen inputs and their contents, as they are stored.

use std::collections::HashSet;

use cts_core::{Content, Digest, FrozenInput, InstanceCounts, TaskName};
use cts_store::{EncodedContents, StoreError, StoredInput};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::row::{Cell, encoded, failed_to};

const READ: &str = "read an input";
const STORE: &str = "store an input";

/// Why inputs were not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// A content that was stored when the others were encoded does not exist any more.
    #[error("a content of an input was forgotten meanwhile")]
    Forgotten,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(crate) async fn read(
    executor: impl SqliteExecutor<'_>,
    hash: Digest,
) -> Result<Option<StoredInput>, StoreError> {
    let row = sqlx::query(
        "-- input
        SELECT hash, encoding, content,
               (SELECT json_group_array(hash)
                FROM (SELECT c.hash FROM input_contents p JOIN contents c ON c.id = p.content_id
                      WHERE p.input_id = i.id ORDER BY p.position)) AS contents
        FROM inputs i WHERE hash = ?",
    )
    .bind(hash.to_string())
    .fetch_optional(executor)
    .await
    .map_err(failed_to(READ))?;
    row.map(|row| stored(&row)).transpose()
}

/// An input from a row with hash, encoding, content and the hashes of its contents.
pub(crate) fn stored(row: &SqliteRow) -> Result<StoredInput, StoreError> {
    let read = failed_to(READ);
    let hash: &str = row.try_get("hash").map_err(&read)?;
    let cell = |table, column| Cell {
        table,
        column,
        row: hash,
    };
    let contents: &str = row.try_get("contents").map_err(&read)?;
    let contents: Vec<Digest> = cell("contents", "hash").json(contents)?;
    if !contents.is_empty() {
        return Ok(StoredInput::Contents(contents));
    }
    let encoding: &str = row.try_get("encoding").map_err(&read)?;
    let content = row.try_get("content").map_err(&read)?;
    let bytes = cell("inputs", "content").decoded(encoding, content)?;
    Ok(StoredInput::OnePiece(bytes))
}

pub(crate) async fn applied(
    executor: impl SqliteExecutor<'_>,
    names: &[TaskName],
) -> Result<Vec<(TaskName, Digest)>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "-- applied_inputs; indexes runs_one_running, runs_ended
        SELECT name, hash
        FROM (SELECT t.name, coalesce(
                  (SELECT r.input_hash FROM runs r
                   WHERE r.status = 'running' AND r.task_name = t.name
                     AND r.incarnation = t.incarnation AND r.kind = 'apply'),
                  (SELECT r.input_hash FROM runs r
                   WHERE r.status IN ('succeeded', 'failed', 'cancelled')
                     AND (r.status = 'cancelled') = 0 AND r.status = 'succeeded'
                     AND r.task_name = t.name AND r.incarnation = t.incarnation AND r.kind = 'apply'
                   ORDER BY r.created_at DESC, r.id DESC LIMIT 1)) AS hash
              FROM tasks t WHERE t.name IN (SELECT value FROM json_each(?)))
        WHERE hash IS NOT NULL",
    )
    .bind(serde_json::json!(names).to_string())
    .fetch_all(executor)
    .await
    .map_err(failed_to("read what was applied last"))?;
    let rows = rows.iter().map(|(name, hash)| {
        let cell = |table, column| Cell {
            table,
            column,
            row: name,
        };
        let hash = cell("runs", "input_hash").parse(hash)?;
        Ok((cell("tasks", "name").parse(name)?, hash))
    });
    rows.collect()
}

pub(crate) async fn contents(
    executor: impl SqliteExecutor<'_>,
    hashes: &[Digest],
) -> Result<Vec<Content>, StoreError> {
    let rows = sqlx::query(
        "-- contents
        SELECT hash, encoding, content FROM contents
        WHERE hash IN (SELECT value FROM json_each(?))",
    )
    .bind(serde_json::json!(hashes).to_string())
    .fetch_all(executor)
    .await
    .map_err(failed_to(READ))?;
    rows.iter().map(content).collect()
}

/// A content from a row with hash, encoding and content.
pub(crate) fn content(row: &SqliteRow) -> Result<Content, StoreError> {
    let read = failed_to(READ);
    let cell = Cell {
        table: "contents",
        column: "content",
        row: row.try_get("hash").map_err(&read)?,
    };
    let encoding = row.try_get("encoding").map_err(&read)?;
    cell.content(encoding, row.try_get("content").map_err(&read)?)
}

/// Returns the hashes of these contents that are stored.
pub(crate) async fn known(
    executor: impl SqliteExecutor<'_>,
    hashes: &[Digest],
) -> Result<HashSet<Digest>, StoreError> {
    if hashes.is_empty() {
        return Ok(HashSet::new());
    }
    let known: Vec<String> = sqlx::query_scalar(
        "-- enqueue: contents that are known
        SELECT hash FROM contents WHERE hash IN (SELECT value FROM json_each(?))",
    )
    .bind(serde_json::json!(hashes).to_string())
    .fetch_all(executor)
    .await
    .map_err(failed_to(STORE))?;
    let cell = |hash| Cell {
        table: "contents",
        column: "hash",
        row: hash,
    };
    known.iter().map(|hash| cell(hash).parse(hash)).collect()
}

/// Stores an input with those of its contents that are missing.
pub(crate) async fn store(
    connection: &mut SqliteConnection,
    input: &FrozenInput,
    encoded: &EncodedContents,
    now: i64,
) -> Result<(), InputError> {
    let hash = input.hash.to_string();
    let id: Option<i64> = sqlx::query_scalar(
        "-- enqueue: inputs are stored once
        INSERT INTO inputs (id, hash, encoding, content, created_at)
        VALUES ((SELECT coalesce(max(id), 0) + 1 FROM inputs), ?, 'plain', x'', ?)
        ON CONFLICT (hash) DO NOTHING
        RETURNING id",
    )
    .bind(hash)
    .bind(now)
    .fetch_optional(&mut *connection)
    .await
    .map_err(failed_to(STORE))?;
    let Some(id) = id else { return Ok(()) };
    for (position, content) in (0_i64..).zip(&input.contents) {
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
        let listed = sqlx::query(
            "-- enqueue: contents of an input
            INSERT INTO input_contents (input_id, content_id, position)
            SELECT ?, id, ? FROM contents WHERE hash = ?",
        )
        .bind(id)
        .bind(position)
        .bind(content.hash.to_string())
        .execute(&mut *connection)
        .await
        .map_err(failed_to(STORE))?;
        if listed.rows_affected() == 0 {
            return Err(InputError::Forgotten);
        }
    }
    Ok(())
}

/// Notes the number of instances of each service in an input, once for each input.
pub(crate) async fn note_instances(
    connection: &mut SqliteConnection,
    input: Digest,
    counts: &InstanceCounts,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- enqueue: instances of an input
        UPDATE inputs SET instances = ? WHERE hash = ? AND instances IS NULL",
    )
    .bind(encoded(STORE, counts)?)
    .bind(input.to_string())
    .execute(connection)
    .await
    .map_err(failed_to(STORE))?;
    Ok(())
}

/// Removes those of these inputs that no run needs any more, and their contents if no other input has them.
pub(crate) async fn forget(
    connection: &mut SqliteConnection,
    inputs: &[String],
) -> Result<(), sqlx::Error> {
    let inputs = serde_json::json!(inputs).to_string();
    let contents: Vec<i64> = sqlx::query_scalar(
        "-- prune: contents of unused inputs; index runs_input
        SELECT DISTINCT p.content_id
        FROM inputs i JOIN input_contents p ON p.input_id = i.id
        WHERE i.hash IN (SELECT value FROM json_each(?))
          AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.input_hash = i.hash)",
    )
    .bind(&inputs)
    .fetch_all(&mut *connection)
    .await?;
    sqlx::query(
        "-- prune: inputs; index runs_input
        DELETE FROM inputs
        WHERE hash IN (SELECT value FROM json_each(?))
          AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.input_hash = inputs.hash)",
    )
    .bind(&inputs)
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "-- prune: contents; index input_contents_content
        DELETE FROM contents
        WHERE id IN (SELECT value FROM json_each(?))
          AND NOT EXISTS (SELECT 1 FROM input_contents p WHERE p.content_id = contents.id)",
    )
    .bind(serde_json::json!(contents).to_string())
    .execute(connection)
    .await?;
    Ok(())
}
