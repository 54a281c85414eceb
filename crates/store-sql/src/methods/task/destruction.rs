//! Runs that destroy the infrastructure of tasks, or plan its destruction.

use cts_core::runs::RunKind;
use cts_core::{RequestKey, RunId, TaskName, TaskPhase};
use cts_store::fields::Fields;
use cts_store::{StoreError, TaskError};

use crate::repeat::{self, Repeat};
use crate::{Connection, current_task, requests, sql, tasks};

/// Key of the advisory lock of inputs: shared by writers that are about to refer to an input, exclusive for
/// removing inputs without a reference.
pub(crate) const INPUTS_LOCK: i64 = 0x6374_735f_696e_7075;

/// Queues a plan of the destruction of a ready task; `false` if nothing exists to be destroyed.
pub async fn plan(
    c: &mut dyn Connection,
    name: &TaskName,
    (run, key): (RunId, Option<RequestKey>),
) -> Result<bool, TaskError> {
    if current_task::current(c, name).await?.task.phase == TaskPhase::Deleting {
        return Err(TaskError::Deleting);
    }
    requests::refuse_known(c, name, key).await?;
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
    sql(
        "queue a run that destroys",
        "-- delete_task, plan_destruction: inputs that are referred to stay
        SELECT pg_advisory_xact_lock_shared($1)",
    )
    .bind(INPUTS_LOCK)
    .on_postgres(c)
    .await?;
    let earlier = sql(
        "queue a run that destroys",
        "-- delete_task, plan_destruction: the input; index runs_task
        SELECT r.id FROM tasks t
        JOIN runs r ON r.task_name = t.name AND r.incarnation = t.incarnation
        WHERE t.name = $1 AND r.kind = 'apply' AND r.started_at IS NOT NULL
        ORDER BY r.started_at DESC, r.id DESC LIMIT 1",
    );
    let earlier = earlier.bind(name).optional(c, |row| {
        Fields::new(row, "queue a run that destroys", "runs").id("id")
    });
    let Some(earlier) = earlier.await? else {
        return Ok(false);
    };
    let new = Repeat {
        id: run,
        kind,
        due_at: None,
        cause: None,
    };
    repeat::queue(c, earlier, new).await
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
