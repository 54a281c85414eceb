//! Requested runs, as long as they are not queued.

use cts_core::runs::RunKind;
use cts_core::{RunId, TaskName};
use cts_store::decode;
use cts_store::{Refused, RunRequest, StoreError};
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::row::{by, failed_to};

/// Requests a run with this id and kind.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    task: &TaskName,
    (run, kind): (RunId, RunKind),
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- a run is requested
        INSERT INTO run_requests (run_id, task_name, kind, requested_at) VALUES (?, ?, ?, ?)",
    )
    .bind(run.to_string())
    .bind(task.as_str())
    .bind(kind.as_str())
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to("request a run"))?;
    Ok(())
}

/// Whether a run of this id was requested or queued before.
pub(crate) async fn is_known(
    connection: &mut SqliteConnection,
    run: RunId,
) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "-- change_task: whether it was made before
        SELECT EXISTS (SELECT 1 FROM run_requests WHERE run_id = ?1)
            OR EXISTS (SELECT 1 FROM runs WHERE id = ?1)",
    )
    .bind(run.to_string())
    .fetch_one(connection)
    .await
    .map_err(failed_to("read a request"))
}

/// Removes a request that has become a run.
pub(crate) async fn remove(
    connection: &mut SqliteConnection,
    run: RunId,
) -> Result<(), StoreError> {
    sqlx::query("-- enqueue: what was requested\nDELETE FROM run_requests WHERE run_id = ?")
        .bind(run.to_string())
        .execute(connection)
        .await
        .map_err(failed_to("carry out a request"))?;
    Ok(())
}

/// Refuses the open requests of a task, or those of one kind.
pub(crate) async fn refuse_all(
    connection: &mut SqliteConnection,
    task: &str,
    kind: Option<RunKind>,
    reason: &str,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- change_task, replace_config_tasks, delete_task: what is requested; index run_requests_task
        UPDATE run_requests SET refused = ?1, refused_code = 'withdrawn', refused_at = ?2
        WHERE task_name = ?3 AND refused IS NULL AND (?4 IS NULL OR kind = ?4)",
    )
    .bind(reason)
    .bind(now)
    .bind(task)
    .bind(kind.map(RunKind::as_str))
    .execute(connection)
    .await
    .map_err(failed_to("refuse requests"))?;
    Ok(())
}

/// Refuses one request if it is open; the task that it was to create is discarded.
pub(crate) async fn refuse(
    connection: &mut SqliteConnection,
    run: RunId,
    why: &Refused,
    now: i64,
) -> Result<(), StoreError> {
    let write = failed_to("refuse a request");
    let refused = sqlx::query(
        "-- refuse
        UPDATE run_requests SET refused = ?, refused_code = ?, refused_at = ?
        WHERE run_id = ? AND refused IS NULL",
    )
    .bind(&why.reason)
    .bind(why.code.as_str())
    .bind(now)
    .bind(run.to_string())
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    if refused.rows_affected() == 0 {
        return Ok(());
    }
    sqlx::query(
        "-- refuse: the draft
        UPDATE tasks SET phase = 'discarded', updated_at = ?
        WHERE phase = 'creating' AND creation_run = ?",
    )
    .bind(now)
    .bind(run.to_string())
    .execute(connection)
    .await
    .map_err(&write)?;
    Ok(())
}

pub(crate) async fn open(executor: impl SqliteExecutor<'_>) -> Result<Vec<RunRequest>, StoreError> {
    let rows = sqlx::query(
        "-- requests
        SELECT run_id, task_name, kind, requested_at, refused, refused_code FROM run_requests
        WHERE refused IS NULL ORDER BY requested_at, run_id",
    )
    .fetch_all(executor)
    .await
    .map_err(failed_to("read the requests"))?;
    rows.iter().map(by(decode::run_request)).collect()
}

pub(crate) async fn one(
    executor: impl SqliteExecutor<'_>,
    run: RunId,
) -> Result<Option<RunRequest>, StoreError> {
    let row = sqlx::query(
        "-- request
        SELECT run_id, task_name, kind, requested_at, refused, refused_code FROM run_requests WHERE run_id = ?",
    )
    .bind(run.to_string())
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read a request"))?;
    row.as_ref().map(by(decode::run_request)).transpose()
}
