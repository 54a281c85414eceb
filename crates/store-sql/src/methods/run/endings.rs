//! Runs that end once their remote run has ended ([`cts_core::runs::becomes_ending`]).
//!
//! An ending is a running run whose holder is empty, so that all rules about running runs apply: no other run of its
//! task is leased, a newer input waits, and the task stays. Its lease counts as expired from the beginning.
//!
//! While a different run of its task is running, a run that is to become an ending stays queued with an order to
//! stop, so that no worker leases it. It becomes an ending when that other run has ended.
//!
//! The store completes the cancellation, the disabling or the deletion when the remote run has ended. An attempt that
//! ends earlier leaves an ending again.

use std::time::Duration;

use cts_core::Requirement;
use cts_store::attempt::AttemptEnd;
use cts_store::cell::encoded;
use cts_store::fields::Fields;
use cts_store::{Claim, Lease, StoreError, WaitingRuns, decode};

use crate::conditions::HAS_OPEN_REMOTE;
use crate::{Connection, sql};

const OPERATION: &str = "end remote runs";

/// The reason for which queued runs end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// An operator cancels the runs, with an event at the end.
    Cancelled,
    /// The tasks of the runs are disabled or deleted.
    Withdrawn,
}

/// Lets the queued runs with an open remote run that meet the `condition` end: they become endings, or wait for a
/// different run of their task.
///
/// The `condition` is about a run `r` and its task `t`, with the list as `$1`. The caller has locked the tasks.
pub(crate) async fn begin(
    c: &mut dyn Connection,
    (condition, names): (&'static str, &[&str]),
    reason: Reason,
) -> Result<Vec<String>, StoreError> {
    let ordered = sql(
        OPERATION,
        format!(
            "-- endings: the order; index runs_waiting
            UPDATE runs
            SET cancel_requested_at = coalesce(cancel_requested_at, {{now}}), withdrawn = withdrawn OR $2
            WHERE status IS NOT DISTINCT FROM 'queued' AND id IN (
                SELECT r.id FROM runs r JOIN tasks t ON t.name = r.task_name
                WHERE r.status = 'queued' AND {condition} AND {HAS_OPEN_REMOTE})"
        ),
    );
    let ordered = ordered.bind(names).bind(reason == Reason::Withdrawn);
    if ordered.execute(c).await? == 0 {
        return Ok(Vec::new());
    }
    promote(c, (condition, names)).await
}

/// Condition of [`begin`]: the runs of these tasks.
pub(crate) const OF_TASKS: &str = "r.task_name {in $1}";

/// Condition of [`begin`]: the applying runs of the disabled tasks among these tasks.
///
/// A task whose declaration changed ends the remote run with its next run, if that has a suitable worker: the task
/// may have a different driver now.
pub(crate) const OF_DISABLED: &str = "r.task_name {in $1} AND r.kind = 'apply' AND NOT t.enabled";

/// Condition of [`begin`], without a list: all runs.
pub(crate) const ALL: &str = "$1 IS NOT NULL";

/// Condition of [`begin`], without a list: the runs whose callers are dead if no other process lives.
pub(crate) const OF_DEAD_CALLERS: &str =
    "(r.kind <> 'apply' OR r.no_retry) AND r.destroys IS DISTINCT FROM 'apply' AND $1 IS NOT NULL";

/// Turns queued runs that are to become endings into endings, if no other run of their task is running. Returns their
/// tasks.
async fn promote(
    c: &mut dyn Connection,
    (condition, names): (&'static str, &[&str]),
) -> Result<Vec<String>, StoreError> {
    let promoted = sql(
        OPERATION,
        format!(
            "-- endings: their runs; indexes runs_cancel_requested, runs_one_running
            UPDATE runs
            SET status = 'running', holder = '', claim = NULL, expires_at = {{now}}, due_at = {{now}},
                waiting_for = NULL, resumed_waits = 0, concurrency_group = NULL,
                cancel_requested_at = CASE WHEN NOT withdrawn THEN cancel_requested_at END,
                cancel_noted_at = NULL, run_phase = NULL, run_phase_since = NULL,
                started_at = coalesce(started_at, {{now}}), updated_at = {{now}}
            WHERE status IS NOT DISTINCT FROM 'queued' AND id IN (
                SELECT r.id FROM runs r JOIN tasks t ON t.name = r.task_name
                WHERE r.status = 'queued' AND r.cancel_requested_at IS NOT NULL
                  AND {condition} AND {HAS_OPEN_REMOTE}
                  AND NOT EXISTS (
                    SELECT 1 FROM runs a WHERE a.task_name = r.task_name AND a.status = 'running'))
            RETURNING task_name"
        ),
    );
    let promoted: Vec<String> = promoted
        .bind(names)
        .all(c, |row| {
            let row = Fields::new(row, OPERATION, "runs");
            Ok(row.text("task_name")?.to_owned())
        })
        .await?;
    occupy(c, &promoted).await?;
    Ok(promoted)
}

/// Turns the queued run of a task that waited for a different, ended run into an ending; `false` without such a run.
/// The caller has locked the task.
pub async fn after_other(c: &mut dyn Connection, task: &str) -> Result<bool, StoreError> {
    let promoted = promote(c, (OF_TASKS, &[task])).await?;
    Ok(!promoted.is_empty())
}

/// Keeps other runs away from the tasks of endings.
async fn occupy(c: &mut dyn Connection, names: &[String]) -> Result<(), StoreError> {
    if names.is_empty() {
        return Ok(());
    }
    sql(
        OPERATION,
        "-- endings: their tasks; index runs_one_running
        UPDATE tasks SET active_run = r.id
        FROM runs r
        WHERE tasks.name {in $1} AND r.task_name = tasks.name AND r.status = 'running' AND r.holder = ''",
    )
    .bind(names)
    .on_postgres(c)
    .await
}

/// Records the end of an attempt at a run whose remote run a worker ends after this time.
pub async fn put(
    c: &mut dyn Connection,
    end: &AttemptEnd<'_>,
    wait: Duration,
) -> Result<u64, StoreError> {
    let put = sql(
        OPERATION,
        "-- complete: an ending
        UPDATE runs
        SET holder = '', claim = NULL, expires_at = {now}, due_at = {now} + $3, waiting_for = NULL,
            concurrency_group = NULL, cancel_noted_at = NULL, run_phase = NULL, run_phase_since = NULL,
            withdrawn = withdrawn OR cancel_requested_at IS NULL, errors = $4, ended_attempts = $5,
            updated_at = {now}
        WHERE id = $1 AND epoch = $2 AND status IS NOT DISTINCT FROM 'running'",
    );
    put.bind(end.completion.run)
        .bind(end.completion.epoch)
        .bind(wait)
        .bind(encoded(OPERATION, &end.errors)?)
        .bind(encoded(OPERATION, &end.records)?)
        .execute(c)
        .await
}

/// Keeps the remote runs that dead workers were to end: running runs that end without a further attempt become
/// endings. The caller has locked the tasks.
pub(crate) async fn keep(c: &mut dyn Connection) -> Result<(), StoreError> {
    let kept = sql(
        OPERATION,
        format!(
            "-- release_all: endings; index runs_one_running
            UPDATE runs
            SET holder = '', claim = NULL, expires_at = {{now}}, due_at = {{now}}, waiting_for = NULL,
                concurrency_group = NULL, cancel_noted_at = NULL, run_phase = NULL, run_phase_since = NULL,
                withdrawn = withdrawn OR cancel_requested_at IS NULL, updated_at = {{now}}
            WHERE status IS NOT DISTINCT FROM 'running' AND NOT cancel_force AND id IN (
                SELECT r.id FROM runs r JOIN tasks t ON t.name = r.task_name
                WHERE r.status = 'running'
                  AND (r.cancel_requested_at IS NOT NULL OR r.withdrawn AND NOT t.enabled
                    OR t.phase = 'deleting' AND t.destroy_run IS DISTINCT FROM r.id)
                  AND {HAS_OPEN_REMOTE}
                  AND NOT EXISTS (
                    SELECT 1 FROM runs q
                    WHERE q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply'))"
        ),
    );
    kept.execute(c).await?;
    Ok(())
}

/// Leases an ending to a worker with the remote driver that can end remote runs. Such a lease is not an attempt.
pub async fn acquire(c: &mut dyn Connection, claim: &Claim) -> Result<Option<Lease>, StoreError> {
    let lock = c.dialect().pick("", "FOR NO KEY UPDATE SKIP LOCKED");
    let known_state = c.dialect().pick(
        "json_object('lineage', t.state_lineage, 'serial', t.state_serial, 'moves', t.state_moves,
                     'moved', t.state_moved_serial, 'keep', t.state_keep, 'from', t.state_from)",
        "json_build_object('lineage', t.state_lineage, 'serial', t.state_serial, 'moves', t.state_moves,
                     'moved', t.state_moved_serial, 'keep', t.state_keep, 'from', t.state_from)::TEXT",
    );
    let leased = sql(
        "lease a run",
        format!(
            "-- acquire: an ending; index runs_one_running
            UPDATE runs
            SET holder = $1, claim = $2, expires_at = {{now}} + $3, leased_epoch = epoch + 1,
                leased_at = {{now}}, leased_by = $1, epoch = epoch + 1, updated_at = {{now}}
            WHERE status IS NOT DISTINCT FROM 'running' AND holder = '' AND id = (
                SELECT r.id FROM runs r
                WHERE r.status = 'running' AND r.holder = '' AND r.due_at <= {{now}} AND NOT r.cancel_force
                  AND NOT EXISTS (
                    SELECT 1 FROM workers w WHERE w.id = $1 AND (w.draining OR w.drain_requested))
                ORDER BY r.due_at, r.id LIMIT 1
                {lock})
            RETURNING id, task_name, kind, destroys, holder, epoch, input_hash,
                {{greatest}}(attempts, 1) AS attempts, trace,
                NULL AS delivery, NULL AS delivery_first_run, NULL AS timed_spec, FALSE AS asks_permission,
                (SELECT {known_state} FROM tasks t WHERE t.name = task_name) AS known_state"
        ),
    );
    let leased = leased
        .bind(&claim.worker)
        .bind(claim.request.as_str())
        .bind(claim.time_to_live)
        .optional(c, decode::lease)
        .await?;
    Ok(leased.map(|lease| Lease {
        ends_remote_run: true,
        ..lease
    }))
}

/// Time until a worker may lease an ending.
pub(crate) async fn next_due(c: &mut dyn Connection) -> Result<Option<Duration>, StoreError> {
    let next = sql(
        OPERATION,
        "-- next_due: endings; index runs_one_running
        SELECT r.due_at - {now} AS due FROM runs r
        WHERE r.status = 'running' AND r.holder = '' AND NOT r.cancel_force
        ORDER BY r.due_at LIMIT 1",
    );
    next.optional(c, |row| Fields::new(row, OPERATION, "runs").span("due"))
        .await
}

/// Groups of endings that have been due for some time and that no worker leases.
pub(crate) async fn waiting(
    c: &mut dyn Connection,
    due_for: Duration,
) -> Result<Vec<WaitingRuns>, StoreError> {
    let waiting = sql(
        OPERATION,
        "-- waiting_runs: endings; index runs_one_running
        SELECT count(*) AS runs, {now} - min(r.due_at) AS oldest, min(r.task_name) AS name
        FROM runs r
        WHERE r.status = 'running' AND r.holder = '' AND NOT r.cancel_force AND r.due_at <= {now} - $1
        HAVING count(*) > 0",
    );
    let waiting = waiting.bind(due_for).all(c, |row| {
        let row = Fields::new(row, OPERATION, "tasks").keyed("name")?;
        Ok(WaitingRuns {
            requirement: Requirement::of_remote_driver(),
            settings: None,
            runs: row.number("runs")?,
            own_checks: 0,
            oldest: row.span("oldest")?,
            task: row.parse("name")?,
        })
    });
    waiting.await
}
