//! Runs and their inputs, as they are stored.

use cts_core::runs::RunStatus;
use cts_core::{RunId, TaskName};
use cts_store::decode;
use cts_store::{RunFilter, RunRecord, StoreError};
use sqlx::SqliteExecutor;

use crate::row::{by, failed_to};

pub(crate) async fn run(
    executor: impl SqliteExecutor<'_>,
    id: RunId,
) -> Result<Option<RunRecord>, StoreError> {
    let row = sqlx::query(
        "-- run
        SELECT id, task_name, kind, destroys, no_retry, status, input_hash, attempts, errors, changes_present,
               plan_encoding, plan, summary, findings, waiting_for, created_at, due_at, started_at, finished_at
        FROM runs WHERE id = ?",
    )
    .bind(id.to_string())
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read a run"))?;
    row.as_ref().map(by(decode::run_record)).transpose()
}

pub(crate) async fn list(
    executor: impl SqliteExecutor<'_>,
    filter: &RunFilter,
) -> Result<Vec<RunRecord>, StoreError> {
    let rows = sqlx::query(
        "-- runs: without the texts of plans and without findings
        SELECT id, task_name, kind, destroys, no_retry, status, input_hash, attempts, errors, changes_present,
               CASE WHEN plan_encoding IS NOT NULL THEN 'plain' END AS plan_encoding,
               CASE WHEN plan IS NOT NULL THEN x'' END AS plan,
               summary, NULL AS findings, waiting_for, created_at, due_at, started_at, finished_at
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
    rows.iter().map(by(decode::run_record)).collect()
}
