//! The tasks of the configuration, and a storage without any.

use cts_core::{ArchiveId, Digest, TaskName, TaskOrigin, TaskSpec, Withdrawal};
use cts_store::configured::{self, Configured, Declarations, RECONFIGURED, StoredDeclaration};
use cts_store::{PendingDeletions, StoreError};
use sqlx::SqliteConnection;

use crate::row::{by, failed_to};
use crate::tasks::{self, NewRow};
use crate::{archive, changes};

const OPERATION: &str = "store the configured tasks";

pub(crate) async fn replace_config_tasks(
    connection: &mut SqliteConnection,
    tasks: &[TaskSpec],
    now: i64,
) -> Result<PendingDeletions, StoreError> {
    let mut unfinished = PendingDeletions {
        deleting: remove_others(connection, tasks, now).await?,
        postponed: Vec::new(),
    };
    let declarations = declarations(connection).await?;
    for (position, task) in (0i64..).zip(tasks) {
        match declarations.configure(task)? {
            Configured::StaysDeleted => {}
            Configured::Postponed => unfinished.postponed.push(task.name().clone()),
            Configured::Lasts {
                refreshed,
                withdraws,
            } => {
                if let Some(refreshed) = refreshed {
                    let (spec, revision) = *refreshed;
                    tasks::write_spec(connection, &spec, revision, now).await?;
                }
                withdraw(connection, task, withdraws, now).await?;
                place(connection, task.name(), position).await?;
            }
            Configured::TakesEffect {
                declaration,
                revision,
                withdraws,
            } => {
                if let Some(revision) = revision {
                    tasks::write_spec(connection, task, revision, now).await?;
                    withdraw(connection, task, withdraws, now).await?;
                    take_effect(connection, task.name(), position, declaration).await?;
                } else {
                    let row = NewRow {
                        spec: task,
                        position,
                        origin: TaskOrigin::Config,
                        configured: Some(declaration),
                        draft: None,
                    };
                    tasks::insert(connection, &row, now).await?;
                }
                forget_deletion(connection, task.name()).await?;
            }
        }
    }
    cancel_of_disabled(connection, now).await?;
    Ok(unfinished)
}

/// Withdraws the runs that a changed declaration makes pointless, as a change over the API does.
async fn withdraw(
    connection: &mut SqliteConnection,
    task: &TaskSpec,
    why: Option<Withdrawal>,
    now: i64,
) -> Result<(), StoreError> {
    let Some(why) = why else { return Ok(()) };
    changes::withdraw_applies(connection, task.name(), (why, RECONFIGURED), now).await
}

/// Cancels queued runs that no lease takes, and runs that earlier versions have left in the queue of disabled
/// tasks.
async fn cancel_of_disabled(connection: &mut SqliteConnection, now: i64) -> Result<(), StoreError> {
    sqlx::query(
        "-- replace_config_tasks: what is queued of disabled tasks; index runs_waiting
        UPDATE runs SET status = 'cancelled', finished_at = ?1, updated_at = ?1
        WHERE status = 'queued' AND kind = 'apply' AND NOT requested AND task_name IN (
            SELECT name FROM tasks WHERE NOT enabled AND phase = 'ready')",
    )
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Removes tasks that are no longer configured, and moves API tasks after the configured ones. Returns the
/// tasks that are still being deleted.
async fn remove_others(
    connection: &mut SqliteConnection,
    tasks: &[TaskSpec],
    now: i64,
) -> Result<Vec<TaskName>, StoreError> {
    let write = failed_to(OPERATION);
    let names: Vec<&str> = tasks.iter().map(|task| task.name().as_str()).collect();
    let names = serde_json::Value::from(names).to_string();
    let gone: Vec<(String, bool)> = sqlx::query_as(
        "-- replace_config_tasks: those that are gone; index runs_one_running
        SELECT name, EXISTS (SELECT 1 FROM runs r
                             WHERE r.task_name = t.name AND r.status = 'running')
        FROM tasks t
        WHERE origin = 'config' AND (phase <> 'deleting' OR destroy_run IS NOT NULL)
          AND name NOT IN (SELECT value FROM json_each(?))",
    )
    .bind(&names)
    .fetch_all(&mut *connection)
    .await
    .map_err(&write)?;
    for (name, runs) in &gone {
        changes::retain(connection, name, *runs, now).await?;
    }
    sqlx::query(
        "-- replace_config_tasks: those that were gone already
        DELETE FROM deleted_tasks WHERE name NOT IN (SELECT value FROM json_each(?))",
    )
    .bind(&names)
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    let deleting = sqlx::query(
        "-- replace_config_tasks: those of which something runs
        SELECT name FROM tasks
        WHERE origin = 'config' AND phase = 'deleting'
          AND name NOT IN (SELECT value FROM json_each(?))
        ORDER BY name",
    )
    .bind(&names)
    .fetch_all(&mut *connection)
    .await
    .map_err(&write)?;
    // Tasks of the API come after those of the configuration, in their own order.
    sqlx::query(
        "-- replace_config_tasks: make room
        UPDATE tasks SET position = position + ? WHERE origin = 'api'",
    )
    .bind(i64::try_from(tasks.len()).unwrap_or(i64::MAX))
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    deleting.iter().map(by(configured::name)).collect()
}

pub(crate) async fn declarations(
    connection: &mut SqliteConnection,
) -> Result<Declarations, StoreError> {
    let read = failed_to(OPERATION);
    let stored = sqlx::query(
        "-- replace_config_tasks: what is there
        SELECT name, origin, phase, configured, revision, spec FROM tasks",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(&read)?;
    let deleted = sqlx::query(
        "-- replace_config_tasks: what the API has deleted
        SELECT name, configured FROM deleted_tasks",
    )
    .fetch_all(connection)
    .await
    .map_err(&read)?;
    let stored: Result<_, _> = stored.iter().map(by(StoredDeclaration::read)).collect();
    let deleted: Result<_, _> = deleted
        .iter()
        .map(by(configured::deleted_declaration))
        .collect();
    Ok(Declarations::new(stored?, deleted?))
}

async fn place(
    connection: &mut SqliteConnection,
    name: &TaskName,
    position: i64,
) -> Result<(), StoreError> {
    sqlx::query("-- replace_config_tasks: a place\nUPDATE tasks SET position = ? WHERE name = ?")
        .bind(position)
        .bind(name.as_str())
        .execute(connection)
        .await
        .map_err(failed_to(OPERATION))?;
    Ok(())
}

async fn take_effect(
    connection: &mut SqliteConnection,
    name: &TaskName,
    position: i64,
    declaration: Digest,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- replace_config_tasks: it is one of the configuration now
        UPDATE tasks
        SET position = ?, origin = 'config', configured = ?, phase = 'ready', creation = NULL,
            creation_run = NULL
        WHERE name = ?",
    )
    .bind(position)
    .bind(declaration.to_string())
    .bind(name.as_str())
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

async fn forget_deletion(
    connection: &mut SqliteConnection,
    name: &TaskName,
) -> Result<(), StoreError> {
    sqlx::query("-- replace_config_tasks: it is back\nDELETE FROM deleted_tasks WHERE name = ?")
        .bind(name.as_str())
        .execute(connection)
        .await
        .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Removes everything but running runs, whose tasks are being deleted from now on; removed rows are archived.
pub(crate) async fn reset(
    connection: &mut SqliteConnection,
    archive: ArchiveId,
    now: i64,
) -> Result<PendingDeletions, StoreError> {
    let write = failed_to("remove every task");
    sqlx::query(
        "-- reset_tasks: what is queued
        UPDATE runs SET status = 'cancelled', finished_at = ?1, updated_at = ?1
        WHERE status = 'queued'",
    )
    .bind(now)
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    archive::store(connection, archive, now).await?;
    for statement in [
        "-- reset_tasks: requests\nDELETE FROM run_requests",
        "-- reset_tasks: tasks; index runs_one_running
        DELETE FROM tasks WHERE NOT EXISTS (
            SELECT 1 FROM runs r WHERE r.task_name = tasks.name AND r.status = 'running')",
        "-- reset_tasks: runs, with their events and logs\nDELETE FROM runs WHERE status <> 'running'",
        "-- reset_tasks: and what was deleted\nDELETE FROM deleted_tasks",
    ] {
        sqlx::query(statement)
            .execute(&mut *connection)
            .await
            .map_err(&write)?;
    }
    let left = sqlx::query("-- reset_tasks: what runs\nSELECT name FROM tasks ORDER BY name")
        .fetch_all(&mut *connection)
        .await
        .map_err(&write)?;
    let deleting: Vec<TaskName> = left
        .iter()
        .map(by(configured::name))
        .collect::<Result<_, _>>()?;
    for name in &deleting {
        changes::begin_deletion(connection, name.as_str(), None, now).await?;
    }
    Ok(PendingDeletions {
        deleting,
        postponed: Vec::new(),
    })
}
