//! Runs that destroy the infrastructure of tasks, or plan its destruction.

use cts_core::runs::RunKind;
use cts_core::{RunId, TaskName, TaskPhase};
use cts_store::{StoreError, TaskError, stored_kind};
use sqlx::{Connection as _, PgConnection, PgTransaction};
use uuid::Uuid;

use crate::prune::INPUTS_LOCK;
use crate::row::failed_to;
use crate::{changes, tasks};

/// Queues a plan of the destruction of a ready task; `false` if it has nothing to destroy.
pub(crate) async fn plan(
    connection: &mut PgConnection,
    name: &TaskName,
    run: RunId,
) -> Result<bool, TaskError> {
    let failed = failed_to("plan a destruction");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let current = changes::current(&mut transaction, name).await?;
    if current.task.phase == TaskPhase::Deleting {
        return Err(TaskError::Deleting);
    }
    let queued = queue(&mut transaction, name.as_str(), RunKind::DestroyPlan, run).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(queued)
}

/// Queues the run that destroys the infrastructure of a task that is being deleted. Without anything to
/// destroy the task is removed. Nothing else of it may be running, and the caller has locked it.
pub(crate) async fn begin(
    transaction: &mut PgTransaction<'_>,
    name: &str,
    run: RunId,
) -> Result<bool, StoreError> {
    let queued = queue(transaction, name, RunKind::Destroy, run).await?;
    if !queued {
        tasks::remove(transaction, name).await?;
    }
    Ok(queued)
}

/// Queues a run with the input of the newest run that has applied, or may have: a leased one that did not
/// succeed may have changed anything. Ids of runs are from the clocks of several processes, so the times of
/// leases order them.
async fn queue(
    transaction: &mut PgTransaction<'_>,
    name: &str,
    kind: RunKind,
    run: RunId,
) -> Result<bool, StoreError> {
    let failed = failed_to("queue a run that destroys");
    let (stored, destroys) = stored_kind(kind);
    sqlx::query(
        "-- delete_task, plan_destruction: inputs that are referred to stay
        SELECT pg_advisory_xact_lock_shared($1)",
    )
    .bind(INPUTS_LOCK)
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    let queued = sqlx::query(
        "-- delete_task, plan_destruction: the run; index runs_task
        INSERT INTO runs (id, task_name, incarnation, kind, destroys, no_retry, requested, input_hash,
                          status, due_at, created_at, updated_at, settings)
        SELECT $2, t.name, t.incarnation, $3, $4, $5, $5, a.input_hash, 'queued', cts_now(), cts_now(),
               cts_now(),
               coalesce((SELECT s.successor FROM settings_successors s WHERE s.number = a.settings),
                        a.settings)
        FROM tasks t
        CROSS JOIN LATERAL (
            SELECT r.input_hash, r.settings FROM runs r
            WHERE r.task_name = t.name AND r.incarnation = t.incarnation AND r.kind = 'apply'
              AND r.started_at IS NOT NULL
            ORDER BY r.started_at DESC, r.id DESC LIMIT 1) a
        WHERE t.name = $1",
    )
    .bind(name)
    .bind(run.as_uuid())
    .bind(stored)
    .bind(destroys)
    .bind(kind == RunKind::DestroyPlan)
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    Ok(queued.rows_affected() == 1)
}

/// Queues destructions that are not queued yet. Called when no run is running.
pub(crate) async fn begin_all(transaction: &mut PgTransaction<'_>) -> Result<(), StoreError> {
    let waiting: Vec<(String, Uuid)> = sqlx::query_as(
        "-- release_all: what is to be destroyed; index runs_pkey
        SELECT t.name, t.destroy_run FROM tasks t
        WHERE t.destroy_run IS NOT NULL
          AND NOT EXISTS (
            SELECT FROM runs r
            WHERE r.id = t.destroy_run AND r.status IS NOT DISTINCT FROM 'queued')
        ORDER BY t.name
        FOR UPDATE",
    )
    .fetch_all(&mut **transaction)
    .await
    .map_err(failed_to("find what is to be destroyed"))?;
    for (name, run) in waiting {
        begin(transaction, &name, RunId::from_uuid(run)).await?;
    }
    Ok(())
}
