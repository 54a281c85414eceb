//! Workers: their heartbeats and drains.
//!
//! The first heartbeat of a worker names the earlier lives in its journal, which are noted as replaced
//! (`workers.replaced`). Replaced lives are not shown; decisions count them by their silence, like all workers.

use std::time::Duration;

use cts_core::runs::ELSEWHERE_FOR;
use cts_core::{
    Digest, KnownRegistration, Requirement, RunId, WorkerId, WorkerRecord, unschedulable_reason,
};
use cts_store::cell::{encoded, span_micros};
use cts_store::fields::Fields;
use cts_store::{Completion, Heartbeat, LOST_AFTER, StoreError, WorkerState, decode};

use crate::{Connection, flag, sql};

const OPERATION: &str = "look for another worker";

/// Notes that a worker lives, unless its id belongs to a different process. Returns whether the worker is to drain.
pub async fn record_heartbeat(
    c: &mut dyn Connection,
    worker: &WorkerRecord,
    registration: Option<Digest>,
) -> Result<Heartbeat, StoreError> {
    let settings = worker.settings.as_ref();
    let settings = settings.map(|settings| encoded("encode a worker", settings));
    let problem = worker.problem.as_ref();
    let problem = problem.map(|problem| encoded("encode a worker", problem));
    let noted = sql(
        "note a worker",
        "-- record_heartbeat
        INSERT INTO workers (id, host, version, slots, capabilities, draining, settings, problem,
                             registration, created_at, seen_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {now}, {now})
        ON CONFLICT (id) DO UPDATE
        SET host = excluded.host,
            version = excluded.version,
            slots = excluded.slots,
            capabilities = excluded.capabilities,
            draining = excluded.draining,
            settings = excluded.settings,
            problem = excluded.problem,
            registration = excluded.registration,
            replaced = CASE WHEN workers.replaced IS NOT NULL THEN FALSE END,
            seen_at = excluded.seen_at
        WHERE workers.registration IS NULL OR workers.registration = excluded.registration
        RETURNING (draining OR drain_requested) AS value",
    )
    .bind(&worker.id)
    .bind(&worker.host)
    .bind(&worker.version)
    .bind(worker.slots)
    .bind(encoded("encode a worker", &worker.capabilities)?)
    .bind(worker.draining)
    .bind(settings.transpose()?)
    .bind(problem.transpose()?)
    .bind(registration)
    .optional(c, flag)
    .await?;
    Ok(match noted {
        Some(drains) => Heartbeat::Noted { drains },
        None => Heartbeat::Foreign,
    })
}

/// Notes that a later life has replaced these lives.
pub async fn replace(c: &mut dyn Connection, lives: &[WorkerId]) -> Result<(), StoreError> {
    let lives: Vec<&str> = lives.iter().map(WorkerId::as_str).collect();
    let replaced = sql(
        "replace a worker",
        "-- replace_lives\nUPDATE workers SET replaced = TRUE WHERE id {in $1} AND replaced IS NULL",
    );
    replaced.bind(&*lives).execute(c).await?;
    Ok(())
}

/// The registration of a worker.
pub async fn registration(
    c: &mut dyn Connection,
    worker: &WorkerId,
) -> Result<KnownRegistration, StoreError> {
    let known = sql(
        "read a worker",
        "-- registration\nSELECT id, registration FROM workers WHERE id = $1",
    );
    let known = known.bind(worker).optional(c, |row| {
        let row = Fields::new(row, "read a worker", "workers").keyed("id")?;
        let digest = row.parse_if_any("registration")?;
        Ok(digest.map_or(KnownRegistration::Unproven, KnownRegistration::Of))
    });
    Ok(known.await?.unwrap_or(KnownRegistration::Absent))
}

/// Asks a worker to drain. Returns whether it is registered.
pub async fn drain(c: &mut dyn Connection, worker: &WorkerId) -> Result<bool, StoreError> {
    let drained = sql(
        "tell a worker to drain",
        "-- drain_worker\nUPDATE workers SET drain_requested = TRUE WHERE id = $1",
    );
    Ok(drained.bind(worker).execute(c).await? == 1)
}

pub async fn forget(c: &mut dyn Connection, worker: &WorkerId) -> Result<(), StoreError> {
    let forgotten = sql(
        "forget a worker",
        "-- forget_worker\nDELETE FROM workers WHERE id = $1",
    );
    forgotten.bind(worker).execute(c).await?;
    Ok(())
}

/// The workers seen at most `within` ago, by host and id.
pub async fn all(c: &mut dyn Connection, within: Duration) -> Result<Vec<WorkerState>, StoreError> {
    sql(
        "list the workers",
        "-- workers; index runs_one_running
        SELECT w.id, w.host, w.version, w.slots, w.capabilities, w.settings, w.problem, w.created_at,
               w.draining OR w.drain_requested AS draining,
               {now} - w.seen_at AS silent_for,
               coalesce(w.replaced, FALSE) AS replaced,
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

/// Makes a run that was put back, and is due at `due_at`, wait briefly for a different worker than its last worker,
/// if a different worker could take the run now.
pub async fn prefer_another(
    c: &mut dyn Connection,
    end: &Completion,
    due_at: i64,
) -> Result<(), StoreError> {
    if !another_fits(c, end.run, &end.holder).await? {
        return Ok(());
    }
    let preferred = sql(
        OPERATION,
        "-- complete: another worker is preferred to leased_by
        UPDATE runs SET elsewhere_until = $2 WHERE id = $1 AND leased_by = $3 AND leased_epoch = epoch",
    );
    let until = due_at.saturating_add(span_micros(ELSEWHERE_FOR));
    let preferred = preferred.bind(end.run).bind(until).bind(&end.holder);
    preferred.execute(c).await?;
    Ok(())
}

/// Whether a worker other than `last`, with a free slot, could take this run now.
async fn another_fits(
    c: &mut dyn Connection,
    run: RunId,
    last: &WorkerId,
) -> Result<bool, StoreError> {
    let needed = sql(
        OPERATION,
        "-- complete: what the run needs
        SELECT r.id, t.requires_driver, t.requires_version, t.requires_bundle,
               coalesce(
                   (SELECT s.successor FROM settings_successors s WHERE s.number = r.settings),
                   r.settings) AS settings
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.id = $1",
    );
    let needed = needed.bind(run).optional(c, |row| {
        let row = Fields::new(row, OPERATION, "runs").keyed_by_id("id")?;
        let requirement = Requirement {
            driver: row.text("requires_driver")?.to_owned(),
            version: row.text_if_any("requires_version")?.map(str::to_owned),
            bundle: row.flag("requires_bundle")?,
            unusable_module: None,
        };
        let settings = row.integer_if_any("settings")?.map(i64::unsigned_abs);
        Ok((requirement, settings))
    });
    let Some((requirement, settings)) = needed.await? else {
        return Ok(false);
    };
    let workers = all(c, LOST_AFTER).await?;
    let others = workers.iter().filter(|worker| worker.worker.id != *last);
    let others = others.map(|worker| worker.candidate(settings));
    Ok(unschedulable_reason(others, &requirement).is_none())
}
