//! Leases taken back: of workers that are gone, or of all.

use cts_core::runs::RunStatus;
use cts_core::{LeaderEpoch, LeaseEpoch, RunId};
use cts_store::cancel::{CUT_OFF, SUSPENDED_UNTIL};
use cts_store::decode;
use cts_store::{CancelError, ExpiredLeases, LeaderError, Requeued, StoreError};
use cts_store_sql::leadership::fence;
use cts_store_sql::{cancel, destruction, housekeeping};
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

use crate::call::shared;
use crate::row::{Cell, by, failed_to};
use crate::{complete, leadership, set_back};

const OPERATION: &str = "take back leases";

/// A lease that has expired.
struct Expired {
    run: RunId,
    epoch: LeaseEpoch,
    holder: String,
    /// A scheduler could have renewed the lease all the time.
    renewable: bool,
}

pub(crate) async fn reap(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    each: &[ExpiredLeases],
) -> Result<Vec<Requeued>, LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = fence(&mut shared(&mut transaction), leader).await?;
    set_back::bring_back(&mut transaction, now).await?;
    let mut requeued = Vec::new();
    let expired = expired(&mut transaction, each.len(), now).await?;
    for (lost, ids) in expired.iter().zip(each) {
        let lease = (lost.run, lost.epoch);
        let loss = (lost.holder.as_str(), lost.renewable);
        let completed = complete::lose(&mut transaction, lease, loss, ids).await?;
        requeued.push(Requeued {
            run: lost.run,
            task: completed.task,
            kind: completed.kind,
            status: completed.status,
        });
    }
    let left = each.get(requeued.len()..).unwrap_or_default();
    let put_back = cancel::put_back(&mut shared(&mut transaction), left.len()).await?;
    for (run, ids) in put_back.into_iter().zip(left) {
        match cancel::cancel(&mut shared(&mut transaction), run, (false, ids.event)).await {
            Ok(ended) => requeued.push(Requeued {
                run,
                task: ended.task,
                kind: ended.kind,
                status: ended.status,
            }),
            Err(CancelError::Store(error)) => return Err(error.into()),
            // Another call has ended the lease in the meantime.
            Err(CancelError::Unknown | CancelError::Refused(_)) => {}
        }
    }
    leadership::forget_silent(&mut transaction, now).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(requeued)
}

/// Leases that have expired, first expired first; locks them and their tasks.
async fn expired(
    transaction: &mut PgTransaction<'_>,
    most: usize,
    now: i64,
) -> Result<Vec<Expired>, StoreError> {
    let read = failed_to(OPERATION);
    let names: Vec<String> = sqlx::query_scalar(
        "-- reap: the tasks, one at a time; index runs_one_running
        SELECT t.name
        FROM tasks t
        WHERE t.name IN (
            SELECT r.task_name FROM runs r
            WHERE r.status = 'running' AND r.expires_at <= $1
            ORDER BY r.expires_at, r.id LIMIT $2)
        ORDER BY t.name
        FOR NO KEY UPDATE",
    )
    .bind(now)
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .fetch_all(&mut **transaction)
    .await
    .map_err(&read)?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // A statement of its own, to see changes made while the locks were waited for.
    let rows = sqlx::query(
        "-- reap; index runs_one_running; a running run was updated last when its lease was granted or renewed
        SELECT r.id, r.epoch, r.holder,
               coalesce(l.served_since <= r.updated_at, FALSE) AS renewable
        FROM runs r CROSS JOIN leadership l
        WHERE r.task_name = ANY ($1) AND r.status = 'running' AND r.expires_at <= $2
        ORDER BY r.expires_at, r.id
        FOR NO KEY UPDATE OF r",
    )
    .bind(names)
    .bind(now)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&read)?;
    let expired = rows.iter().map(|row| {
        let id: Uuid = row.try_get("id").map_err(&read)?;
        let key = id.to_string();
        let epoch = Cell {
            table: "runs",
            column: "epoch",
            row: &key,
        };
        Ok(Expired {
            run: RunId::from_uuid(id),
            epoch: LeaseEpoch::new(epoch.number(row.try_get("epoch").map_err(&read)?)?),
            holder: row.try_get("holder").map_err(&read)?,
            renewable: row.try_get("renewable").map_err(&read)?,
        })
    });
    expired.collect()
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
    let mut requeued = take_back_all(&mut transaction, now).await?;
    sqlx::query(
        "-- release_all: what may stand for a change goes on
        UPDATE runs r SET no_retry = FALSE, updated_at = $1
        FROM tasks t
        WHERE r.status = 'queued' AND r.kind = 'apply' AND r.no_retry
          AND t.name = r.task_name AND t.enabled AND t.phase = 'ready'",
    )
    .bind(now)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    let cancelled: Vec<Uuid> = sqlx::query_scalar(
        "-- release_all: the callers that waited for these are dead
        UPDATE runs SET status = 'cancelled', finished_at = $1, updated_at = $1
        WHERE status = 'queued' AND (kind <> 'apply' OR no_retry)
          AND destroys IS DISTINCT FROM 'apply'
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
        DELETE FROM tasks WHERE phase <> 'ready' AND destroy_run IS NULL",
    ] {
        sqlx::query(statement)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
    }
    destruction::begin_all(&mut shared(&mut transaction)).await?;
    leadership::clear(&mut transaction).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(requeued)
}

/// Takes back every lease. A run ends if it applies and a newer one is queued, or if its task is being deleted;
/// any other goes back to the queue, and the attempt that was cut off does not count.
async fn take_back_all(
    transaction: &mut PgTransaction<'_>,
    now: i64,
) -> Result<Vec<Requeued>, StoreError> {
    let failed = failed_to(OPERATION);
    sqlx::query(
        "-- release_all: the tasks, one at a time
        SELECT FROM tasks WHERE active_run IS NOT NULL ORDER BY name FOR NO KEY UPDATE",
    )
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    housekeeping::note_lost(&mut shared(transaction), None).await?;
    // A statement of its own, to see changes made while the locks were waited for.
    let rows = sqlx::query(
        "-- release_all; indexes runs_one_running, runs_one_queued
        WITH lost AS (
            SELECT r.id, r.cancel_requested_at IS NOT NULL AS cancelled, EXISTS (
                SELECT FROM runs q
                WHERE q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply') AS waits,
                t.phase = 'deleting' AND t.destroy_run IS DISTINCT FROM r.id
                OR r.cancel_requested_at IS NOT NULL AND r.destroys IS DISTINCT FROM 'apply'
                OR r.withdrawn OR r.kind = 'apply' AND EXISTS (
                SELECT FROM runs q
                WHERE q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply') AS newer
            FROM runs r JOIN tasks t ON t.name = r.task_name
            WHERE r.status = 'running'
        ), back AS (
            UPDATE runs r
            SET status = CASE WHEN lost.newer THEN 'cancelled' ELSE 'queued' END,
                finished_at = CASE WHEN lost.newer THEN $1 END,
                attempts = greatest(r.attempts - 1, 0),
                due_at = CASE WHEN lost.cancelled THEN $2 ELSE $1 END,
                cancel_requested_at = NULL,
                cancel_force = FALSE,
                cancel_noted_at = NULL,
                errors = CASE WHEN lost.cancelled THEN (r.errors::JSONB || to_jsonb($3::TEXT))::TEXT
                         ELSE r.errors END,
                settings = coalesce(
                    (SELECT s.successor FROM settings_successors s WHERE s.number = r.settings),
                    r.settings),
                holder = NULL,
                expires_at = NULL,
                updated_at = $1
            FROM lost
            WHERE r.id = lost.id AND r.status IS NOT DISTINCT FROM 'running'
            RETURNING r.id, r.task_name, r.kind, r.destroys, r.status, r.input_hash, lost.cancelled,
                      lost.waits
        ), free AS (
            UPDATE tasks t
            SET active_run = NULL,
                cancelled_input = CASE WHEN back.cancelled AND back.kind = 'apply' AND t.phase = 'ready'
                                            AND NOT back.waits
                                  THEN coalesce(t.cancelled_input, back.input_hash)
                                  ELSE t.cancelled_input END,
                destruction_suspended_at = CASE WHEN back.cancelled AND t.destroy_run = back.id
                                           THEN $1 ELSE t.destruction_suspended_at END
            FROM back WHERE t.name = back.task_name
        )
        SELECT id, task_name, kind, destroys, status FROM back",
    )
    .bind(now)
    .bind(SUSPENDED_UNTIL)
    .bind(CUT_OFF)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&failed)?;
    rows.iter().map(by(decode::requeued)).collect()
}
