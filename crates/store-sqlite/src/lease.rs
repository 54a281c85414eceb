//! Leases: granted, renewed, taken back.

use std::time::Duration;

use cts_core::runs::RunStatus;
use cts_core::{Capabilities, LeaseEpoch, RunId};
use cts_store::{Claim, Lease, LeaseError, Requeued, StoreError};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::row::{Cell, failed_to, span_micros};

/// One statement, on the way of every change; the trigger `runs_unsettle` belongs to it. A row that cannot be read
/// is an error, with which the caller's transaction is undone.
pub(crate) async fn acquire(
    connection: &mut SqliteConnection,
    claim: &Claim,
    now: i64,
) -> Result<Option<Lease>, StoreError> {
    let rows = sqlx::query(
        "-- acquire; indexes runs_due, runs_one_running; engines are pairs of driver and version
        UPDATE runs
        SET status = 'running',
            holder = ?1,
            expires_at = ?2,
            epoch = epoch + 1,
            attempts = attempts + 1,
            started_at = coalesce(started_at, ?3),
            updated_at = ?3
        WHERE status = 'queued' AND id = (
            SELECT r.id
            FROM runs r JOIN tasks t ON t.name = r.task_name
            WHERE r.status = 'queued' AND r.due_at <= ?3
              AND CASE r.kind WHEN 'plan' THEN ?6 WHEN 'check' THEN ?9
                  ELSE ?7 AND (t.enabled OR r.requested) END
              AND t.phase IN ('ready', 'creating')
              AND (r.single OR NOT ?8)
              AND NOT EXISTS (
                SELECT 1 FROM runs a WHERE a.task_name = r.task_name AND a.status = 'running')
              AND NOT EXISTS (
                SELECT 1 FROM workers w WHERE w.id = ?1 AND (w.draining OR w.told_to_drain))
              AND t.requires_bundle <= ?4
              AND EXISTS (
                SELECT 1 FROM json_each(?5) e
                WHERE e.value ->> 0 = t.requires_driver
                  AND (t.requires_version IS NULL OR e.value ->> 1 = t.requires_version))
            ORDER BY r.due_at, r.id
            LIMIT 1)
        RETURNING id, task_name, kind, epoch, input_hash, attempts",
    )
    .bind(claim.worker.as_str())
    .bind(now.saturating_add(span_micros(claim.time_to_live)))
    .bind(now)
    .bind(claim.capabilities.bundles)
    .bind(engines(&claim.capabilities))
    .bind(claim.kinds.plans)
    .bind(claim.kinds.applies)
    .bind(claim.only_single)
    .bind(claim.kinds.checks)
    .fetch_all(connection)
    .await
    .map_err(failed_to("lease a run"))?;
    rows.first().map(lease).transpose()
}

fn engines(capabilities: &Capabilities) -> String {
    let engines = capabilities.engines.iter();
    let pairs = engines.map(|engine| json!([engine.driver, engine.version]));
    Value::Array(pairs.collect()).to_string()
}

fn lease(row: &SqliteRow) -> Result<Lease, StoreError> {
    let read = failed_to("lease a run");
    let id: String = row.try_get("id").map_err(&read)?;
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &id,
    };
    let task: String = row.try_get("task_name").map_err(&read)?;
    let input: String = row.try_get("input_hash").map_err(&read)?;
    let kind: String = row.try_get("kind").map_err(&read)?;
    Ok(Lease {
        run: cell("id").parse(&id)?,
        task: cell("task_name").parse(&task)?,
        kind: cell("kind").run_kind(&kind)?,
        epoch: LeaseEpoch::new(cell("epoch").number(row.try_get("epoch").map_err(&read)?)?),
        input: cell("input_hash").parse(&input)?,
        attempt: cell("attempts").number(row.try_get("attempts").map_err(&read)?)?,
    })
}

pub(crate) fn stored_epoch(epoch: LeaseEpoch) -> i64 {
    i64::try_from(epoch.get()).unwrap_or(i64::MAX)
}

pub(crate) async fn renew(
    executor: impl SqliteExecutor<'_>,
    run: RunId,
    epoch: LeaseEpoch,
    time_to_live: Duration,
    now: i64,
) -> Result<(), LeaseError> {
    let renewed = sqlx::query(
        "-- renew
        UPDATE runs SET expires_at = max(expires_at, ?1), updated_at = ?2
        WHERE id = ?3 AND epoch = ?4 AND status = 'running' AND expires_at > ?2",
    )
    .bind(now.saturating_add(span_micros(time_to_live)))
    .bind(now)
    .bind(run.to_string())
    .bind(stored_epoch(epoch))
    .execute(executor)
    .await
    .map_err(failed_to("renew a lease"))?;
    if renewed.rows_affected() == 1 {
        Ok(())
    } else {
        Err(LeaseError::Lost { run, epoch })
    }
}

/// Takes back the leases that end at `until` or before. A run ends if it applies and a newer one is queued, or
/// if its task is being deleted, which goes then; any other goes back to the queue, and the attempt that was
/// cut off does not count.
pub(crate) async fn take_back(
    connection: &mut SqliteConnection,
    until: i64,
    now: i64,
) -> Result<Vec<Requeued>, StoreError> {
    let write = failed_to("take back leases");
    let rows = sqlx::query(
        "-- take_back; newer is what makes the run pointless
        UPDATE runs
        SET status = CASE WHEN newer THEN 'cancelled' ELSE 'queued' END,
            finished_at = CASE WHEN newer THEN ?2 END,
            attempts = max(attempts - 1, 0),
            due_at = ?2,
            holder = NULL,
            expires_at = NULL,
            updated_at = ?2
        FROM (SELECT r.id AS lost, t.phase = 'deleting' OR r.kind = 'apply' AND EXISTS (
                  SELECT 1 FROM runs q
                  WHERE q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply'
              ) AS newer
              FROM runs r JOIN tasks t ON t.name = r.task_name
              WHERE r.status = 'running' AND r.expires_at <= ?1)
        WHERE id = lost
        RETURNING id, task_name, kind, status",
    )
    .bind(until)
    .bind(now)
    .fetch_all(&mut *connection)
    .await
    .map_err(&write)?;
    if !rows.is_empty() {
        sqlx::query(
            "-- take_back: tasks that only waited for that; index runs_one_running
            DELETE FROM tasks
            WHERE phase = 'deleting' AND NOT EXISTS (
                SELECT 1 FROM runs r WHERE r.task_name = tasks.name AND r.status = 'running')",
        )
        .execute(connection)
        .await
        .map_err(&write)?;
    }
    rows.iter().map(requeued).collect()
}

/// Takes back every lease, and cancels every plan, check and single run: whoever waited for one is dead. So
/// requests, drafts and tasks that are being deleted go as well.
pub(crate) async fn take_back_all(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<Vec<Requeued>, StoreError> {
    let mut requeued = take_back(connection, i64::MAX, now).await?;
    let cancelled: Vec<String> = sqlx::query_scalar(
        "-- release_all: what somebody waited for
        UPDATE runs SET status = 'cancelled', finished_at = ?1, updated_at = ?1
        WHERE status = 'queued' AND (kind <> 'apply' OR single)
        RETURNING id",
    )
    .bind(now)
    .fetch_all(&mut *connection)
    .await
    .map_err(failed_to("cancel what somebody waited for"))?;
    for statement in [
        "-- release_all: requests\nDELETE FROM run_requests",
        "-- release_all: drafts\nDELETE FROM tasks WHERE phase <> 'ready'",
    ] {
        sqlx::query(statement)
            .execute(&mut *connection)
            .await
            .map_err(failed_to("forget what somebody waited for"))?;
    }
    for run in &mut requeued {
        if cancelled.contains(&run.run.to_string()) {
            run.status = RunStatus::Cancelled;
        }
    }
    Ok(requeued)
}

fn requeued(row: &SqliteRow) -> Result<Requeued, StoreError> {
    let read = failed_to("take back leases");
    let id: String = row.try_get("id").map_err(&read)?;
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &id,
    };
    let task: String = row.try_get("task_name").map_err(&read)?;
    let status: String = row.try_get("status").map_err(&read)?;
    let status: RunStatus = cell("status").run_status(&status)?;
    let kind: String = row.try_get("kind").map_err(&read)?;
    Ok(Requeued {
        run: cell("id").parse(&id)?,
        task: cell("task_name").parse(&task)?,
        kind: cell("kind").run_kind(&kind)?,
        status,
    })
}
