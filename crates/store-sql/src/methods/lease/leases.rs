//! Held leases: renewal, suspension, resumption.
//!
//! A suspended lease stays, and frees its slot and its concurrency group; a remote run that has not ended keeps the
//! group (`runs.remote_group`). A resumed lease takes the group again, in one transaction with the task locked.

use std::time::Duration;

use cts_core::lease::LeaseKey;
use cts_core::runs::{CancelOrder, CurrentPhase, Resumed, WaitEnd, wait_end};
use cts_core::{Digest, LeaseEpoch, RunId, WorkerId};
use cts_store::cancel::order;
use cts_store::cell::Cell;
use cts_store::decode::{self, Wait};
use cts_store::fields::Fields;
use cts_store::{LeaseError, StoreError};
use sqlx::error::DatabaseError;

use crate::{Connection, Statement, bytes, group_is_taken, sql};

/// A lease: its run, its holder and its epoch.
pub type Held<'a> = (RunId, &'a WorkerId, LeaseEpoch);

/// The error of a lease that no longer exists.
pub fn lost((run, _holder, epoch): Held<'_>) -> LeaseError {
    LeaseError::Lost { run, epoch }
}

/// A statement about the run of a lease; its arguments `$1` to `$3` are the lease.
pub(crate) fn of_lease<'a>(
    operation: &'static str,
    text: &'static str,
    (run, holder, epoch): Held<'a>,
) -> Statement<'a> {
    sql(operation, text).bind(run).bind(epoch).bind(holder)
}

/// Stores the proposed key unless a key is stored, and returns the stored key.
pub async fn key(c: &mut dyn Connection, proposed: &LeaseKey) -> Result<LeaseKey, StoreError> {
    let stored = sql(
        "read the key of leases",
        "-- lease_key: the first one stays
        INSERT INTO lease_key (singleton, key, created_at) VALUES (TRUE, $1, {now}) ON CONFLICT DO NOTHING",
    );
    stored.bind(proposed.expose().as_slice()).execute(c).await?;
    let key = sql(
        "read the key of leases",
        "-- lease_key\nSELECT key AS value FROM lease_key",
    );
    let key = key.one(c, bytes).await?;
    let cell = Cell {
        table: "lease_key",
        column: "key",
        row: "",
    };
    LeaseKey::from_slice(&key).map_err(|error| cell.corrupt(error))
}

/// The input of a leased run with an unexpired lease.
pub async fn input(c: &mut dyn Connection, held: Held<'_>) -> Result<Digest, LeaseError> {
    let input = of_lease(
        "read a leased run",
        "-- held_input
        SELECT id, input_hash FROM runs
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'
          AND expires_at > {now}",
        held,
    )
    .optional(c, |row| {
        let row = Fields::new(row, "read a leased run", "runs").keyed_by_id("id")?;
        row.parse("input_hash")
    });
    input.await?.ok_or_else(|| lost(held))
}

/// Extends a lease, and returns the order to stop its run, if any.
pub async fn renew(
    c: &mut dyn Connection,
    held: Held<'_>,
    time_to_live: Duration,
    phase: Option<CurrentPhase>,
) -> Result<Option<CancelOrder>, LeaseError> {
    let renewed = of_lease(
        "renew a lease",
        "-- renew
        UPDATE runs SET expires_at = {greatest}(expires_at, {now} + $4), updated_at = {now},
            run_phase = $5, run_phase_since = {now} - $6
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'
        RETURNING cancel_requested_at IS NOT NULL AS ordered, cancel_force",
        held,
    );
    let renewed = renewed
        .bind(time_to_live)
        .bind(phase.map(|it| it.phase.as_str()))
        .bind(phase.map(|it| it.lasted));
    let renewed = renewed.optional(c, |row| {
        let row = Fields::new(row, "renew a lease", "runs");
        let by_force = row.flag("cancel_force")?;
        Ok(row.flag("ordered")?.then_some(order(by_force)))
    });
    renewed.await?.ok_or_else(|| lost(held))
}

/// The leases granted to these requests of a worker.
pub async fn grants(
    c: &mut dyn Connection,
    worker: &WorkerId,
    requests: &[String],
) -> Result<Vec<(RunId, LeaseEpoch)>, StoreError> {
    sql(
        "find leases",
        "-- grants; index runs_one_running
        SELECT id, epoch FROM runs
        WHERE status = 'running' AND holder = $1 AND claim {in $2}
        ORDER BY id",
    )
    .bind(worker)
    .bind(requests)
    .all(c, |row| {
        let row = Fields::new(row, "find leases", "runs").keyed_by_id("id")?;
        Ok((row.id("id")?, LeaseEpoch::new(row.number("epoch")?)))
    })
    .await
}

/// Notes that a run waits for a condition outside of cts. Its concurrency group becomes free, unless a remote run
/// keeps it.
pub async fn suspend(
    c: &mut dyn Connection,
    held: Held<'_>,
    (wait, waiting_for): (u32, &str),
) -> Result<(), LeaseError> {
    let suspended = of_lease(
        "suspend a run",
        "-- suspend
        UPDATE runs SET waiting_for = CASE WHEN resumed_waits < $5 THEN $4 ELSE waiting_for END,
            concurrency_group = CASE WHEN resumed_waits >= $5 OR remote_group IS NOT NULL
                THEN concurrency_group END
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'",
        held,
    );
    match suspended.bind(waiting_for).bind(wait).execute(c).await? {
        1 => Ok(()),
        _ => Err(lost(held)),
    }
}

/// The reason for which a waiting run has nothing left to apply.
pub async fn wait_end_of(
    c: &mut dyn Connection,
    held: Held<'_>,
) -> Result<Option<WaitEnd>, LeaseError> {
    let wait = wait_of(c, held).await?;
    let wait = wait.ok_or_else(|| lost(held))?;
    Ok(wait_end(wait.context))
}

/// Reads what decides whether the run of a lease is still wanted.
pub(crate) async fn wait_of(
    c: &mut dyn Connection,
    held: Held<'_>,
) -> Result<Option<Wait>, StoreError> {
    // Only the task of this run: with outdated statistics, Postgres could prefer to read all tasks in order.
    let text = c.dialect().pick(
        concat!("-- wait_end, resume; indexes runs_one_queued, runs_waiting, runs_one_of_group, runs_remote_group
        SELECT r.id, r.kind, r.no_retry, r.withdrawn, t.name AS task_name, t.phase, t.enabled,
               EXISTS (SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits,
               EXISTS (SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind IN ('check', 'plan')) AS look_waits,
               r.kind = 'apply' AND r.concurrency_group IS NULL AND ", group_is_taken!(), " AS group_busy
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3 AND r.status = 'running'"),
        concat!("-- wait_end, resume; indexes runs_one_queued, runs_waiting, runs_one_of_group, runs_remote_group
        SELECT r.id, r.kind, r.no_retry, r.withdrawn, t.name AS task_name, t.phase, t.enabled,
               EXISTS (SELECT FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits,
               EXISTS (SELECT FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind IN ('check', 'plan')) AS look_waits,
               r.kind = 'apply' AND r.concurrency_group IS NULL AND ", group_is_taken!(), " AS group_busy
        FROM runs r
        CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = r.task_name LIMIT 1) t
        WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3 AND r.status IS NOT DISTINCT FROM 'running'"),
    );
    of_lease("read a run that waits", text, held)
        .optional(c, decode::wait)
        .await
}

/// Ends the wait of a run. If two runs of a concurrency group are resumed or leased at the same time, one of them
/// gets the group.
pub async fn resume(
    c: &mut dyn Connection,
    held: Held<'_>,
    number: u32,
) -> Result<Resumed, LeaseError> {
    lock_task_of(c, held.0).await?;
    let wait = wait_of(c, held).await?;
    let wait = wait.ok_or_else(|| lost(held))?;
    if let Some(end) = wait_end(wait.context) {
        return Ok(Resumed::Ended(end));
    }
    if wait.group_busy {
        return Ok(Resumed::GroupBusy);
    }
    let resumed = sql(
        "resume a run",
        "-- resume
        UPDATE runs
        SET waiting_for = NULL, resumed_waits = $2,
            concurrency_group = CASE kind WHEN 'apply' THEN (
                SELECT t.concurrency_group FROM tasks t WHERE t.name = task_name) END
        WHERE id = $1 AND resumed_waits < $2",
    );
    match resumed.bind(held.0).bind(number).execute(c).await {
        Err(error) if is_group_taken(&error) => Ok(Resumed::GroupBusy),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(Resumed::GoesOn),
    }
}

/// Locks the task of a run: a task is always locked before its run.
pub(crate) async fn lock_task_of(c: &mut dyn Connection, run: RunId) -> Result<(), StoreError> {
    sql(
        "lock the task of a run",
        "-- complete, resume, record_state, record_remote_run: the task is locked before its run
        SELECT 1 FROM tasks
        WHERE name = (SELECT task_name FROM runs WHERE id = $1)
        FOR NO KEY UPDATE",
    )
    .bind(run)
    .on_postgres(c)
    .await
}

/// Whether a different call has leased an apply of the same group since.
fn is_group_taken(error: &StoreError) -> bool {
    let StoreError::Database { source, .. } = error else {
        return false;
    };
    let error = source.downcast_ref::<sqlx::Error>();
    let error = error.and_then(sqlx::Error::as_database_error);
    error.and_then(DatabaseError::constraint) == Some("runs_one_of_group")
}
