//! Requested runs, as long as they are not queued. Writers have locked the task.

use cts_core::runs::RunKind;
use cts_core::{LeaderEpoch, RunId, TaskName};
use cts_store::decode;
use cts_store::{LeaderError, Refused, RunRequest, StoreError};
use sqlx::{Connection as _, PgConnection, PgTransaction};

use crate::leadership;
use crate::row::{by, failed_to};

/// Requests a run with this id and kind.
pub(crate) async fn insert(
    transaction: &mut PgTransaction<'_>,
    task: &TaskName,
    (run, kind): (RunId, RunKind),
) -> Result<(), StoreError> {
    sqlx::query(
        "-- a run is requested
        INSERT INTO run_requests (run_id, task_name, kind, requested_at)
        VALUES ($1, $2, $3, cts_now())",
    )
    .bind(run.as_uuid())
    .bind(task.as_str())
    .bind(kind.as_str())
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("request a run"))?;
    Ok(())
}

/// Whether a run of this id was requested or queued before.
pub(crate) async fn is_known(
    transaction: &mut PgTransaction<'_>,
    run: RunId,
) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "-- change_task: whether it was made before
        SELECT EXISTS (SELECT FROM run_requests WHERE run_id = $1)
            OR EXISTS (SELECT FROM runs WHERE id = $1)",
    )
    .bind(run.as_uuid())
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed_to("read a request"))
}

/// Refuses one request if it is open; the task that it was to create is discarded.
pub(crate) async fn refuse(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    run: RunId,
    why: &Refused,
) -> Result<(), LeaderError> {
    let write = failed_to("refuse a request");
    let mut transaction = connection.begin().await.map_err(&write)?;
    leadership::fence(&mut transaction, leader).await?;
    sqlx::query(
        "-- refuse: the task
        SELECT FROM tasks
        WHERE name = (SELECT task_name FROM run_requests WHERE run_id = $1)
        FOR NO KEY UPDATE",
    )
    .bind(run.as_uuid())
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    refuse_locked(&mut transaction, run, why).await?;
    transaction.commit().await.map_err(&write)?;
    Ok(())
}

/// Refuses a request in a transaction that has locked the task. Uses a statement of its own, so that it sees
/// changes made while it waited for the lock.
pub(crate) async fn refuse_locked(
    transaction: &mut PgTransaction<'_>,
    run: RunId,
    why: &Refused,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- refuse
        WITH refused AS (
            UPDATE run_requests SET refused = $2, refused_code = $3, refused_at = cts_now()
            WHERE run_id = $1 AND refused IS NULL
            RETURNING task_name
        )
        UPDATE tasks t SET phase = 'discarded', updated_at = cts_now()
        FROM refused
        WHERE t.name = refused.task_name AND t.phase = 'creating' AND t.creation_run = $1",
    )
    .bind(run.as_uuid())
    // Texts cannot hold this character here.
    .bind(why.reason.replace('\0', "\u{FFFD}"))
    .bind(why.code.as_str())
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("refuse a request"))?;
    Ok(())
}

pub(crate) async fn open(connection: &mut PgConnection) -> Result<Vec<RunRequest>, StoreError> {
    let rows = sqlx::query(
        "-- requests
        SELECT run_id, task_name, kind, requested_at, refused, refused_code FROM run_requests
        WHERE refused IS NULL ORDER BY requested_at, run_id",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the requests"))?;
    rows.iter().map(by(decode::run_request)).collect()
}

pub(crate) async fn one(
    connection: &mut PgConnection,
    run: RunId,
) -> Result<Option<RunRequest>, StoreError> {
    let row = sqlx::query(
        "-- request
        SELECT run_id, task_name, kind, requested_at, refused, refused_code FROM run_requests WHERE run_id = $1",
    )
    .bind(run.as_uuid())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read a request"))?;
    row.as_ref().map(by(decode::run_request)).transpose()
}
