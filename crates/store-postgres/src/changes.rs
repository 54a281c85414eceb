//! Tasks created, changed and deleted over the API.

use cts_core::{RunId, TaskActivity, TaskName, TaskOrigin, TaskPhase, TaskSpec, Withdrawal};
use cts_store::configured::declaration;
use cts_store::decode;
use cts_store::{
    DELETED, DRAFTS_KEPT, Deletion, NewTask, StoreError, StoredTask, TaskChange, TaskError,
};
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};

use crate::cancel;
use crate::destruction;
use crate::requests;
use crate::row::{Cell, by, failed_to, span_micros};
use crate::tasks;

/// A task and what it is at.
pub(crate) struct Current {
    pub(crate) task: StoredTask,
    activity: TaskActivity,
    configured: Option<String>,
}

pub(crate) async fn create(connection: &mut PgConnection, task: &NewTask) -> Result<(), TaskError> {
    let failed = failed_to("create a task");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let name = task.spec.name();
    // The next poll sees a faster change in between.
    loop {
        make_way(&mut transaction, name).await?;
        if tasks::insert_draft(&mut transaction, task).await? {
            break;
        }
    }
    requests::insert(&mut transaction, name, (task.run, task.kind)).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(())
}

/// A draft without a waiter blocks nothing.
async fn make_way(transaction: &mut PgTransaction<'_>, name: &TaskName) -> Result<(), TaskError> {
    let read = failed_to("create a task");
    let row = sqlx::query(
        "-- create_task: what has the name
        SELECT phase, creation_run, updated_at <= cts_now() - $2 AS is_old
        FROM tasks WHERE name = $1 FOR UPDATE",
    )
    .bind(name.as_str())
    .bind(span_micros(DRAFTS_KEPT))
    .fetch_optional(&mut **transaction)
    .await
    .map_err(&read)?;
    let Some(row) = row else { return Ok(()) };
    let cell = |column| Cell {
        table: "tasks",
        column,
        row: name.as_str(),
    };
    let phase = cell("phase").phase(row.try_get("phase").map_err(&read)?)?;
    if phase.is_visible() {
        return Err(TaskError::Exists);
    }
    let is_old: bool = row.try_get("is_old").map_err(&read)?;
    if phase == TaskPhase::Discarded && is_old {
        return Ok(tasks::remove(transaction, name.as_str()).await?);
    }
    let run: uuid::Uuid = row.try_get("creation_run").map_err(&read)?;
    Err(TaskError::BeingCreated {
        run: cts_core::RunId::from_uuid(run),
    })
}

/// The task, locked until the transaction ends.
pub(crate) async fn current(
    transaction: &mut PgTransaction<'_>,
    name: &TaskName,
) -> Result<Current, TaskError> {
    let read = failed_to("read a task");
    sqlx::query(
        "-- change_task, delete_task: the task\nSELECT FROM tasks WHERE name = $1 FOR UPDATE",
    )
    .bind(name.as_str())
    .execute(&mut **transaction)
    .await
    .map_err(&read)?;
    // A statement of its own, to see changes made while the lock was waited for.
    let row = sqlx::query(
        "-- change_task, delete_task: what it is at; indexes runs_waiting, run_requests_task, runs_pkey
        SELECT t.name, t.origin, t.phase, t.revision, t.spec, t.configured, t.destroy_run,
               t.destruction_suspended_at,
               t.active_run IS NOT NULL AND w.waiting_for IS NULL AS running,
               t.active_run IS NOT NULL AND w.waiting_for IS NOT NULL AS waits,
               EXISTS (SELECT FROM runs r
                       WHERE r.task_name = t.name AND r.status = 'queued'
                         AND (t.enabled OR r.kind <> 'apply' OR r.requested)
                         AND (r.due_at <= cts_now() OR r.attempts > 0)) AS about_to_run,
               EXISTS (SELECT FROM run_requests q
                       WHERE q.task_name = t.name AND q.refused IS NULL) AS requested
        FROM tasks t LEFT JOIN runs w ON w.id = t.active_run
        WHERE t.name = $1 AND t.phase IN ('ready', 'deleting')",
    )
    .bind(name.as_str())
    .fetch_optional(&mut **transaction)
    .await
    .map_err(&read)?;
    let row = row.ok_or(TaskError::Unknown)?;
    let task = by(decode::stored_task)(&row)?;
    Ok(Current {
        activity: TaskActivity {
            phase: task.phase,
            running: row.try_get("running").map_err(&read)?,
            waits: row.try_get("waits").map_err(&read)?,
            about_to_run: row.try_get("about_to_run").map_err(&read)?,
            requested: row.try_get("requested").map_err(&read)?,
        },
        configured: row.try_get("configured").map_err(&read)?,
        task,
    })
}

pub(crate) async fn change(
    connection: &mut PgConnection,
    name: &TaskName,
    change: &TaskChange,
) -> Result<StoredTask, TaskError> {
    let failed = failed_to("change a task");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let current = current(&mut transaction, name).await?;
    if let Some((run, _)) = change.request
        && requests::is_known(&mut transaction, run).await?
    {
        transaction.commit().await.map_err(&failed)?;
        return Ok(current.task);
    }
    let mut changed = current.task.clone();
    let spec = change.accepted(&current.task, current.activity)?;
    if spec != current.task.spec {
        changed.revision = current.task.revision.saturating_add(1);
        tasks::write_spec(&mut transaction, &spec, changed.revision).await?;
    }
    if let Some(why) = change.withdrawal(&current.task.spec, &spec) {
        withdraw_applies(&mut transaction, &[(name.as_str(), why)], change.reason()).await?;
    }
    if let Some(request) = change.request {
        requests::insert(&mut transaction, name, request).await?;
    }
    transaction.commit().await.map_err(&failed)?;
    changed.spec = spec;
    Ok(changed)
}

/// Withdraws the applies of tasks that are declared otherwise from now on, over the API or by a file: queued
/// ones are cancelled, a running one goes on without another attempt. Requests are refused for this `reason`.
/// The caller has locked the tasks.
pub(crate) async fn withdraw_applies(
    transaction: &mut PgTransaction<'_>,
    tasks: &[(&str, Withdrawal)],
    reason: &str,
) -> Result<(), StoreError> {
    if tasks.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = tasks.iter().map(|(name, _)| *name).collect();
    let others = tasks
        .iter()
        .filter(|(_, why)| *why == Withdrawal::OtherDefinition);
    let others: Vec<&str> = others.map(|(name, _)| *name).collect();
    sqlx::query(
        "-- change_task, replace_config_tasks: withdraw; indexes runs_waiting, runs_one_running, run_requests_task
        WITH cancelled AS (
            UPDATE runs SET status = 'cancelled', finished_at = cts_now(), updated_at = cts_now()
            WHERE task_name = ANY ($1) AND status = 'queued' AND kind = 'apply'
        ), withdrawn AS (
            UPDATE runs SET withdrawn = TRUE
            WHERE task_name = ANY ($1) AND status = 'running' AND kind = 'apply'
        ), refused AS (
            UPDATE run_requests SET refused = $3, refused_code = 'withdrawn', refused_at = cts_now()
            WHERE task_name = ANY ($1) AND refused IS NULL AND kind = 'apply'
        )
        UPDATE tasks SET failures = 0 WHERE name = ANY ($2)",
    )
    .bind(names)
    .bind(others)
    .bind(reason)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("withdraw what is to be applied"))?;
    Ok(())
}

pub(crate) async fn delete(
    connection: &mut PgConnection,
    name: &TaskName,
    deletion: Deletion,
) -> Result<bool, TaskError> {
    let failed = failed_to("delete a task");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let current = current(&mut transaction, name).await?;
    let running = current.activity.is_leased();
    let is_deleting = current.task.phase == TaskPhase::Deleting;
    if deletion != Deletion::Retain && current.task.destruction_suspended {
        cancel::continue_destruction(&mut transaction, name.as_str()).await?;
    }
    if is_deleting && (deletion != Deletion::Retain || current.task.destroy_run.is_none()) {
        transaction.commit().await.map_err(&failed)?;
        return Ok(false);
    }
    if !is_deleting && current.task.origin == TaskOrigin::Config {
        remember(&mut transaction, &current.task.spec, current.configured).await?;
    }
    let gone = match deletion.destroy_run(&current.task) {
        Some(run) => {
            begin_deletions(&mut transaction, &[name.as_str()], Some(run)).await?;
            !running && !destruction::begin(&mut transaction, name.as_str(), run).await?
        }
        None if running => {
            begin_deletions(&mut transaction, &[name.as_str()], None).await?;
            false
        }
        None => {
            tasks::remove(&mut transaction, name.as_str()).await?;
            true
        }
    };
    transaction.commit().await.map_err(&failed)?;
    Ok(gone)
}

/// Begins deletions: tasks with a running run are removed when it has ended and the given run, if any, has
/// destroyed their infrastructure. The caller has locked them.
pub(crate) async fn begin_deletions(
    transaction: &mut PgTransaction<'_>,
    names: &[&str],
    destroy_run: Option<RunId>,
) -> Result<(), StoreError> {
    if names.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "-- tasks are being deleted; index runs_waiting
        WITH pointless AS (
            UPDATE runs
            SET status = 'cancelled', finished_at = cts_now(), updated_at = cts_now()
            WHERE task_name = ANY ($1) AND status = 'queued'
        ), refused AS (
            UPDATE run_requests SET refused = $2, refused_code = 'withdrawn', refused_at = cts_now()
            WHERE task_name = ANY ($1) AND refused IS NULL
        )
        UPDATE tasks
        SET phase = 'deleting', creation = NULL, creation_run = NULL, destroy_run = $3,
            destruction_suspended_at = NULL, updated_at = cts_now()
        WHERE name = ANY ($1)",
    )
    .bind(names)
    .bind(DELETED)
    .bind(destroy_run.map(RunId::as_uuid))
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("delete tasks"))?;
    Ok(())
}

/// Keeps the configuration from bringing the task back.
async fn remember(
    transaction: &mut PgTransaction<'_>,
    task: &TaskSpec,
    configured: Option<String>,
) -> Result<(), StoreError> {
    let configured = match configured {
        Some(configured) => configured,
        None => declaration(task)?.to_string(),
    };
    sqlx::query(
        "-- delete_task: of the configuration
        INSERT INTO deleted_tasks (name, configured, deleted_at) VALUES ($1, $2, cts_now())
        ON CONFLICT (name) DO UPDATE
        SET configured = excluded.configured, deleted_at = excluded.deleted_at",
    )
    .bind(task.name().as_str())
    .bind(configured)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("delete a task"))?;
    Ok(())
}
