//! The tasks of the configuration, and a storage without any.

use std::collections::BTreeMap;

use cts_core::{
    ArchiveId, Declared, DeclaredBefore, Digest, TaskName, TaskOrigin, TaskPhase, TaskSpec,
    read_declaration,
};
use cts_store::{StoreError, Unfinished};
use sqlx::{Row as _, SqliteConnection};

use crate::row::{Cell, encoded, failed_to};
use crate::tasks::{self, NewRow};
use crate::{archive, changes};

const OPERATION: &str = "store the configured tasks";

/// What is stored of a task.
struct Known {
    origin: TaskOrigin,
    phase: TaskPhase,
    configured: Option<Digest>,
    revision: u64,
    spec: String,
}

pub(crate) async fn replace_config_tasks(
    connection: &mut SqliteConnection,
    tasks: &[TaskSpec],
    now: i64,
) -> Result<Unfinished, StoreError> {
    let mut unfinished = Unfinished {
        deleting: remove_others(connection, tasks, now).await?,
        postponed: Vec::new(),
    };
    let known = known(connection).await?;
    let deleted = deleted(connection).await?;
    for (position, task) in (0i64..).zip(tasks) {
        let name = task.name();
        let stored = known.get(name.as_str());
        let declaration = declaration(task)?;
        let before = DeclaredBefore {
            stored: stored.map(|stored| (stored.origin, stored.configured)),
            deleted: deleted.get(name.as_str()).copied(),
        };
        let declared = read_declaration(declaration, before);
        if declared != Declared::StaysDeleted
            && stored.is_some_and(|stored| stored.phase == TaskPhase::Deleting)
        {
            unfinished.postponed.push(name.clone());
            continue;
        }
        match (declared, stored) {
            (Declared::StaysDeleted, _) => {}
            (Declared::Lasts, Some(stored)) => {
                // What cannot be read is of a program that knew tasks differently.
                match serde_json::from_str::<TaskSpec>(&stored.spec) {
                    Ok(spec) => refresh(connection, task, position, (stored, spec), now).await?,
                    Err(_unreadable) => {
                        take_effect(connection, task, position, (declaration, stored), now).await?;
                    }
                }
            }
            (Declared::TakesEffect | Declared::Lasts, None) => {
                let row = NewRow {
                    spec: task,
                    position,
                    origin: TaskOrigin::Config,
                    configured: Some(declaration),
                    draft: None,
                };
                tasks::insert(connection, &row, now).await?;
                forget_deletion(connection, name).await?;
            }
            (Declared::TakesEffect, Some(stored)) => {
                take_effect(connection, task, position, (declaration, stored), now).await?;
                forget_deletion(connection, name).await?;
            }
        }
    }
    Ok(unfinished)
}

/// What the configuration declares.
pub(crate) fn declaration(task: &TaskSpec) -> Result<Digest, StoreError> {
    task.declaration().map_err(|error| StoreError::Database {
        operation: "encode a task",
        source: Box::new(error),
    })
}

/// Removes what is no longer configured, and makes room for what is. Returns what is still being deleted.
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
        WHERE origin = 'config' AND phase <> 'deleting'
          AND name NOT IN (SELECT value FROM json_each(?))",
    )
    .bind(&names)
    .fetch_all(&mut *connection)
    .await
    .map_err(&write)?;
    for (name, runs) in &gone {
        if *runs {
            changes::begin_deletion(connection, name, now).await?;
        } else {
            tasks::remove(connection, name, now).await?;
        }
    }
    sqlx::query(
        "-- replace_config_tasks: those that were gone already
        DELETE FROM deleted_tasks WHERE name NOT IN (SELECT value FROM json_each(?))",
    )
    .bind(&names)
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    let deleting: Vec<String> = sqlx::query_scalar(
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
    // Tasks of the API stand behind those of the configuration, in their own order.
    sqlx::query(
        "-- replace_config_tasks: make room
        UPDATE tasks SET position = position + ? WHERE origin = 'api'",
    )
    .bind(i64::try_from(tasks.len()).unwrap_or(i64::MAX))
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    named(&deleting)
}

fn named(names: &[String]) -> Result<Vec<TaskName>, StoreError> {
    let names = names.iter().map(|name| {
        let cell = Cell {
            table: "tasks",
            column: "name",
            row: name,
        };
        cell.parse(name)
    });
    names.collect()
}

async fn known(connection: &mut SqliteConnection) -> Result<BTreeMap<String, Known>, StoreError> {
    let read = failed_to(OPERATION);
    let rows = sqlx::query(
        "-- replace_config_tasks: what is there
        SELECT name, origin, phase, configured, revision, spec FROM tasks",
    )
    .fetch_all(connection)
    .await
    .map_err(&read)?;
    let known = rows.iter().map(|row| {
        let name: String = row.try_get("name").map_err(&read)?;
        let cell = |column| Cell {
            table: "tasks",
            column,
            row: &name,
        };
        let origin: &str = row.try_get("origin").map_err(&read)?;
        let configured: Option<&str> = row.try_get("configured").map_err(&read)?;
        let configured = configured.map(|digest| cell("configured").parse(digest));
        let known = Known {
            origin: cell("origin").origin(origin)?,
            phase: cell("phase").phase(row.try_get("phase").map_err(&read)?)?,
            configured: configured.transpose()?,
            revision: cell("revision").number(row.try_get("revision").map_err(&read)?)?,
            spec: row.try_get("spec").map_err(&read)?,
        };
        Ok((name, known))
    });
    known.collect()
}

async fn deleted(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, Digest>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "-- replace_config_tasks: what the API has deleted
        SELECT name, configured FROM deleted_tasks",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    let deleted = rows.into_iter().map(|(name, digest)| {
        let cell = Cell {
            table: "deleted_tasks",
            column: "configured",
            row: &name,
        };
        let digest = cell.parse(&digest)?;
        Ok((name, digest))
    });
    deleted.collect()
}

/// The task stays what the API has made of it, at the place and with the module that it has now.
async fn refresh(
    connection: &mut SqliteConnection,
    task: &TaskSpec,
    position: i64,
    (stored, spec): (&Known, TaskSpec),
    now: i64,
) -> Result<(), StoreError> {
    let refreshed = spec.refreshed_by(task);
    if refreshed != spec {
        tasks::write_spec(connection, &refreshed, stored.revision, now).await?;
    }
    sqlx::query("-- replace_config_tasks: a place\nUPDATE tasks SET position = ? WHERE name = ?")
        .bind(position)
        .bind(task.name().as_str())
        .execute(connection)
        .await
        .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// The task becomes what is declared, whatever it was.
async fn take_effect(
    connection: &mut SqliteConnection,
    task: &TaskSpec,
    position: i64,
    (declaration, stored): (Digest, &Known),
    now: i64,
) -> Result<(), StoreError> {
    let differs = encoded("encode a task", task)? != stored.spec;
    let revision = stored.revision.saturating_add(u64::from(differs));
    tasks::write_spec(connection, task, revision, now).await?;
    sqlx::query(
        "-- replace_config_tasks: it is one of the configuration now
        UPDATE tasks
        SET position = ?, origin = 'config', configured = ?, phase = 'ready', creation = NULL,
            creation_run = NULL
        WHERE name = ?",
    )
    .bind(position)
    .bind(declaration.to_string())
    .bind(task.name().as_str())
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

/// Removes everything but running runs, whose tasks are being deleted from now on; what is removed is archived.
pub(crate) async fn reset(
    connection: &mut SqliteConnection,
    archive: ArchiveId,
    now: i64,
) -> Result<Unfinished, StoreError> {
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
    let left: Vec<String> =
        sqlx::query_scalar("-- reset_tasks: what runs\nSELECT name FROM tasks ORDER BY name")
            .fetch_all(&mut *connection)
            .await
            .map_err(&write)?;
    for name in &left {
        changes::begin_deletion(connection, name, now).await?;
    }
    Ok(Unfinished {
        deleting: named(&left)?,
        postponed: Vec::new(),
    })
}
