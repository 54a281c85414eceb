//! Runs that destroy the infrastructure of a task, or plan its destruction.

use cts_core::runs::RunKind;
use cts_core::{RunId, TaskName, TaskPhase};
use cts_store::{StoreError, TaskError, stored_kind};
use sqlx::SqliteConnection;

use crate::row::{Cell, failed_to};
use crate::tasks;

/// Queues a plan of the destruction of a ready task; `false` if it has nothing to destroy.
pub(crate) async fn plan(
    connection: &mut SqliteConnection,
    name: &TaskName,
    run: RunId,
    now: i64,
) -> Result<bool, TaskError> {
    let task = tasks::one(&mut *connection, name).await?;
    if task.ok_or(TaskError::Unknown)?.phase == TaskPhase::Deleting {
        return Err(TaskError::Deleting);
    }
    Ok(queue(connection, name.as_str(), RunKind::DestroyPlan, run, now).await?)
}

/// Queues the run that destroys the infrastructure of a task that is being deleted. Without anything to
/// destroy the task is removed, and then nothing else of it may be running.
pub(crate) async fn begin(
    connection: &mut SqliteConnection,
    name: &str,
    run: RunId,
    now: i64,
) -> Result<bool, StoreError> {
    let queued = queue(connection, name, RunKind::Destroy, run, now).await?;
    if !queued {
        tasks::remove(connection, name, now).await?;
    }
    Ok(queued)
}

/// Queues a run with the input of the newest run that has applied, or may have: a leased one that did not
/// succeed may have changed anything. Ids of runs are from the clocks of several processes, so the times of
/// leases order them.
async fn queue(
    connection: &mut SqliteConnection,
    name: &str,
    kind: RunKind,
    run: RunId,
    now: i64,
) -> Result<bool, StoreError> {
    let (stored, destroys) = stored_kind(kind);
    let queued = sqlx::query(
        "-- delete_task, plan_destruction: the run; index runs_task
        INSERT INTO runs (id, task_name, incarnation, kind, destroys, no_retry, requested, input_hash,
                          status, due_at, created_at, updated_at, settings)
        SELECT ?2, t.name, t.incarnation, ?3, ?4, ?5, ?5, a.input_hash, 'queued', ?6, ?6, ?6,
               coalesce((SELECT s.successor FROM settings_successors s WHERE s.number = a.settings),
                        a.settings)
        FROM tasks t
        JOIN runs a ON a.id = (
            SELECT r.id FROM runs r
            WHERE r.task_name = t.name AND r.incarnation = t.incarnation AND r.kind = 'apply'
              AND r.started_at IS NOT NULL
            ORDER BY r.started_at DESC, r.id DESC LIMIT 1)
        WHERE t.name = ?1",
    )
    .bind(name)
    .bind(run.to_string())
    .bind(stored)
    .bind(destroys)
    .bind(kind == RunKind::DestroyPlan)
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to("queue a run that destroys"))?;
    Ok(queued.rows_affected() == 1)
}

/// Queues destructions that are not queued yet. Called when no run is running.
pub(crate) async fn begin_all(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<(), StoreError> {
    let waiting: Vec<(String, String)> = sqlx::query_as(
        "-- release_all: what is to be destroyed
        SELECT name, destroy_run FROM tasks t
        WHERE destroy_run IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = t.destroy_run AND r.status = 'queued')",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(failed_to("find what is to be destroyed"))?;
    for (name, run) in waiting {
        let cell = Cell {
            table: "tasks",
            column: "destroy_run",
            row: &name,
        };
        begin(connection, &name, cell.parse(&run)?, now).await?;
    }
    Ok(())
}
