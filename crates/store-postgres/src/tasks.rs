//! Tasks as declared.

use cts_core::{EventConfig, LeaderEpoch, TaskName, TaskSpec};
use cts_store::{LeaderError, StoreError, StoredTask};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};

use crate::leadership;
use crate::row::{Cell, encoded, failed_to};

/// The columns of tasks, one element per task.
#[derive(Debug, Default)]
struct Columns<'a> {
    names: Vec<&'a str>,
    positions: Vec<i64>,
    enabled: Vec<bool>,
    skip_unchanged: Vec<bool>,
    retry_failed: Vec<bool>,
    drivers: Vec<&'a str>,
    versions: Vec<Option<&'a str>>,
    bundles: Vec<bool>,
    specs: Vec<String>,
    event_configs: Vec<String>,
}

impl<'a> Columns<'a> {
    fn of(tasks: &'a [TaskSpec]) -> Result<Self, StoreError> {
        let mut columns = Self::default();
        for (position, task) in (0..).zip(tasks) {
            columns.names.push(task.name().as_str());
            columns.positions.push(position);
            columns.enabled.push(task.enabled);
            columns.skip_unchanged.push(task.skip_unchanged);
            columns.retry_failed.push(task.retry_failed);
            columns.drivers.push(&task.requirement.driver);
            columns.versions.push(task.requirement.version.as_deref());
            columns.bundles.push(task.requirement.bundle);
            columns.specs.push(encoded("encode a task", task)?);
            let event_config = event_config(task);
            columns
                .event_configs
                .push(encoded("encode a task", &event_config)?);
        }
        Ok(columns)
    }
}

pub(crate) async fn replace_config_tasks(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    tasks: &[TaskSpec],
) -> Result<(), LeaderError> {
    let write = failed_to("store the configured tasks");
    let columns = Columns::of(tasks)?;
    let mut transaction = connection.begin().await.map_err(&write)?;
    let now = leadership::fence(&mut transaction, leader).await?;
    sqlx::query("-- replace_config_tasks: in order\nSELECT FROM tasks ORDER BY name FOR UPDATE")
        .execute(&mut *transaction)
        .await
        .map_err(&write)?;
    sqlx::query(
        "-- replace_config_tasks: those that are gone
        DELETE FROM tasks WHERE origin = 'config' AND name <> ALL ($1)",
    )
    .bind(&columns.names)
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    // Tasks of the API stand behind those of the configuration, in their own order.
    sqlx::query(
        "-- replace_config_tasks: make room
        UPDATE tasks SET position = position + $1 WHERE origin = 'api'",
    )
    .bind(i64::try_from(tasks.len()).unwrap_or(i64::MAX))
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    sqlx::query(
        "-- replace_config_tasks: new and changed ones
        INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed,
                           requires_driver, requires_version, requires_bundle, spec, event_config,
                           created_at, updated_at)
        SELECT n.name, n.position, 'config', n.enabled, n.skip_unchanged, n.retry_failed,
               n.driver, n.version, n.bundle, n.spec, n.event_config, $11, $11
        FROM unnest($1::TEXT[], $2::BIGINT[], $3::BOOLEAN[], $4::BOOLEAN[], $5::BOOLEAN[],
                    $6::TEXT[], $7::TEXT[], $8::BOOLEAN[], $9::TEXT[], $10::TEXT[])
             AS n (name, position, enabled, skip_unchanged, retry_failed,
                   driver, version, bundle, spec, event_config)
        ON CONFLICT (name) DO UPDATE
        SET position = excluded.position,
            origin = 'config',
            enabled = excluded.enabled,
            skip_unchanged = excluded.skip_unchanged,
            retry_failed = excluded.retry_failed,
            requires_driver = excluded.requires_driver,
            requires_version = excluded.requires_version,
            requires_bundle = excluded.requires_bundle,
            spec = excluded.spec,
            event_config = excluded.event_config,
            updated_at = excluded.updated_at",
    )
    .bind(&columns.names)
    .bind(&columns.positions)
    .bind(&columns.enabled)
    .bind(&columns.skip_unchanged)
    .bind(&columns.retry_failed)
    .bind(&columns.drivers)
    .bind(&columns.versions)
    .bind(&columns.bundles)
    .bind(&columns.specs)
    .bind(&columns.event_configs)
    .bind(now)
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    transaction.commit().await.map_err(&write)?;
    Ok(())
}

/// What the events of a task tell of it.
pub(crate) fn event_config(task: &TaskSpec) -> EventConfig {
    let providers = task.definition.providers.iter();
    EventConfig {
        providers: providers.map(ToString::to_string).collect(),
        services: task.definition.services.clone(),
        source: task.definition.module_source.clone(),
    }
}

pub(crate) async fn all(connection: &mut PgConnection) -> Result<Vec<StoredTask>, StoreError> {
    let rows = sqlx::query(
        "-- tasks
        SELECT name, origin, spec FROM tasks ORDER BY position, name",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the tasks"))?;
    rows.iter().map(stored_task).collect()
}

pub(crate) async fn one(
    connection: &mut PgConnection,
    name: &TaskName,
) -> Result<Option<StoredTask>, StoreError> {
    let row = sqlx::query(
        "-- task
        SELECT name, origin, spec FROM tasks WHERE name = $1",
    )
    .bind(name.as_str())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read a task"))?;
    row.as_ref().map(stored_task).transpose()
}

fn stored_task(row: &PgRow) -> Result<StoredTask, StoreError> {
    let read = failed_to("read a task");
    let name: &str = row.try_get("name").map_err(&read)?;
    let cell = |column| Cell {
        table: "tasks",
        column,
        row: name,
    };
    let origin: &str = row.try_get("origin").map_err(&read)?;
    let spec: &str = row.try_get("spec").map_err(&read)?;
    Ok(StoredTask {
        spec: cell("spec").json(spec)?,
        origin: cell("origin").origin(origin)?,
    })
}
