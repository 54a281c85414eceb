//! Workers: their heartbeats and drains.

use std::time::Duration;

use cts_core::{WorkerId, WorkerRecord};
use cts_store::cell::encoded;
use cts_store::{StoreError, WorkerState, decode};

use crate::{Connection, flag, sql};

/// Notes that a worker lives. Returns whether it is to drain.
pub async fn record_heartbeat(
    c: &mut dyn Connection,
    worker: &WorkerRecord,
) -> Result<bool, StoreError> {
    let settings = worker.settings.as_ref();
    let settings = settings.map(|settings| encoded("encode a worker", settings));
    sql(
        "note a worker",
        "-- record_heartbeat
        INSERT INTO workers (id, host, version, slots, capabilities, draining, settings,
                             created_at, seen_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, {now}, {now})
        ON CONFLICT (id) DO UPDATE
        SET host = excluded.host,
            version = excluded.version,
            slots = excluded.slots,
            capabilities = excluded.capabilities,
            draining = excluded.draining,
            settings = excluded.settings,
            seen_at = excluded.seen_at
        RETURNING (draining OR drain_requested) AS value",
    )
    .bind(&worker.id)
    .bind(&worker.host)
    .bind(&worker.version)
    .bind(worker.slots)
    .bind(encoded("encode a worker", &worker.capabilities)?)
    .bind(worker.draining)
    .bind(settings.transpose()?)
    .one(c, flag)
    .await
}

/// Asks a worker to drain. Returns whether it is registered.
pub async fn drain(c: &mut dyn Connection, worker: &WorkerId) -> Result<bool, StoreError> {
    let drained = sql(
        "tell a worker to drain",
        "-- drain_worker\nUPDATE workers SET drain_requested = TRUE WHERE id = $1",
    );
    Ok(drained.bind(worker).execute(c).await? == 1)
}

/// Forgets a worker.
pub async fn forget(c: &mut dyn Connection, worker: &WorkerId) -> Result<(), StoreError> {
    let forgotten = sql(
        "forget a worker",
        "-- forget_worker\nDELETE FROM workers WHERE id = $1",
    );
    forgotten.bind(worker).execute(c).await?;
    Ok(())
}

/// The workers that were seen within the last `within`, by host and id.
pub async fn all(c: &mut dyn Connection, within: Duration) -> Result<Vec<WorkerState>, StoreError> {
    sql(
        "list the workers",
        "-- workers; index runs_one_running
        SELECT w.id, w.host, w.version, w.slots, w.capabilities, w.settings, w.created_at,
               w.draining OR w.drain_requested AS draining,
               {now} - w.seen_at AS silent_for,
               coalesce(r.running, 0) AS running,
               (SELECT {list s.number by s.number}
                FROM worker_settings s WHERE s.worker_id = w.id) AS has_settings
        FROM workers w
        LEFT JOIN (SELECT holder, count(*) AS running
                   FROM runs WHERE status = 'running' AND waiting_for IS NULL GROUP BY holder) r ON r.holder = w.id
        WHERE w.seen_at >= {now} - $1
        ORDER BY w.host, w.id",
    )
    .bind(within)
    .all(c, decode::worker_state)
    .await
}
