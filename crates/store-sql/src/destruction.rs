//! Runs that destroy the infrastructure of tasks, or plan its destruction.

use cts_core::runs::RunKind;
use cts_core::{RunId, TaskName, TaskPhase};
use cts_store::fields::Fields;
use cts_store::{StoreError, TaskError, stored_kind};

use crate::{Connection, current_task, sql, tasks};

/// Key of the advisory lock of inputs: shared by writers that are about to refer to an input, exclusive for
/// removing inputs without a reference.
pub const INPUTS_LOCK: i64 = 0x6374_735f_696e_7075;

/// Queues a plan of the destruction of a ready task; `false` if nothing exists to be destroyed.
pub async fn plan(c: &mut dyn Connection, name: &TaskName, run: RunId) -> Result<bool, TaskError> {
    if current_task::current(c, name).await?.task.phase == TaskPhase::Deleting {
        return Err(TaskError::Deleting);
    }
    Ok(queue(c, name.as_str(), RunKind::DestroyPlan, run).await?)
}

/// Queues the run that destroys the infrastructure of a task in deletion; without infrastructure to destroy, the task
/// is removed.
///
/// No other run of the task may be running, and the caller has locked the task.
pub async fn begin(c: &mut dyn Connection, name: &str, run: RunId) -> Result<bool, StoreError> {
    let queued = queue(c, name, RunKind::Destroy, run).await?;
    if !queued {
        tasks::remove(c, &[name]).await?;
    }
    Ok(queued)
}

/// Queues a run with the input of the newest run that applied or may have applied: a leased run that did not succeed
/// may have changed anything.
///
/// Ids of runs are made by the clocks of several processes, so the times of leases order the runs. A destruction
/// keeps the settings of that run until the leader assigns their successor.
async fn queue(
    c: &mut dyn Connection,
    name: &str,
    kind: RunKind,
    run: RunId,
) -> Result<bool, StoreError> {
    let (stored, destroys) = stored_kind(kind);
    sql(
        "queue a run that destroys",
        "-- delete_task, plan_destruction: inputs that are referred to stay
        SELECT pg_advisory_xact_lock_shared($1)",
    )
    .bind(INPUTS_LOCK)
    .on_postgres(c)
    .await?;
    let queued = sql(
        "queue a run that destroys",
        "-- delete_task, plan_destruction: the run; index runs_task
        INSERT INTO runs (id, task_name, incarnation, kind, destroys, no_retry, requested, input_hash,
                          status, due_at, created_at, updated_at, settings, requested_by)
        SELECT $2, t.name, t.incarnation, $3, $4, $5, $5, a.input_hash, 'queued', {now}, {now}, {now},
               CASE WHEN $5 THEN coalesce(
                   (SELECT s.successor FROM settings_successors s WHERE s.number = a.settings), a.settings)
               ELSE a.settings END,
               CASE WHEN NOT $5 THEN t.destroy_requested_by END
        FROM tasks t
        JOIN runs a ON a.id = (
            SELECT r.id FROM runs r
            WHERE r.task_name = t.name AND r.incarnation = t.incarnation AND r.kind = 'apply'
              AND r.started_at IS NOT NULL
            ORDER BY r.started_at DESC, r.id DESC LIMIT 1)
        WHERE t.name = $1",
    );
    let queued = queued.bind(name).bind(run).bind(stored).bind(destroys);
    Ok(queued.bind(kind == RunKind::DestroyPlan).execute(c).await? == 1)
}

/// Queues destructions that are not queued yet, except for tasks whose remote run is being ended. Called while no run
/// is leased.
pub async fn begin_all(c: &mut dyn Connection) -> Result<(), StoreError> {
    let lock = c.dialect().pick("", "FOR UPDATE");
    let waiting = sql(
        "find what is to be destroyed",
        format!(
            "-- release_all: what is to be destroyed; index runs_pkey
            SELECT t.name, t.destroy_run FROM tasks t
            WHERE t.destroy_run IS NOT NULL
              AND NOT EXISTS (
                SELECT 1 FROM runs r
                WHERE r.id = t.destroy_run AND r.status IS NOT DISTINCT FROM 'queued')
              AND NOT EXISTS (
                SELECT 1 FROM runs r WHERE r.task_name = t.name AND r.status = 'running')
            ORDER BY t.name
            {lock}"
        ),
    );
    let waiting = waiting.all(c, |row| {
        let row = Fields::new(row, "find what is to be destroyed", "tasks").keyed("name")?;
        Ok((row.key().to_owned(), row.id("destroy_run")?))
    });
    for (name, run) in waiting.await? {
        begin(c, &name, run).await?;
    }
    Ok(())
}
