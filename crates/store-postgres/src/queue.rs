//! What waits, and single runs and inputs.

use std::time::Duration;

use cts_core::{Digest, RunId};
use cts_store::{QueueDepth, RunRecord, StoreError};
use sqlx::{PgConnection, Row as _};

use crate::row::{Cell, failed_to, span};

pub(crate) async fn next_due(
    connection: &mut PgConnection,
) -> Result<Option<Duration>, StoreError> {
    let due: Option<i64> = sqlx::query_scalar(
        "-- next_due; index runs_due
        SELECT r.due_at - cts_now()
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'queued' AND (t.enabled OR r.kind = 'plan') AND t.active_run IS NULL
        ORDER BY r.due_at
        LIMIT 1",
    )
    .fetch_optional(connection)
    .await
    .map_err(failed_to("find the next due run"))?;
    Ok(due.map(span))
}

pub(crate) async fn depth(connection: &mut PgConnection) -> Result<QueueDepth, StoreError> {
    let failed = failed_to("count the queue");
    let row = sqlx::query(
        "-- queue_depth; indexes runs_due, runs_one_running
        SELECT count(*) AS queued,
               count(*) FILTER (WHERE ready) AS ready,
               cts_now() - min(due_at) FILTER (WHERE ready) AS oldest_ready,
               (SELECT count(*) FROM runs WHERE status = 'running') AS running
        FROM (SELECT r.due_at, r.due_at <= cts_now() AND t.active_run IS NULL AS ready
              FROM runs r JOIN tasks t ON t.name = r.task_name
              WHERE r.status = 'queued' AND (t.enabled OR r.kind = 'plan')) q",
    )
    .fetch_one(connection)
    .await
    .map_err(&failed)?;
    let count = |column: &str| -> Result<u64, StoreError> {
        let count: i64 = row.try_get(column).map_err(&failed)?;
        Ok(count.unsigned_abs())
    };
    let oldest: Option<i64> = row.try_get("oldest_ready").map_err(&failed)?;
    Ok(QueueDepth {
        queued: count("queued")?,
        ready: count("ready")?,
        running: count("running")?,
        oldest_ready: oldest.map(span),
    })
}

pub(crate) async fn input(
    connection: &mut PgConnection,
    hash: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let read = failed_to("read an input");
    let hash = hash.to_string();
    let row = sqlx::query("-- input\nSELECT encoding, content FROM inputs WHERE hash = $1")
        .bind(&hash)
        .fetch_optional(connection)
        .await
        .map_err(&read)?;
    let Some(row) = row else { return Ok(None) };
    let cell = |column| Cell {
        table: "inputs",
        column,
        row: &hash,
    };
    let encoding: &str = row.try_get("encoding").map_err(&read)?;
    let encoding = cell("encoding").input_encoding(encoding)?;
    let content: Vec<u8> = row.try_get("content").map_err(&read)?;
    encoding
        .decode(content)
        .map(Some)
        .map_err(|error| cell("content").corrupt(error))
}

pub(crate) async fn run(
    connection: &mut PgConnection,
    id: RunId,
) -> Result<Option<RunRecord>, StoreError> {
    let read = failed_to("read a run");
    let row = sqlx::query(
        "-- run
        SELECT task_name, kind, single, status, input_hash, attempts, errors, changes_present,
               plan_encoding, plan, created_at, due_at, started_at, finished_at
        FROM runs WHERE id = $1",
    )
    .bind(id.as_uuid())
    .fetch_optional(connection)
    .await
    .map_err(&read)?;
    let Some(row) = row else { return Ok(None) };
    let key = id.to_string();
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &key,
    };
    let text = |column: &str| row.try_get::<&str, _>(column).map_err(&read);
    let time = |column: &'static str| {
        let micros: Option<i64> = row.try_get(column).map_err(&read)?;
        micros.map(|micros| cell(column).time(micros)).transpose()
    };
    let attempts: i32 = row.try_get("attempts").map_err(&read)?;
    let encoding: Option<&str> = row.try_get("plan_encoding").map_err(&read)?;
    Ok(Some(RunRecord {
        id,
        task: cell("task_name").parse(text("task_name")?)?,
        kind: cell("kind").run_kind(text("kind")?)?,
        single: row.try_get("single").map_err(&read)?,
        status: cell("status").run_status(text("status")?)?,
        input: cell("input_hash").parse(text("input_hash")?)?,
        attempts: cell("attempts").number(attempts.into())?,
        errors: cell("errors").json(text("errors")?)?,
        plan: cell("plan").plan(
            row.try_get("changes_present").map_err(&read)?,
            encoding,
            row.try_get("plan").map_err(&read)?,
        )?,
        created_at: cell("created_at").time(row.try_get("created_at").map_err(&read)?)?,
        due_at: cell("due_at").time(row.try_get("due_at").map_err(&read)?)?,
        started_at: time("started_at")?,
        finished_at: time("finished_at")?,
    }))
}
