//! The time until a queued run is due.

use std::time::Duration;

use cts_core::TaskName;
use cts_store::StoreError;
use sqlx::SqliteExecutor;

use crate::row::{between, failed_to};

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
