//! The queue: waiting runs, and the time until they are due.

use std::time::Duration;

use cts_core::TaskName;
use cts_store::{QueueDepth, StoreError};
use sqlx::{Row as _, SqliteExecutor};

use crate::row::{between, failed_to};

pub(crate) async fn next_due(
    executor: impl SqliteExecutor<'_>,
    now: i64,
) -> Result<Option<Duration>, StoreError> {
    let due: Option<i64> = sqlx::query_scalar(
        "-- next_due; index runs_due
        SELECT r.due_at
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'queued' AND (t.enabled = 1 OR r.kind <> 'apply' OR r.requested)
          AND NOT EXISTS (
            SELECT 1 FROM runs a WHERE a.task_name = r.task_name AND a.status = 'running')
          AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND EXISTS (
            SELECT 1 FROM busy_groups g WHERE g.name = t.concurrency_group))
        ORDER BY r.due_at
        LIMIT 1",
    )
    .fetch_optional(executor)
    .await
    .map_err(failed_to("find the next due run"))?;
    Ok(due.map(|due| between(now, due)))
}

pub(crate) async fn depth(
    executor: impl SqliteExecutor<'_>,
    now: i64,
) -> Result<QueueDepth, StoreError> {
    let read = failed_to("read the depth of the queue");
    let row = sqlx::query(
        "-- queue_depth; indexes runs_due, runs_one_running
        SELECT count(*) AS queued,
               count(*) FILTER (WHERE ready) AS ready,
               min(due_at) FILTER (WHERE ready) AS oldest,
               (SELECT count(*) FROM runs WHERE status = 'running' AND waiting_for IS NULL) AS running
        FROM (SELECT r.due_at,
                     r.due_at <= ? AND NOT EXISTS (
                         SELECT 1 FROM runs a
                         WHERE a.task_name = r.task_name AND a.status = 'running')
                     AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND EXISTS (
                         SELECT 1 FROM busy_groups g WHERE g.name = t.concurrency_group)) AS ready
              FROM runs r JOIN tasks t ON t.name = r.task_name
              WHERE r.status = 'queued' AND (t.enabled = 1 OR r.kind <> 'apply' OR r.requested))",
    )
    .bind(now)
    .fetch_one(executor)
    .await
    .map_err(&read)?;
    let count = |column: &str| -> Result<u64, StoreError> {
        let count: i64 = row.try_get(column).map_err(&read)?;
        Ok(count.unsigned_abs())
    };
    let oldest: Option<i64> = row.try_get("oldest").map_err(&read)?;
    Ok(QueueDepth {
        queued: count("queued")?,
        ready: count("ready")?,
        running: count("running")?,
        oldest_ready: oldest.map(|due| between(due, now)),
    })
}

/// Time until the next queued run of one task is due.
pub(crate) async fn next_due_of(
    executor: impl SqliteExecutor<'_>,
    task: &TaskName,
    now: i64,
) -> Result<Option<Duration>, StoreError> {
    let due: Option<i64> = sqlx::query_scalar(
        "-- next_due_of; index runs_waiting
        SELECT min(due_at) FROM runs WHERE task_name = ? AND status = 'queued'",
    )
    .bind(task.as_str())
    .fetch_one(executor)
    .await
    .map_err(failed_to("find the next due run"))?;
    Ok(due.map(|due| between(now, due)))
}
