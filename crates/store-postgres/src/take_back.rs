//! Leases taken back: of workers that are gone, or of all.

use cts_core::runs::RunStatus;
use cts_core::{LeaderEpoch, RunId};
use cts_store::{LeaderError, Requeued, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

use crate::leadership;
use crate::row::{Cell, failed_to};

const OPERATION: &str = "take back leases";

pub(crate) async fn reap(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
) -> Result<Vec<Requeued>, LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = leadership::fence(&mut transaction, leader).await?;
    let requeued = take_back(&mut transaction, now, now).await?;
    leadership::forget_silent(&mut transaction, now).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(requeued)
}

pub(crate) async fn release_all(
    connection: &mut PgConnection,
) -> Result<Vec<Requeued>, StoreError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    leadership::alone(&mut transaction).await?;
    let now: i64 = sqlx::query_scalar("-- release_all: the time\nSELECT cts_now()")
        .fetch_one(&mut *transaction)
        .await
        .map_err(&failed)?;
    let mut requeued = take_back(&mut transaction, i64::MAX, now).await?;
    let cancelled: Vec<Uuid> = sqlx::query_scalar(
        "-- release_all: whoever waited for these is dead
        UPDATE runs SET status = 'cancelled', finished_at = $1, updated_at = $1
        WHERE status = 'queued' AND (kind <> 'apply' OR single)
        RETURNING id",
    )
    .bind(now)
    .fetch_all(&mut *transaction)
    .await
    .map_err(&failed)?;
    for run in &mut requeued {
        if cancelled.contains(&run.run.as_uuid()) {
            run.status = RunStatus::Cancelled;
        }
    }
    for statement in [
        "-- release_all: requests\nDELETE FROM run_requests",
        "-- release_all: drafts, and tasks that only waited for their run
        DELETE FROM tasks WHERE phase <> 'ready'",
    ] {
        sqlx::query(statement)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
    }
    leadership::clear(&mut transaction).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(requeued)
}

/// Takes back the leases that end at `until` or before. A run ends if it applies and a newer one is queued, or
/// if its task is being deleted, which goes then; any other goes back to the queue, and the attempt that was
/// cut off does not count.
async fn take_back(
    transaction: &mut PgTransaction<'_>,
    until: i64,
    now: i64,
) -> Result<Vec<Requeued>, StoreError> {
    let failed = failed_to(OPERATION);
    let names: Vec<String> = sqlx::query_scalar(
        "-- take_back: the tasks, one at a time; index runs_one_running
        SELECT t.name
        FROM tasks t JOIN runs r ON r.task_name = t.name
        WHERE r.status = 'running' AND r.expires_at <= $1
        ORDER BY t.name
        FOR NO KEY UPDATE OF t",
    )
    .bind(until)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&failed)?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // A statement of its own: what changed while the locks were waited for is seen.
    let rows = sqlx::query(
        "-- take_back; indexes runs_one_running, runs_one_queued
        WITH lost AS (
            SELECT r.id, t.phase = 'deleting' OR r.kind = 'apply' AND EXISTS (
                SELECT FROM runs q
                WHERE q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply') AS newer
            FROM runs r JOIN tasks t ON t.name = r.task_name
            WHERE r.task_name = ANY ($1) AND r.status = 'running' AND r.expires_at <= $2
        ), back AS (
            UPDATE runs r
            SET status = CASE WHEN lost.newer THEN 'cancelled' ELSE 'queued' END,
                finished_at = CASE WHEN lost.newer THEN $3 END,
                attempts = greatest(r.attempts - 1, 0),
                due_at = $3,
                holder = NULL,
                expires_at = NULL,
                updated_at = $3
            FROM lost
            WHERE r.id = lost.id AND r.status = 'running' AND r.expires_at <= $2
            RETURNING r.id, r.task_name, r.kind, r.status
        ), free AS (
            UPDATE tasks t SET active_run = NULL FROM back WHERE t.name = back.task_name
        )
        SELECT * FROM back",
    )
    .bind(&names)
    .bind(until)
    .bind(now)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&failed)?;
    sqlx::query(
        "-- take_back: tasks that only waited for that
        DELETE FROM tasks WHERE name = ANY ($1) AND phase = 'deleting' AND active_run IS NULL",
    )
    .bind(names)
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    rows.iter().map(requeued).collect()
}

fn requeued(row: &PgRow) -> Result<Requeued, StoreError> {
    let read = failed_to(OPERATION);
    let id: Uuid = row.try_get("id").map_err(&read)?;
    let key = id.to_string();
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &key,
    };
    let task: &str = row.try_get("task_name").map_err(&read)?;
    let status: &str = row.try_get("status").map_err(&read)?;
    let kind: &str = row.try_get("kind").map_err(&read)?;
    Ok(Requeued {
        run: RunId::from_uuid(id),
        task: cell("task_name").parse(task)?,
        kind: cell("kind").run_kind(kind)?,
        status: cell("status").run_status(status)?,
    })
}
