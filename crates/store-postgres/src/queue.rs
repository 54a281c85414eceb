//! Reads the queue, and runs and inputs as they are stored.

use std::time::Duration;

use cts_core::runs::RunStatus;
use cts_core::{RunId, TaskName};
use cts_store::decode;
use cts_store::{QueueDepth, RunFilter, RunRecord, StoreError};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::row::{by, failed_to, span};

pub(crate) async fn next_due(
    connection: &mut PgConnection,
) -> Result<Option<Duration>, StoreError> {
    let due: Option<i64> = sqlx::query_scalar(
        // Conditions in a `CASE`, so that the order of the index is kept: see `acquire`.
        "-- next_due; index runs_due
        SELECT r.due_at - cts_now()
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'queued' AND r.due_at >= 0
          AND CASE
              WHEN t.active_run IS NOT NULL THEN FALSE
              WHEN coalesce(r.destroys, r.kind) = 'apply' AND EXISTS (
                SELECT FROM busy_groups g WHERE g.name = t.concurrency_group) THEN FALSE
              ELSE t.enabled OR r.kind <> 'apply' OR r.requested END
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
               (SELECT count(*) FROM runs
                WHERE status = 'running' AND waiting_for IS NULL) AS running
        FROM (SELECT r.due_at,
                     r.due_at <= cts_now() AND t.active_run IS NULL
                     AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND EXISTS (
                         SELECT FROM busy_groups g WHERE g.name = t.concurrency_group)) AS ready
              FROM runs r JOIN tasks t ON t.name = r.task_name
              WHERE r.status = 'queued' AND (t.enabled OR r.kind <> 'apply' OR r.requested)
              OFFSET 0) q -- OFFSET 0: so that `ready` is computed once for each run and not for each aggregate",
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

pub(crate) async fn run(
    connection: &mut PgConnection,
    id: RunId,
) -> Result<Option<RunRecord>, StoreError> {
    let row = sqlx::query(
        "-- run
        SELECT id, task_name, kind, destroys, no_retry, status, input_hash, attempts, errors, changes_present,
               plan_encoding, plan, summary, findings, waiting_for, created_at, due_at, started_at, finished_at
        FROM runs WHERE id = $1",
    )
    .bind(id.as_uuid())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read a run"))?;
    row.as_ref().map(by(decode::run_record)).transpose()
}

pub(crate) async fn runs(
    connection: &mut PgConnection,
    filter: &RunFilter,
) -> Result<Vec<RunRecord>, StoreError> {
    let rows = sqlx::query(AssertSqlSafe(listing(filter)))
        .bind(filter.task.as_ref().map(TaskName::as_str))
        .bind(filter.after.map(RunId::as_uuid))
        .bind(i64::from(filter.limit))
        .fetch_all(connection)
        .await
        .map_err(failed_to("list runs"))?;
    rows.iter().map(by(decode::run_record)).collect()
}

/// A statement of its own for each kind of filter, so that each has its index.
fn listing(filter: &RunFilter) -> String {
    let task = filter.task.as_ref();
    let of_task = task.map_or("$1::TEXT IS NULL", |_| "task_name = $1");
    let behind = filter.after.map_or("$2::UUID IS NULL", |_| "id < $2");
    let equal = |status: RunStatus| format!("status = '{}'", status.as_str());
    let (found, of_status, order) = match filter.status {
        None => ("NOT MATERIALIZED", "TRUE".to_owned(), "id DESC"),
        // Queued and running runs are few, in an unknown number: all of them are found before they are
        // sorted.
        Some(status @ (RunStatus::Queued | RunStatus::Running)) if task.is_none() => {
            ("MATERIALIZED", equal(status), "id DESC")
        }
        // A range, because only one index has its order. With an equality, the planner of Postgres assumes
        // that such runs are spread evenly, and goes through all of them.
        Some(status @ (RunStatus::Failed | RunStatus::Cancelled)) if task.is_none() => {
            let status = status.as_str();
            let range = format!(
                "status IN ('failed', 'cancelled') AND status BETWEEN '{status}' AND '{status}'"
            );
            ("NOT MATERIALIZED", range, "status DESC, id DESC")
        }
        Some(status) => ("NOT MATERIALIZED", equal(status), "id DESC"),
    };
    format!(
        "-- runs: without the texts of plans and without findings; indexes runs_pkey, runs_task, runs_not_applied
        WITH found AS {found} (
            SELECT id, task_name, kind, destroys, no_retry, status, input_hash, attempts, errors,
                   changes_present,
                   CASE WHEN plan_encoding IS NOT NULL THEN 'plain' END AS plan_encoding,
                   CASE WHEN plan IS NOT NULL THEN ''::BYTEA END AS plan,
                   summary, NULL AS findings, waiting_for, created_at, due_at, started_at, finished_at
            FROM runs
            WHERE {of_task} AND {of_status} AND {behind}
        )
        SELECT id, task_name, kind, destroys, no_retry, status, input_hash, attempts, errors, changes_present,
               plan_encoding, plan, summary, findings, waiting_for, created_at, due_at, started_at, finished_at
        FROM found ORDER BY {order} LIMIT $3"
    )
}
