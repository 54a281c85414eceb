//! Frozen inputs and their contents, as they are stored.

use std::collections::{BTreeMap, HashSet};

use cts_core::{Content, Digest, FrozenInput, TaskName};
use cts_store::{EncodedContents, StoreError, StoredInput};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgTransaction, Row as _};

use crate::row::{Cell, failed_to};

const READ: &str = "read an input";

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
    connection: &mut PgConnection,
    hash: Digest,
) -> Result<Option<StoredInput>, StoreError> {
    let row = sqlx::query(
        "-- input
        SELECT hash, encoding, content,
               ARRAY(SELECT c.hash FROM input_contents p JOIN contents c ON c.id = p.content_id
                     WHERE p.input_id = i.id ORDER BY p.position) AS contents
        FROM inputs i WHERE hash = $1",
    )
    .bind(hash.to_string())
    .fetch_optional(connection)
    .await
    .map_err(failed_to(READ))?;
    row.map(|row| stored(&row)).transpose()
}

/// An input from a row with hash, encoding, content and the hashes of its contents.
pub(crate) fn stored(row: &PgRow) -> Result<StoredInput, StoreError> {
    let read = failed_to(READ);
    let hash: &str = row.try_get("hash").map_err(&read)?;
    let cell = |table, column| Cell {
        table,
        column,
        row: hash,
    };
    let contents: Vec<String> = row.try_get("contents").map_err(&read)?;
    if contents.is_empty() {
        let encoding: &str = row.try_get("encoding").map_err(&read)?;
        let content = row.try_get("content").map_err(&read)?;
        let bytes = cell("inputs", "content").decoded(encoding, content)?;
        return Ok(StoredInput::OnePiece(bytes));
    }
    let contents = contents.into_iter();
    let contents = contents.map(|content| cell("contents", "hash").parse(&content));
    Ok(StoredInput::Contents(contents.collect::<Result<_, _>>()?))
}

pub(crate) async fn applied(
    connection: &mut PgConnection,
    names: &[TaskName],
) -> Result<Vec<(TaskName, Digest)>, StoreError> {
    let names: Vec<&str> = names.iter().map(TaskName::as_str).collect();
    let rows: Vec<(String, String)> = sqlx::query_as(
        "-- applied_inputs; indexes runs_one_running, runs_results
        SELECT name, hash
        FROM (SELECT t.name, coalesce(
                  (SELECT r.input_hash FROM runs r
                   WHERE r.status = 'running' AND r.task_name = t.name
                     AND r.incarnation = t.incarnation AND r.kind = 'apply'),
                  (SELECT r.input_hash FROM runs r
                   WHERE r.status IN ('succeeded', 'failed') AND r.status = 'succeeded'
                     AND r.task_name = t.name AND r.incarnation = t.incarnation AND r.kind = 'apply'
                   ORDER BY r.created_at DESC, r.id DESC LIMIT 1)) AS hash
              FROM tasks t WHERE t.name = ANY ($1)) applied
        WHERE hash IS NOT NULL",
    )
    .bind(names)
    .fetch_all(connection)
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
    connection: &mut PgConnection,
    hashes: &[Digest],
) -> Result<Vec<Content>, StoreError> {
    let rows = sqlx::query(
        "-- contents
        SELECT hash, encoding, content FROM contents WHERE hash = ANY ($1)",
    )
    .bind(texts(hashes))
    .fetch_all(connection)
    .await
    .map_err(failed_to(READ))?;
    rows.iter().map(content).collect()
}

/// A content from a row with hash, encoding and content.
pub(crate) fn content(row: &PgRow) -> Result<Content, StoreError> {
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
    connection: &mut PgConnection,
    hashes: &[Digest],
) -> Result<HashSet<Digest>, StoreError> {
    if hashes.is_empty() {
        return Ok(HashSet::new());
    }
    let known: Vec<String> = sqlx::query_scalar(
        "-- enqueue: contents that are known
        SELECT hash FROM contents WHERE hash = ANY ($1)",
    )
    .bind(texts(hashes))
    .fetch_all(connection)
    .await
    .map_err(failed_to("store inputs"))?;
    let cell = |hash| Cell {
        table: "contents",
        column: "hash",
        row: hash,
    };
    known.iter().map(|hash| cell(hash).parse(hash)).collect()
}

/// Stores inputs with those contents that are missing. The caller holds the lock that keeps existing ones.
pub(crate) async fn store(
    transaction: &mut PgTransaction<'_>,
    inputs: &BTreeMap<Digest, &FrozenInput>,
    encoded: &EncodedContents,
    now: i64,
) -> Result<(), InputError> {
    if inputs.is_empty() {
        return Ok(());
    }
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
            INSERT INTO inputs (hash, encoding, content, created_at)
            SELECT n.hash, 'plain', ''::BYTEA, $8 FROM unnest($9::TEXT[]) AS n (hash)
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
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed_to("store inputs"))?;
    if forgotten == 0 {
        Ok(())
    } else {
        Err(InputError::Forgotten)
    }
}

/// Removes contents of removed inputs, if no other input has them. The caller holds the lock of inputs.
pub(crate) async fn forget_contents(
    transaction: &mut PgTransaction<'_>,
    candidates: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "-- prune: contents; index input_contents_content
        DELETE FROM contents c
        WHERE c.id = ANY ($1)
          AND NOT EXISTS (SELECT FROM input_contents p WHERE p.content_id = c.id)",
    )
    .bind(candidates)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

fn texts(hashes: &[Digest]) -> Vec<String> {
    hashes.iter().map(Digest::to_string).collect()
}
