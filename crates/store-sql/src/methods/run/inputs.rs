//! Stored inputs and their contents.

use std::collections::HashSet;

use cts_core::{Content, Digest, TaskName};
use cts_store::StoreError;
use cts_store::cell::Cell;
use cts_store::fields::{Columns, Fields};

use crate::{Connection, sql};

const READ: &str = "read an input";

/// Hashes of the contents of an input, in order.
pub async fn read(c: &mut dyn Connection, hash: Digest) -> Result<Option<Vec<Digest>>, StoreError> {
    sql(
        READ,
        "-- input
        SELECT hash,
               (SELECT {list c.hash by p.position}
                FROM input_contents p JOIN contents c ON c.id = p.content_id
                WHERE p.input_id = i.id) AS contents
        FROM inputs i WHERE hash = $1",
    )
    .bind(hash)
    .optional(c, stored)
    .await
}

/// The hashes of the contents of an input, from a row with its hash and these.
fn stored(row: &dyn Columns) -> Result<Vec<Digest>, StoreError> {
    let input = Fields::new(row, READ, "inputs").keyed("hash")?;
    let contents = Cell {
        table: "contents",
        column: "hash",
        row: input.key(),
    };
    contents.json(input.text("contents")?)
}

/// The inputs of the running applies of these tasks; without a running apply, of the last successful one.
pub async fn applied(
    c: &mut dyn Connection,
    names: &[TaskName],
) -> Result<Vec<(TaskName, Digest)>, StoreError> {
    sql(
        "read what was applied last",
        "-- applied_inputs; indexes runs_one_running, runs_results, runs_ended
        SELECT name, hash
        FROM (SELECT t.name, coalesce(
                  (SELECT r.input_hash FROM runs r
                   WHERE r.status = 'running' AND r.task_name = t.name
                     AND r.incarnation = t.incarnation AND r.kind = 'apply'),
                  (SELECT r.input_hash FROM runs r
                   WHERE {result of r} AND r.status = 'succeeded'
                     AND r.task_name = t.name AND r.incarnation = t.incarnation AND r.kind = 'apply'
                   ORDER BY r.created_at DESC, r.id DESC LIMIT 1)) AS hash
              FROM tasks t WHERE t.name {in $1}) applied
        WHERE hash IS NOT NULL",
    )
    .bind(names)
    .all(c, |row| {
        let task = Fields::new(row, "read what was applied last", "tasks").keyed("name")?;
        let hash = Cell {
            table: "runs",
            column: "input_hash",
            row: task.key(),
        };
        Ok((task.parse("name")?, hash.parse(task.text("hash")?)?))
    })
    .await
}

/// Reads the stored contents with these hashes.
pub async fn contents(
    c: &mut dyn Connection,
    hashes: &[Digest],
) -> Result<Vec<Content>, StoreError> {
    let contents = sql(
        READ,
        "-- contents
        SELECT hash, encoding, content FROM contents WHERE hash {in $1}",
    );
    contents.bind(hashes).all(c, content).await
}

/// A content from a row with hash, encoding and content.
pub fn content(row: &dyn Columns) -> Result<Content, StoreError> {
    let row = Fields::new(row, READ, "contents").keyed("hash")?;
    row.cell("content")
        .content(row.text("encoding")?, row.bytes("content")?)
}

/// Returns which of these hashes belong to stored contents.
pub async fn known(
    c: &mut dyn Connection,
    hashes: &[Digest],
) -> Result<HashSet<Digest>, StoreError> {
    let known = sql(
        "store inputs",
        "-- enqueue: contents that are known
        SELECT hash FROM contents WHERE hash {in $1}",
    );
    let known = known.bind(hashes).all(c, |row| {
        Fields::new(row, "store inputs", "contents")
            .keyed("hash")?
            .parse("hash")
    });
    Ok(known.await?.into_iter().collect())
}
