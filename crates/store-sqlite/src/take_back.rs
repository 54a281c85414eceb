//! Leases taken back: of workers that are gone, or of all.

use cts_core::runs::RunStatus;
use cts_core::{LeaseEpoch, RunId};
use cts_store::cancel::{CUT_OFF, SUSPENDED_UNTIL};
use cts_store::decode;
use cts_store::{CancelError, ExpiredLeases, LeaseError, Requeued, StoreError};
use cts_store_sql::{cancel, destruction, housekeeping};
use sqlx::{Row as _, SqliteConnection};

use crate::call::shared;
use crate::complete;
use crate::row::{Cell, by, failed_to};

const OPERATION: &str = "take back leases";

/// A lease that has expired.
struct Expired {
    run: RunId,
    epoch: LeaseEpoch,
    holder: String,
    /// A scheduler could have renewed the lease all the time.
    renewable: bool,
}

/// Takes back expired leases, one for each of these at most.
pub(crate) async fn reap(
    connection: &mut SqliteConnection,
    each: &[ExpiredLeases],
    now: i64,
) -> Result<Vec<Requeued>, StoreError> {
    let mut requeued = Vec::new();
    let expired = expired(connection, each.len(), now).await?;
    for (lost, ids) in expired.iter().zip(each) {
        let lease = (lost.run, lost.epoch);
        let loss = (lost.holder.as_str(), lost.renewable);
        let completed = complete::lose(connection, lease, loss, ids, now).await;
        let completed = completed.map_err(|error| match error {
            LeaseError::Store(error) => error,
            // The lease was read in the same transaction.
            lost @ LeaseError::Lost { .. } => StoreError::Database {
                operation: OPERATION,
                source: Box::new(lost),
            },
        })?;
        requeued.push(Requeued {
            run: lost.run,
            task: completed.task,
            kind: completed.kind,
            status: completed.status,
        });
    }
    let left = each.get(requeued.len()..).unwrap_or_default();
    let put_back = cancel::put_back(&mut shared(connection, now), left.len()).await?;
    for (run, ids) in put_back.into_iter().zip(left) {
        match cancel::cancel(&mut shared(connection, now), run, (false, ids.event)).await {
            Ok(ended) => requeued.push(Requeued {
                run,
                task: ended.task,
                kind: ended.kind,
                status: ended.status,
            }),
            Err(CancelError::Store(error)) => return Err(error),
            // The run was read in the same transaction.
            Err(CancelError::Unknown | CancelError::Refused(_)) => {}
        }
    }
    Ok(requeued)
}

async fn expired(
    connection: &mut SqliteConnection,
    most: usize,
    now: i64,
) -> Result<Vec<Expired>, StoreError> {
    let read = failed_to(OPERATION);
    let rows = sqlx::query(
        "-- reap; index runs_one_running; a running run was updated last when its lease was granted or renewed
        SELECT r.id, r.epoch, r.holder,
               coalesce(l.served_since <= r.updated_at, 0) AS renewable
        FROM runs r JOIN leadership l ON l.singleton = 1
        WHERE r.status = 'running' AND r.expires_at <= ?1
        ORDER BY r.expires_at, r.id LIMIT ?2",
    )
    .bind(now)
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await
    .map_err(&read)?;
    let expired = rows.iter().map(|row| {
        let id: &str = row.try_get("id").map_err(&read)?;
        let cell = |column| Cell {
            table: "runs",
            column,
            row: id,
        };
        Ok(Expired {
            run: cell("id").parse(id)?,
            epoch: LeaseEpoch::new(cell("epoch").number(row.try_get("epoch").map_err(&read)?)?),
            holder: row.try_get("holder").map_err(&read)?,
            renewable: row.try_get("renewable").map_err(&read)?,
        })
    });
    expired.collect()
}

/// Takes back every lease; no attempt counts. Cancels every plan, check and requested run, because the caller
/// that waited for it is dead, and forgets requests, drafts and tasks that are being deleted, unless their
/// infrastructure is to be destroyed. A requested apply that stands for the change of an enabled task goes on
/// as an ordinary run.
pub(crate) async fn all(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<Vec<Requeued>, StoreError> {
    housekeeping::note_lost(&mut shared(connection, now), None).await?;
    let write = failed_to(OPERATION);
    for statement in [
        "-- release_all: what was cancelled is not tried again
        UPDATE tasks SET cancelled_input = coalesce(cancelled_input, r.input_hash)
        FROM runs r
        WHERE r.task_name = tasks.name AND r.status = 'running' AND r.kind = 'apply'
          AND r.cancel_requested_at IS NOT NULL AND tasks.phase = 'ready' AND ?1 > 0
          AND NOT EXISTS (
              SELECT 1 FROM runs q
              WHERE q.task_name = tasks.name AND q.status = 'queued' AND q.kind = 'apply')",
        "-- release_all: destructions that were cancelled
        UPDATE tasks SET destruction_suspended_at = ?1
        WHERE destroy_run IN (
            SELECT id FROM runs WHERE status = 'running' AND cancel_requested_at IS NOT NULL)",
    ] {
        sqlx::query(statement)
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(&write)?;
    }
    let rows = sqlx::query(
        "-- release_all; newer is what makes the run pointless
        UPDATE runs
        SET status = CASE WHEN newer THEN 'cancelled' ELSE 'queued' END,
            finished_at = CASE WHEN newer THEN ?1 END,
            attempts = max(attempts - 1, 0),
            due_at = CASE WHEN cancelled THEN ?2 ELSE ?1 END,
            cancel_requested_at = NULL,
            cancel_force = 0,
            cancel_noted_at = NULL,
            errors = CASE WHEN cancelled THEN json_insert(errors, '$[#]', ?3) ELSE errors END,
            settings = coalesce(
                (SELECT s.successor FROM settings_successors s WHERE s.number = runs.settings),
                settings),
            holder = NULL,
            expires_at = NULL,
            updated_at = ?1
        FROM (SELECT r.id AS lost, r.cancel_requested_at IS NOT NULL AS cancelled,
                     t.phase = 'deleting' AND t.destroy_run IS NOT r.id
                     OR r.cancel_requested_at IS NOT NULL AND r.destroys IS NOT 'apply'
                     OR r.withdrawn OR r.kind = 'apply' AND EXISTS (
                  SELECT 1 FROM runs q
                  WHERE q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply'
              ) AS newer
              FROM runs r JOIN tasks t ON t.name = r.task_name
              WHERE r.status = 'running')
        WHERE id = lost
        RETURNING id, task_name, kind, destroys, status",
    )
    .bind(now)
    .bind(SUSPENDED_UNTIL)
    .bind(CUT_OFF)
    .fetch_all(&mut *connection)
    .await
    .map_err(&write)?;
    let mut requeued: Vec<_> = rows
        .iter()
        .map(by(decode::requeued))
        .collect::<Result<_, _>>()?;
    sqlx::query(
        "-- release_all: what may stand for a change goes on
        UPDATE runs SET no_retry = 0, updated_at = ?
        WHERE status = 'queued' AND kind = 'apply' AND no_retry AND task_name IN (
            SELECT name FROM tasks WHERE enabled AND phase = 'ready')",
    )
    .bind(now)
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    let cancelled: Vec<String> = sqlx::query_scalar(
        "-- release_all: requested runs
        UPDATE runs SET status = 'cancelled', finished_at = ?1, updated_at = ?1
        WHERE status = 'queued' AND (kind <> 'apply' OR no_retry) AND destroys IS NOT 'apply'
        RETURNING id",
    )
    .bind(now)
    .fetch_all(&mut *connection)
    .await
    .map_err(failed_to("cancel requested runs"))?;
    for statement in [
        "-- release_all: requests\nDELETE FROM run_requests",
        "-- release_all: drafts\nDELETE FROM tasks WHERE phase <> 'ready' AND destroy_run IS NULL",
    ] {
        sqlx::query(statement)
            .execute(&mut *connection)
            .await
            .map_err(failed_to("forget open requests"))?;
    }
    destruction::begin_all(&mut shared(connection, now)).await?;
    for run in &mut requeued {
        if cancelled.contains(&run.run.to_string()) {
            run.status = RunStatus::Cancelled;
        }
    }
    Ok(requeued)
}
