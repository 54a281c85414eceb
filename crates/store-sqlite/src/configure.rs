//! The tasks of the configuration, and a storage without any.

use std::collections::BTreeMap;

use cts_core::{
    Declared, DeclaredBefore, Digest, TaskName, TaskOrigin, TaskSpec, read_declaration,
};
use cts_store::StoreError;
use sqlx::{Row as _, SqliteConnection};

use crate::row::{Cell, encoded, failed_to};
use crate::tasks::{self, NewRow};

const OPERATION: &str = "store the configured tasks";

/// What is stored of a task.
struct Known {
    origin: TaskOrigin,
    configured: Option<Digest>,
    revision: u64,
    spec: String,
}

pub(crate) async fn replace_config_tasks(
    connection: &mut SqliteConnection,
    tasks: &[TaskSpec],
    now: i64,
) -> Result<(), StoreError> {
    remove_others(connection, tasks).await?;
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
        match (read_declaration(declaration, before), stored) {
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
    Ok(())
}

/// What the configuration declares.
pub(crate) fn declaration(task: &TaskSpec) -> Result<Digest, StoreError> {
    task.declaration().map_err(|error| StoreError::Database {
        operation: "encode a task",
        source: Box::new(error),
    })
}

/// Removes what is no longer configured, and makes room for what is.
async fn remove_others(
    connection: &mut SqliteConnection,
    tasks: &[TaskSpec],
) -> Result<(), StoreError> {
    let write = failed_to(OPERATION);
    let names: Vec<&str> = tasks.iter().map(|task| task.name().as_str()).collect();
    let names = serde_json::Value::from(names).to_string();
    for statement in [
        "-- replace_config_tasks: those that are gone
        DELETE FROM tasks
        WHERE origin = 'config' AND name NOT IN (SELECT value FROM json_each(?))",
        "-- replace_config_tasks: those that were gone already
        DELETE FROM deleted_tasks WHERE name NOT IN (SELECT value FROM json_each(?))",
    ] {
        sqlx::query(statement)
            .bind(&names)
            .execute(&mut *connection)
            .await
            .map_err(&write)?;
    }
    // Tasks of the API stand behind those of the configuration, in their own order.
    sqlx::query(
        "-- replace_config_tasks: make room
        UPDATE tasks SET position = position + ? WHERE origin = 'api'",
    )
    .bind(i64::try_from(tasks.len()).unwrap_or(i64::MAX))
    .execute(&mut *connection)
    .await
    .map_err(&write)?;
    Ok(())
}

async fn known(connection: &mut SqliteConnection) -> Result<BTreeMap<String, Known>, StoreError> {
    let read = failed_to(OPERATION);
    let rows = sqlx::query(
        "-- replace_config_tasks: what is there
        SELECT name, origin, configured, revision, spec FROM tasks",
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

pub(crate) async fn reset(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    for statement in [
        "-- reset_tasks: with all their runs and events\nDELETE FROM tasks",
        "-- reset_tasks: and what was deleted\nDELETE FROM deleted_tasks",
    ] {
        sqlx::query(statement)
            .execute(&mut *connection)
            .await
            .map_err(failed_to("remove every task"))?;
    }
    Ok(())
}
