//! Registered workers.

use std::time::Duration;

use cts_core::WorkerId;
use cts_store::decode;
use cts_store::{StoreError, WorkerRecord, WorkerState};
use sqlx::PgConnection;

use crate::row::{by, encoded, failed_to, span_micros};

pub(crate) async fn record_heartbeat(
    connection: &mut PgConnection,
    worker: &WorkerRecord,
) -> Result<bool, StoreError> {
    let settings = worker.settings.as_ref();
    let settings = settings.map(|settings| encoded("encode a worker", settings));
    let settings = settings.transpose()?;
    sqlx::query_scalar(
        "-- record_heartbeat
        INSERT INTO workers AS w (id, host, version, slots, capabilities, draining,
                                  settings, created_at, seen_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, cts_now(), cts_now())
        ON CONFLICT (id) DO UPDATE
        SET host = excluded.host,
            version = excluded.version,
            slots = excluded.slots,
            capabilities = excluded.capabilities,
            draining = excluded.draining,
            settings = excluded.settings,
            seen_at = excluded.seen_at
        RETURNING w.draining OR w.drain_requested",
    )
    .bind(worker.id.as_str())
    .bind(&worker.host)
    .bind(&worker.version)
    .bind(i64::from(worker.slots))
    .bind(encoded("encode a worker", &worker.capabilities)?)
    .bind(worker.draining)
    .bind(settings)
    .fetch_one(connection)
    .await
    .map_err(failed_to("note a worker"))
}

pub(crate) async fn drain(
    connection: &mut PgConnection,
    worker: &WorkerId,
) -> Result<bool, StoreError> {
    let drained =
        sqlx::query("-- drain_worker\nUPDATE workers SET drain_requested = TRUE WHERE id = $1")
            .bind(worker.as_str())
            .execute(connection)
            .await
            .map_err(failed_to("tell a worker to drain"))?;
    Ok(drained.rows_affected() == 1)
}

pub(crate) async fn forget(
    connection: &mut PgConnection,
    worker: &WorkerId,
) -> Result<(), StoreError> {
    sqlx::query("-- forget_worker\nDELETE FROM workers WHERE id = $1")
        .bind(worker.as_str())
        .execute(connection)
        .await
        .map_err(failed_to("forget a worker"))?;
    Ok(())
}

pub(crate) async fn all(
    connection: &mut PgConnection,
    within: Duration,
) -> Result<Vec<WorkerState>, StoreError> {
    let rows = sqlx::query(
        "-- workers; index runs_one_running
        SELECT w.id, w.host, w.version, w.slots, w.capabilities, w.settings, w.created_at,
               w.draining OR w.drain_requested AS draining,
               cts_now() - w.seen_at AS silent_for,
               coalesce(r.running, 0) AS running,
               (SELECT coalesce(json_agg(s.number ORDER BY s.number), '[]')
                FROM worker_settings s WHERE s.worker_id = w.id)::TEXT AS has_settings
        FROM workers w
        LEFT JOIN (SELECT holder, count(*) AS running
                   FROM runs WHERE status = 'running' AND waiting_for IS NULL GROUP BY holder) r ON r.holder = w.id
        WHERE w.seen_at >= cts_now() - $1
        ORDER BY w.host, w.id",
    )
    .bind(span_micros(within))
    .fetch_all(connection)
    .await
    .map_err(failed_to("list the workers"))?;
    rows.iter().map(by(decode::worker_state)).collect()
}
