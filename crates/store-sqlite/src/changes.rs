//! Tasks created, changed and deleted over the API.

use cts_core::runs::RunKind;
use cts_core::{RunId, TaskActivity, TaskName, TaskOrigin, TaskPhase, TaskSpec, Withdrawal};
use cts_store::configured::declaration;
use cts_store::decode;
use cts_store::{
    DELETED, DRAFTS_KEPT, Deletion, NewTask, StoreError, StoredTask, TaskChange, TaskError,
};
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::cancel;
use crate::destruction;
use crate::requests;
use crate::row::{Cell, by, failed_to, span_micros};
use crate::tasks::{self, NewRow};

/// A task and what it is at.
struct Current {
    task: StoredTask,
    activity: TaskActivity,
    configured: Option<String>,
}

pub(crate) async fn create(
    connection: &mut SqliteConnection,
    task: &NewTask,
    now: i64,
) -> Result<(), TaskError> {
    make_way(connection, task.spec.name(), now).await?;
    let position: i64 = sqlx::query_scalar(
        "-- create_task: behind all\nSELECT coalesce(max(position) + 1, 0) FROM tasks",
    )
    .fetch_one(&mut *connection)
    .await
    .map_err(failed_to("create a task"))?;
    let row = NewRow {
        spec: &task.spec,
        position,
        origin: TaskOrigin::Api,
        configured: None,
        draft: Some((task.creation, task.run)),
    };
    tasks::insert(connection, &row, now).await?;
    let name = task.spec.name();
    Ok(requests::insert(connection, name, (task.run, task.kind), now).await?)
}

/// A draft without a waiter blocks nothing.
async fn make_way(
    connection: &mut SqliteConnection,
    name: &TaskName,
    now: i64,
) -> Result<(), TaskError> {
    let read = failed_to("create a task");
    let row = sqlx::query(
        "-- create_task: what has the name
        SELECT phase, creation_run, updated_at FROM tasks WHERE name = ?",
    )
    .bind(name.as_str())
    .fetch_optional(&mut *connection)
    .await
    .map_err(&read)?;
    let Some(row) = row else { return Ok(()) };
    let cell = |column| Cell {
        table: "tasks",
        column,
        row: name.as_str(),
    };
    let phase: &str = row.try_get("phase").map_err(&read)?;
    let phase = cell("phase").phase(phase)?;
    if phase.is_visible() {
        return Err(TaskError::Exists);
    }
    let updated_at: i64 = row.try_get("updated_at").map_err(&read)?;
    let is_old = updated_at <= now.saturating_sub(span_micros(DRAFTS_KEPT));
    if phase == TaskPhase::Discarded && is_old {
        return Ok(tasks::remove(connection, name.as_str(), now).await?);
    }
    let run: Option<&str> = row.try_get("creation_run").map_err(&read)?;
    let run = cell("creation_run").parse(run.unwrap_or_default())?;
    Err(TaskError::BeingCreated { run })
}

async fn current(
    connection: &mut SqliteConnection,
    name: &TaskName,
    now: i64,
) -> Result<Current, TaskError> {
    let read = failed_to("read a task");
    let row = sqlx::query(
        "-- change_task, delete_task: what it is at; indexes runs_task, run_requests_task
        SELECT name, origin, phase, revision, spec, configured, destroy_run, destruction_suspended_at,
               EXISTS (SELECT 1 FROM runs r
                       WHERE r.task_name = t.name AND r.status = 'running'
                         AND r.waiting_for IS NULL) AS running,
               EXISTS (SELECT 1 FROM runs r
                       WHERE r.task_name = t.name AND r.status = 'running'
                         AND r.waiting_for IS NOT NULL) AS waits,
               EXISTS (SELECT 1 FROM runs r
                       WHERE r.task_name = t.name AND r.status = 'queued'
                         AND (t.enabled OR r.kind <> 'apply' OR r.requested)
                         AND (r.due_at <= ?2 OR r.attempts > 0)) AS about_to_run,
               EXISTS (SELECT 1 FROM run_requests q
                       WHERE q.task_name = t.name AND q.refused IS NULL) AS requested
        FROM tasks t
        WHERE t.name = ?1 AND t.phase IN ('ready', 'deleting')",
    )
    .bind(name.as_str())
    .bind(now)
    .fetch_optional(connection)
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
    connection: &mut SqliteConnection,
    name: &TaskName,
    change: &TaskChange,
    now: i64,
) -> Result<StoredTask, TaskError> {
    let current = current(connection, name, now).await?;
    if let Some((run, _)) = change.request
        && requests::is_known(connection, run).await?
    {
        return Ok(current.task);
    }
    let mut changed = current.task.clone();
    let spec = change.accepted(&current.task, current.activity)?;
    if spec != current.task.spec {
        changed.revision = current.task.revision.saturating_add(1);
        tasks::write_spec(connection, &spec, changed.revision, now).await?;
    }
    if let Some(why) = change.withdrawal(&current.task.spec, &spec) {
        withdraw_applies(connection, name, (why, change.reason()), now).await?;
    }
    if let Some(request) = change.request {
        requests::insert(connection, name, request, now).await?;
    }
    changed.spec = spec;
    Ok(changed)
}

/// Withdraws the applies of a task that is declared otherwise from now on, over the API or by a file: queued
/// ones are cancelled, a running one goes on without another attempt. Requests are refused for this `reason`.
pub(crate) async fn withdraw_applies(
    connection: &mut SqliteConnection,
    name: &TaskName,
    (why, reason): (Withdrawal, &str),
    now: i64,
) -> Result<(), StoreError> {
    if why == Withdrawal::OtherDefinition {
        forget_failures(connection, name).await?;
    }
    cancel_queued(connection, name.as_str(), true, now).await?;
    withdraw(connection, name).await?;
    requests::refuse_all(connection, name.as_str(), Some(RunKind::Apply), reason, now).await
}

async fn forget_failures(
    connection: &mut SqliteConnection,
    name: &TaskName,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- change_task, replace_config_tasks: another definition
        UPDATE tasks SET failures = 0 WHERE name = ?",
    )
    .bind(name.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("change a task"))?;
    Ok(())
}

/// Marks a running apply as withdrawn: if it waits it has nothing to apply any more, and if it fails it is
/// not tried again.
async fn withdraw(connection: &mut SqliteConnection, name: &TaskName) -> Result<(), StoreError> {
    sqlx::query(
        "-- change_task, replace_config_tasks: withdraw; index runs_one_running
        UPDATE runs SET withdrawn = 1
        WHERE task_name = ? AND status = 'running' AND kind = 'apply'",
    )
    .bind(name.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("change a task"))?;
    Ok(())
}

/// Cancels the queued runs of a task, or only those that apply.
async fn cancel_queued(
    connection: &mut SqliteConnection,
    name: &str,
    only_applies: bool,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- change_task, replace_config_tasks, delete_task: cancel; index runs_waiting
        UPDATE runs SET status = 'cancelled', finished_at = ?1, updated_at = ?1
        WHERE task_name = ?2 AND status = 'queued' AND (kind = 'apply' OR NOT ?3)",
    )
    .bind(now)
    .bind(name)
    .bind(only_applies)
    .execute(connection)
    .await
    .map_err(failed_to("cancel queued runs"))?;
    Ok(())
}

pub(crate) async fn delete(
    connection: &mut SqliteConnection,
    name: &TaskName,
    deletion: Deletion,
    now: i64,
) -> Result<bool, TaskError> {
    let current = current(connection, name, now).await?;
    let running = current.activity.is_leased();
    if current.task.phase == TaskPhase::Deleting {
        let gives_up = deletion == Deletion::Retain && current.task.destroy_run.is_some();
        if deletion != Deletion::Retain && current.task.destruction_suspended {
            cancel::continue_destruction(connection, name.as_str(), now).await?;
        }
        return Ok(gives_up && retain(connection, name.as_str(), running, now).await?);
    }
    if current.task.origin == TaskOrigin::Config {
        remember(connection, &current.task.spec, current.configured, now).await?;
    }
    let Some(run) = deletion.destroy_run(&current.task) else {
        return Ok(retain(connection, name.as_str(), running, now).await?);
    };
    begin_deletion(connection, name.as_str(), Some(run), now).await?;
    Ok(!running && !destruction::begin(connection, name.as_str(), run, now).await?)
}

/// Removes a task and leaves its infrastructure; a task with a running run is removed when that has ended.
/// Returns whether it is removed.
pub(crate) async fn retain(
    connection: &mut SqliteConnection,
    name: &str,
    running: bool,
    now: i64,
) -> Result<bool, StoreError> {
    if running {
        begin_deletion(connection, name, None, now).await?;
    } else {
        tasks::remove(connection, name, now).await?;
    }
    Ok(!running)
}

/// Begins a deletion: the task is removed when its running run has ended and the given run, if any, has
/// destroyed its infrastructure.
pub(crate) async fn begin_deletion(
    connection: &mut SqliteConnection,
    name: &str,
    destroy_run: Option<RunId>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- a task is being deleted
        UPDATE tasks
        SET phase = 'deleting', creation = NULL, creation_run = NULL, destroy_run = ?3, destruction_suspended_at = NULL,
            updated_at = ?1
        WHERE name = ?2",
    )
    .bind(now)
    .bind(name)
    .bind(destroy_run.map(|run| run.to_string()))
    .execute(&mut *connection)
    .await
    .map_err(failed_to("delete a task"))?;
    cancel_queued(connection, name, false, now).await?;
    requests::refuse_all(connection, name, None, DELETED, now).await
}

/// Keeps the configuration from bringing the task back.
async fn remember(
    connection: &mut SqliteConnection,
    task: &TaskSpec,
    configured: Option<String>,
    now: i64,
) -> Result<(), StoreError> {
    let configured = match configured {
        Some(configured) => configured,
        None => declaration(task)?.to_string(),
    };
    sqlx::query(
        "-- delete_task: of the configuration
        INSERT INTO deleted_tasks (name, configured, deleted_at) VALUES (?, ?, ?)
        ON CONFLICT (name) DO UPDATE
        SET configured = excluded.configured, deleted_at = excluded.deleted_at",
    )
    .bind(task.name().as_str())
    .bind(configured)
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to("delete a task"))?;
    Ok(())
}

pub(crate) async fn drop_draft(
    executor: impl SqliteExecutor<'_>,
    name: &TaskName,
    run: RunId,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- drop_draft
        DELETE FROM tasks WHERE name = ? AND phase = 'discarded' AND creation_run = ?",
    )
    .bind(name.as_str())
    .bind(run.to_string())
    .execute(executor)
    .await
    .map_err(failed_to("forget a draft"))?;
    Ok(())
}
