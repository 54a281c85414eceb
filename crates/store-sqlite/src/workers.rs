//! Workers: their heartbeats and drains.

use std::time::Duration;

use cts_core::{WorkerId, WorkerRecord};
use cts_store::decode;
use cts_store::{StoreError, WorkerState};
use sqlx::SqliteExecutor;

use crate::row::{by, encoded, failed_to, span_micros};

pub(crate) async fn record_heartbeat(
    executor: impl SqliteExecutor<'_>,
    worker: &WorkerRecord,
    now: i64,
) -> Result<bool, StoreError> {
    let settings = worker.settings.as_ref();
    let settings = settings.map(|settings| encoded("encode a worker", settings));
    let settings = settings.transpose()?;
    let drain: Vec<bool> = sqlx::query_scalar(
        "-- record_heartbeat
        INSERT INTO workers (id, host, version, slots, capabilities, draining, settings,
                             created_at, seen_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?8, ?7, ?7)
        ON CONFLICT (id) DO UPDATE
        SET host = excluded.host,
            version = excluded.version,
            slots = excluded.slots,
            capabilities = excluded.capabilities,
            draining = excluded.draining,
            settings = excluded.settings,
            seen_at = excluded.seen_at
        RETURNING draining OR drain_requested",
    )
    .bind(worker.id.as_str())
    .bind(&worker.host)
    .bind(&worker.version)
    .bind(worker.slots)
    .bind(encoded("encode a worker", &worker.capabilities)?)
    .bind(worker.draining)
    .bind(now)
    .bind(settings)
    .fetch_all(executor)
    .await
    .map_err(failed_to("note a worker"))?;
    Ok(drain.contains(&true))
}

pub(crate) async fn drain(
    executor: impl SqliteExecutor<'_>,
    worker: &WorkerId,
) -> Result<bool, StoreError> {
    let updated =
        sqlx::query("-- drain_worker\nUPDATE workers SET drain_requested = 1 WHERE id = ?")
            .bind(worker.as_str())
            .execute(executor)
            .await
            .map_err(failed_to("tell a worker to drain"))?;
    Ok(updated.rows_affected() == 1)
}

pub(crate) async fn forget(
    executor: impl SqliteExecutor<'_>,
    worker: &WorkerId,
) -> Result<(), StoreError> {
    sqlx::query("-- forget_worker\nDELETE FROM workers WHERE id = ?")
        .bind(worker.as_str())
        .execute(executor)
        .await
        .map_err(failed_to("forget a worker"))?;
    Ok(())
}

/// Forgets workers that were not seen after `since`.
pub(crate) async fn forget_silent(
    executor: impl SqliteExecutor<'_>,
    since: i64,
) -> Result<(), StoreError> {
    sqlx::query("-- silent workers\nDELETE FROM workers WHERE seen_at <= ?")
        .bind(since)
        .execute(executor)
        .await
        .map_err(failed_to("forget workers"))?;
    Ok(())
}

pub(crate) async fn all(
    executor: impl SqliteExecutor<'_>,
    within: Duration,
    now: i64,
) -> Result<Vec<WorkerState>, StoreError> {
    let rows = sqlx::query(
        "-- workers; index runs_one_running
        SELECT w.id, w.host, w.version, w.slots, w.capabilities, w.settings, w.created_at,
               ?2 - w.seen_at AS silent_for,
               w.draining OR w.drain_requested AS draining, coalesce(l.running, 0) AS running,
               (SELECT json_group_array(s.number ORDER BY s.number)
                FROM worker_settings s WHERE s.worker_id = w.id) AS has_settings
        FROM workers w
        LEFT JOIN (SELECT holder, count(*) AS running FROM runs
                   WHERE status = 'running' AND waiting_for IS NULL GROUP BY holder) l ON l.holder = w.id
        WHERE w.seen_at >= ?1
        ORDER BY w.host, w.id",
    )
    .bind(now.saturating_sub(span_micros(within)))
    .bind(now)
    .fetch_all(executor)
    .await
    .map_err(failed_to("list the workers"))?;
    rows.iter().map(by(decode::worker_state)).collect()
}
