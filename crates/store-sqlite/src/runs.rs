//! Runs and their inputs, as they are stored.

use cts_core::runs::RunStatus;
use cts_core::{RunId, TaskName};
use cts_store::{RunFilter, RunRecord, StoreError};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteExecutor};

use crate::row::{Cell, failed_to};

pub(crate) async fn run(
    executor: impl SqliteExecutor<'_>,
    id: RunId,
) -> Result<Option<RunRecord>, StoreError> {
    let row = sqlx::query(
        "-- run
        SELECT id, task_name, kind, no_retry, status, input_hash, attempts, errors, changes_present,
               plan_encoding, plan, created_at, due_at, started_at, finished_at
        FROM runs WHERE id = ?",
    )
    .bind(id.to_string())
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read a run"))?;
    row.as_ref().map(record).transpose()
}

pub(crate) async fn list(
    executor: impl SqliteExecutor<'_>,
    filter: &RunFilter,
) -> Result<Vec<RunRecord>, StoreError> {
    let rows = sqlx::query(
        "-- runs: without the texts of plans
        SELECT id, task_name, kind, no_retry, status, input_hash, attempts, errors, changes_present,
               CASE WHEN plan_encoding IS NOT NULL THEN 'plain' END AS plan_encoding,
               CASE WHEN plan IS NOT NULL THEN x'' END AS plan,
               created_at, due_at, started_at, finished_at
        FROM runs
        WHERE (?1 IS NULL OR task_name = ?1) AND (?2 IS NULL OR status = ?2)
          AND (?3 IS NULL OR id < ?3)
        ORDER BY id DESC LIMIT ?4",
    )
    .bind(filter.task.as_ref().map(TaskName::as_str))
    .bind(filter.status.map(RunStatus::as_str))
    .bind(filter.after.map(|run| run.to_string()))
    .bind(filter.limit)
    .fetch_all(executor)
    .await
    .map_err(failed_to("list runs"))?;
    rows.iter().map(record).collect()
}

fn record(row: &SqliteRow) -> Result<RunRecord, StoreError> {
    let read = failed_to("read a run");
    let key: String = row.try_get("id").map_err(&read)?;
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &key,
    };
    let text = |column: &str| row.try_get::<String, _>(column).map_err(&read);
    let time = |column: &'static str| {
        let micros: Option<i64> = row.try_get(column).map_err(&read)?;
        micros.map(|micros| cell(column).time(micros)).transpose()
    };
    let created_at: i64 = row.try_get("created_at").map_err(&read)?;
    let due_at: i64 = row.try_get("due_at").map_err(&read)?;
    let encoding: Option<&str> = row.try_get("plan_encoding").map_err(&read)?;
    Ok(RunRecord {
        id: cell("id").parse(&key)?,
        task: cell("task_name").parse(&text("task_name")?)?,
        kind: cell("kind").run_kind(&text("kind")?)?,
        no_retry: row.try_get("no_retry").map_err(&read)?,
        status: cell("status").run_status(&text("status")?)?,
        input: cell("input_hash").parse(&text("input_hash")?)?,
        attempts: cell("attempts").number(row.try_get("attempts").map_err(&read)?)?,
        errors: cell("errors").json(&text("errors")?)?,
        plan: cell("plan").plan(
            row.try_get("changes_present").map_err(&read)?,
            encoding,
            row.try_get("plan").map_err(&read)?,
        )?,
        created_at: cell("created_at").time(created_at)?,
        due_at: cell("due_at").time(due_at)?,
        started_at: time("started_at")?,
        finished_at: time("finished_at")?,
    })
}
