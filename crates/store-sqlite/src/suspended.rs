//! Leased runs that wait for something outside of cts.

use cts_core::runs::{Resumed, WaitEnd, wait_end};
use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::decode::{self, Wait};
use cts_store::{LeaseError, StoreError};
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::lease::stored_epoch;
use crate::row::{by, failed_to};

/// A lease: its run, its holder and its epoch.
pub(crate) type Held<'a> = (RunId, &'a WorkerId, LeaseEpoch);

pub(crate) fn lost((run, _holder, epoch): Held<'_>) -> LeaseError {
    LeaseError::Lost { run, epoch }
}

pub(crate) async fn suspend(
    executor: impl SqliteExecutor<'_>,
    held: Held<'_>,
    (wait, waiting_for): (u32, &str),
) -> Result<(), LeaseError> {
    let (run, holder, epoch) = held;
    let suspended = sqlx::query(
        "-- suspend
        UPDATE runs SET waiting_for = CASE WHEN resumed_waits < ?5 THEN ?1 ELSE waiting_for END,
            concurrency_group = CASE WHEN resumed_waits >= ?5 THEN concurrency_group END
        WHERE id = ?2 AND epoch = ?3 AND holder = ?4 AND status = 'running'",
    )
    .bind(waiting_for)
    .bind(run.to_string())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .bind(wait)
    .execute(executor)
    .await
    .map_err(failed_to("suspend a run"))?;
    if suspended.rows_affected() == 1 {
        Ok(())
    } else {
        Err(lost(held))
    }
}

pub(crate) async fn end(
    executor: impl SqliteExecutor<'_>,
    held: Held<'_>,
) -> Result<Option<WaitEnd>, LeaseError> {
    let wait = read(executor, held).await?;
    let wait = wait.ok_or_else(|| lost(held))?;
    Ok(wait_end(wait.context))
}

async fn read(
    executor: impl SqliteExecutor<'_>,
    (run, holder, epoch): Held<'_>,
) -> Result<Option<Wait>, StoreError> {
    let row = sqlx::query(
        "-- wait_end, resume; indexes runs_one_queued, runs_waiting, runs_one_of_group
        SELECT r.id, r.kind, r.no_retry, r.withdrawn, t.name AS task_name, t.phase, t.enabled,
               EXISTS (SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits,
               EXISTS (SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'check') AS check_waits,
               r.kind = 'apply' AND r.concurrency_group IS NULL AND EXISTS (
                   SELECT 1 FROM busy_groups g WHERE g.name = t.concurrency_group) AS group_busy
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.id = ? AND r.epoch = ? AND r.holder = ? AND r.status = 'running'",
    )
    .bind(run.to_string())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read a run that waits"))?;
    row.as_ref().map(by(decode::wait)).transpose()
}

pub(crate) async fn resume(
    connection: &mut SqliteConnection,
    held: Held<'_>,
    number: u32,
) -> Result<Resumed, LeaseError> {
    let wait = read(&mut *connection, held).await?;
    let wait = wait.ok_or_else(|| lost(held))?;
    if let Some(end) = wait_end(wait.context) {
        return Ok(Resumed::Ended(end));
    }
    if wait.group_busy {
        return Ok(Resumed::GroupBusy);
    }
    sqlx::query(
        "-- resume
        UPDATE runs
        SET waiting_for = NULL, resumed_waits = ?1,
            concurrency_group = CASE kind WHEN 'apply' THEN (
                SELECT t.concurrency_group FROM tasks t WHERE t.name = task_name) END
        WHERE id = ?2 AND resumed_waits < ?1",
    )
    .bind(number)
    .bind(held.0.to_string())
    .execute(connection)
    .await
    .map_err(failed_to("resume a run"))?;
    Ok(Resumed::GoesOn)
}
