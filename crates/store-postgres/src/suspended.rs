//! Leased runs that wait for something outside of cts.

use cts_core::runs::{Resumed, WaitEnd, wait_end};
use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::decode::{self, Wait};
use cts_store::{LeaseError, StoreError};
use sqlx::{Connection as _, PgConnection};

use crate::lease::{is_group_taken, stored_epoch};
use crate::row::{by, failed_to};

/// A lease: its run, its holder and its epoch.
pub(crate) type Held<'a> = (RunId, &'a WorkerId, LeaseEpoch);

pub(crate) fn lost((run, _holder, epoch): Held<'_>) -> LeaseError {
    LeaseError::Lost { run, epoch }
}

pub(crate) async fn suspend(
    connection: &mut PgConnection,
    held: Held<'_>,
    (wait, waiting_for): (u32, &str),
) -> Result<(), LeaseError> {
    let (run, holder, epoch) = held;
    let suspended = sqlx::query(
        "-- suspend
        UPDATE runs SET waiting_for = CASE WHEN resumed_waits < $5 THEN $4 ELSE waiting_for END,
            concurrency_group = CASE WHEN resumed_waits >= $5 THEN concurrency_group END
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'",
    )
    .bind(run.as_uuid())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .bind(waiting_for)
    .bind(i64::from(wait))
    .execute(connection)
    .await
    .map_err(failed_to("suspend a run"))?;
    if suspended.rows_affected() == 1 {
        Ok(())
    } else {
        Err(lost(held))
    }
}

pub(crate) async fn end(
    connection: &mut PgConnection,
    held: Held<'_>,
) -> Result<Option<WaitEnd>, LeaseError> {
    let wait = read(connection, held).await?;
    let wait = wait.ok_or_else(|| lost(held))?;
    Ok(wait_end(wait.context))
}

async fn read(
    connection: &mut PgConnection,
    (run, holder, epoch): Held<'_>,
) -> Result<Option<Wait>, StoreError> {
    let row = sqlx::query(
        "-- wait_end, resume; indexes runs_one_queued, runs_waiting, runs_one_of_group
        SELECT r.id, r.kind, r.no_retry, r.withdrawn, t.name AS task_name, t.phase, t.enabled,
               EXISTS (SELECT FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits,
               EXISTS (SELECT FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'check') AS check_waits,
               r.kind = 'apply' AND r.concurrency_group IS NULL AND EXISTS (
                   SELECT FROM busy_groups g WHERE g.name = t.concurrency_group) AS group_busy
        FROM runs r
        -- Of this run alone: old statistics could make reading all tasks in order look cheaper.
        CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = r.task_name LIMIT 1) t
        WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3 AND r.status IS NOT DISTINCT FROM 'running'",
    )
    .bind(run.as_uuid())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read a run that waits"))?;
    row.as_ref().map(by(decode::wait)).transpose()
}

/// Two runs of a concurrency group may be resumed or leased at the same time. One of them gets it.
pub(crate) async fn resume(
    connection: &mut PgConnection,
    held: Held<'_>,
    number: u32,
) -> Result<Resumed, LeaseError> {
    let failed = failed_to("resume a run");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    sqlx::query(
        "-- resume: the task is locked before its run
        SELECT FROM tasks
        WHERE name = (SELECT task_name FROM runs WHERE id = $1)
        FOR NO KEY UPDATE",
    )
    .bind(held.0.as_uuid())
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    // A statement of its own, to see changes made while the lock was waited for.
    let wait = read(&mut transaction, held).await?;
    let wait = wait.ok_or_else(|| lost(held))?;
    if let Some(end) = wait_end(wait.context) {
        return Ok(Resumed::Ended(end));
    }
    if wait.group_busy {
        return Ok(Resumed::GroupBusy);
    }
    let resumed = sqlx::query(
        "-- resume
        UPDATE runs
        SET waiting_for = NULL, resumed_waits = $2,
            concurrency_group = CASE kind WHEN 'apply' THEN (
                SELECT t.concurrency_group FROM tasks t WHERE t.name = task_name) END
        WHERE id = $1 AND resumed_waits < $2",
    )
    .bind(held.0.as_uuid())
    .bind(i64::from(number))
    .execute(&mut *transaction)
    .await;
    match resumed {
        Err(error) if is_group_taken(&error) => return Ok(Resumed::GroupBusy),
        Err(error) => return Err(failed(error).into()),
        Ok(_) => {}
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(Resumed::GoesOn)
}
