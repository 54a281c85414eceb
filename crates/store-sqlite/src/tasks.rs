//! Tasks as declared.

use cts_core::{EventConfig, TaskName, TaskSpec};
use cts_store::{StoreError, StoredTask};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::row::{Cell, encoded, failed_to};

pub(crate) async fn replace_config_tasks(
    connection: &mut SqliteConnection,
    tasks: &[TaskSpec],
    now: i64,
) -> Result<(), StoreError> {
    let write = failed_to("store the configured tasks");
    let names: Vec<&str> = tasks.iter().map(|task| task.name().as_str()).collect();
    let names = serde_json::Value::from(names).to_string();
    sqlx::query(
        "-- replace_config_tasks: those that are gone
        DELETE FROM tasks
        WHERE origin = 'config' AND name NOT IN (SELECT value FROM json_each(?))",
    )
    .bind(names)
    .execute(&mut *connection)
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
    for (position, task) in (0i64..).zip(tasks) {
        sqlx::query(
            "-- replace_config_tasks: new and changed ones
            INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed, spec,
                               event_config, requires_driver, requires_version, requires_bundle,
                               created_at, updated_at)
            VALUES (?1, ?2, 'config', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11)
            ON CONFLICT (name) DO UPDATE
            SET position = excluded.position,
                origin = 'config',
                enabled = excluded.enabled,
                skip_unchanged = excluded.skip_unchanged,
                retry_failed = excluded.retry_failed,
                spec = excluded.spec,
                event_config = excluded.event_config,
                requires_driver = excluded.requires_driver,
                requires_version = excluded.requires_version,
                requires_bundle = excluded.requires_bundle,
                updated_at = excluded.updated_at",
        )
        .bind(task.name().as_str())
        .bind(position)
        .bind(task.enabled)
        .bind(task.skip_unchanged)
        .bind(task.retry_failed)
        .bind(encoded("encode a task", task)?)
        .bind(encoded("encode a task", &event_config(task))?)
        .bind(&task.requirement.driver)
        .bind(&task.requirement.version)
        .bind(task.requirement.bundle)
        .bind(now)
        .execute(&mut *connection)
        .await
        .map_err(&write)?;
    }
    Ok(())
}

/// What the events of a task tell of it.
fn event_config(task: &TaskSpec) -> EventConfig {
    let providers = task.definition.providers.iter();
    EventConfig {
        providers: providers.map(ToString::to_string).collect(),
        services: task.definition.services.clone(),
        source: task.definition.module_source.clone(),
    }
}

pub(crate) async fn all(executor: impl SqliteExecutor<'_>) -> Result<Vec<StoredTask>, StoreError> {
    let rows = sqlx::query(
        "-- tasks
        SELECT name, origin, spec FROM tasks ORDER BY position, name",
    )
    .fetch_all(executor)
    .await
    .map_err(failed_to("read the tasks"))?;
    rows.iter().map(stored_task).collect()
}

pub(crate) async fn one(
    executor: impl SqliteExecutor<'_>,
    name: &TaskName,
) -> Result<Option<StoredTask>, StoreError> {
    let row = sqlx::query(
        "-- task
        SELECT name, origin, spec FROM tasks WHERE name = ?",
    )
    .bind(name.as_str())
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read a task"))?;
    row.as_ref().map(stored_task).transpose()
}

fn stored_task(row: &SqliteRow) -> Result<StoredTask, StoreError> {
    let read = failed_to("read a task");
    let name: String = row.try_get("name").map_err(&read)?;
    let cell = |column| Cell {
        table: "tasks",
        column,
        row: &name,
    };
    let origin: String = row.try_get("origin").map_err(&read)?;
    let spec: String = row.try_get("spec").map_err(&read)?;
    Ok(StoredTask {
        spec: cell("spec").json(&spec)?,
        origin: cell("origin").origin(&origin)?,
    })
}
