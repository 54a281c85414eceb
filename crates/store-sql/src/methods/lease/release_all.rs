//! Takes back every lease, for a caller that has made sure that no other process lives.

use cts_core::RunId;
use cts_core::runs::RunStatus;
use cts_store::cancel::{CUT_OFF, SUSPENDED_UNTIL};
use cts_store::fields::Fields;
use cts_store::{Requeued, StoreError, decode};

use crate::{Connection, destruction, endings, housekeeping, leadership, sql};

const OPERATION: &str = "take back leases";

/// Takes back every lease; no attempt counts.
///
/// Cancels every plan, check and requested run, because the caller that waited for it is dead, and forgets requests,
/// drafts and tasks in deletion, unless their infrastructure is to be destroyed. A requested apply that stands for
/// the change of an enabled task goes on as an ordinary run, as [`cts_core::runs::continues_as_change`] decides: the
/// walk of the conformance suite compares the two.
pub(crate) async fn release_all(c: &mut dyn Connection) -> Result<Vec<Requeued>, StoreError> {
    leadership::alone(c).await?;
    sql(
        OPERATION,
        "-- release_all: the tasks, one at a time
        SELECT 1 FROM tasks WHERE active_run IS NOT NULL ORDER BY name FOR NO KEY UPDATE",
    )
    .on_postgres(c)
    .await?;
    housekeeping::note_lost(c, None).await?;
    endings::keep(c).await?;
    for statement in [
        "-- release_all: what was cancelled is not tried again; index runs_one_running
        UPDATE tasks SET cancelled_input = coalesce(tasks.cancelled_input, r.input_hash)
        FROM runs r
        WHERE r.task_name = tasks.name AND r.status = 'running' AND r.kind = 'apply'
          AND r.cancel_requested_at IS NOT NULL AND r.holder <> '' AND tasks.phase = 'ready'
          AND NOT EXISTS (
              SELECT 1 FROM runs q
              WHERE q.task_name = tasks.name AND q.status = 'queued' AND q.kind = 'apply')",
        "-- release_all: what was cancelled leaves no consent; index runs_one_running
        DELETE FROM approvals
        WHERE used_by IS NULL AND decision IS DISTINCT FROM 'rejected' AND task_name IN (
            SELECT task_name FROM runs
            WHERE status = 'running' AND holder <> '' AND cancel_requested_at IS NOT NULL
              AND coalesce(destroys, kind) = 'apply')",
        "-- release_all: destructions that were cancelled; index runs_one_running
        UPDATE tasks SET destruction_suspended_at = {now}
        WHERE destroy_run IN (
            SELECT id FROM runs
            WHERE status = 'running' AND holder <> '' AND cancel_requested_at IS NOT NULL)",
    ] {
        sql(OPERATION, statement).execute(c).await?;
    }
    let mut requeued = reclaim(c).await?;
    sql(
        OPERATION,
        "-- release_all: the tasks are free, but for those of endings
        UPDATE tasks SET active_run = NULL
        WHERE active_run IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM runs r WHERE r.id = tasks.active_run AND r.status = 'running')",
    )
    .on_postgres(c)
    .await?;
    let continued = sql(
        OPERATION,
        "-- release_all: what may stand for a change goes on
        UPDATE runs SET no_retry = FALSE, updated_at = {now}
        WHERE status = 'queued' AND kind = 'apply' AND no_retry AND task_name IN (
            SELECT name FROM tasks WHERE enabled AND phase = 'ready')",
    );
    continued.execute(c).await?;
    endings::begin(
        c,
        (endings::OF_DEAD_CALLERS, &[]),
        endings::Reason::Withdrawn,
    )
    .await?;
    let cancelled = sql(
        OPERATION,
        "-- release_all: the callers that waited for these are dead; nobody waits for one that awaits consent
        UPDATE runs SET status = 'cancelled', finished_at = {now}, updated_at = {now}
        WHERE status = 'queued' AND (kind <> 'apply' OR no_retry) AND awaits IS NULL
          AND destroys IS DISTINCT FROM 'apply'
        RETURNING id",
    );
    let cancelled: Vec<RunId> = cancelled
        .all(c, |row| Fields::new(row, OPERATION, "runs").id("id"))
        .await?;
    for run in &mut requeued {
        if cancelled.contains(&run.run) {
            run.status = RunStatus::Cancelled;
        }
    }
    for statement in [
        "-- release_all: requests\nDELETE FROM run_requests",
        "-- release_all: drafts, and tasks that only waited for their run
        DELETE FROM tasks
        WHERE phase <> 'ready' AND destroy_run IS NULL AND NOT EXISTS (
            SELECT 1 FROM runs r WHERE r.task_name = tasks.name AND r.status = 'running')",
    ] {
        sql(OPERATION, statement).execute(c).await?;
    }
    destruction::begin_all(c).await?;
    forget_processes(c).await?;
    Ok(requeued)
}

/// Takes back the running runs. A run ends if it applies and a newer run is queued, or if its task is being deleted;
/// all others go back to the queue, and the interrupted attempt does not count.
async fn reclaim(c: &mut dyn Connection) -> Result<Vec<Requeued>, StoreError> {
    let with_error = c.dialect().pick(
        "json_insert(errors, '$[#]', $2)",
        "(errors::JSONB || to_jsonb($2))::TEXT",
    );
    let (append, end) = c.dialect().pick(
        (
            "json_insert(coalesce(ended_attempts, '[]'), '$[#]', json_object",
            "",
        ),
        (
            "(coalesce(ended_attempts, '[]')::JSONB || jsonb_build_object",
            "::TEXT",
        ),
    );
    let taken = sql(
        OPERATION,
        format!(
            "-- release_all; indexes runs_one_running, runs_one_queued
        UPDATE runs
        SET status = CASE WHEN newer THEN 'cancelled' ELSE 'queued' END,
            finished_at = CASE WHEN newer THEN {{now}} END,
            attempts = {{greatest}}(attempts - 1, 0),
            due_at = CASE WHEN cancelled THEN $1 ELSE {{now}} END,
            cancel_requested_at = NULL,
            cancel_force = FALSE,
            cancel_noted_at = NULL,
            ended_attempts = {append}(
                'epoch', epoch, 'number', attempts, 'worker', holder, 'due_at', due_at,
                'leased_at', CASE WHEN leased_epoch = epoch THEN leased_at END,
                'phase', CASE WHEN leased_epoch = epoch THEN run_phase END,
                'renewed_at', updated_at, 'ended_at', {{now}}, 'ending', 'cut_off',
                'last_line', {{last line of id}})){end},
            errors = CASE WHEN cancelled THEN {with_error} ELSE errors END,
            settings = CASE WHEN destroys = 'apply' THEN settings ELSE coalesce(
                (SELECT s.successor FROM settings_successors s WHERE s.number = runs.settings),
                settings) END,
            holder = NULL,
            expires_at = NULL,
            updated_at = {{now}}
        FROM (SELECT r.id AS lost, r.cancel_requested_at IS NOT NULL AS cancelled,
                     t.phase = 'deleting' AND t.destroy_run IS DISTINCT FROM r.id
                     OR r.cancel_requested_at IS NOT NULL AND r.destroys IS DISTINCT FROM 'apply'
                     OR r.withdrawn OR r.kind = 'apply' AND EXISTS (
                  SELECT 1 FROM runs q
                  WHERE q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply'
              ) AS newer
              FROM runs r JOIN tasks t ON t.name = r.task_name
              WHERE r.status = 'running' AND r.holder <> '') lost_runs
        WHERE id = lost
        RETURNING id, task_name, kind, destroys, status"
        ),
    );
    taken
        .bind(SUSPENDED_UNTIL)
        .bind(CUT_OFF)
        .all(c, decode::requeued)
        .await
}

/// Frees the leadership and forgets all replicas and workers.
async fn forget_processes(c: &mut dyn Connection) -> Result<(), StoreError> {
    let free = c.dialect().pick(
        "-- release_all: the leadership
        UPDATE leadership SET holder = NULL, incarnation = NULL, expires_at = NULL",
        "-- release_all: the leadership\nUPDATE leadership SET holder = NULL, incarnation = NULL",
    );
    for statement in [
        "-- release_all: configurations\nDELETE FROM member_configurations",
        "-- release_all: replicas\nDELETE FROM members",
        "-- release_all: workers\nDELETE FROM workers",
        free,
    ] {
        sql("free the leadership", statement).execute(c).await?;
    }
    Ok(())
}
