//! The tasks of the configuration, and a storage without any.

use cts_core::{ArchiveId, Digest, EventConfig, LeaderEpoch, TaskName, TaskSpec, Withdrawal};
use cts_store::configured::{self, Configured, Declarations, RECONFIGURED, StoredDeclaration};
use cts_store::{LeaderError, PendingDeletions, StoreError};
use sqlx::{Connection as _, PgConnection, PgTransaction};

use crate::row::{by, encoded, failed_to};
use crate::tasks;
use crate::{archive, changes, leadership};

const OPERATION: &str = "store the configured tasks";

/// Sets a longer time limit, for statements that are as large as the configuration.
const LONG: &str =
    "-- replace_config_tasks, reset_tasks: it may take long\nSET LOCAL statement_timeout = '5min'";

/// The columns of tasks that take effect, one element per task.
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
    groups: Vec<Option<&'a str>>,
    specs: Vec<String>,
    event_configs: Vec<String>,
    configured: Vec<String>,
}

impl<'a> Columns<'a> {
    fn add(
        &mut self,
        position: i64,
        task: &'a TaskSpec,
        declaration: Digest,
    ) -> Result<(), StoreError> {
        self.names.push(task.name().as_str());
        self.positions.push(position);
        self.enabled.push(task.enabled);
        self.skip_unchanged.push(task.file_settings.skip_unchanged);
        self.retry_failed.push(task.file_settings.retry_failed);
        self.drivers.push(&task.requirement.driver);
        self.versions.push(task.requirement.version.as_deref());
        self.bundles.push(task.requirement.bundle);
        self.groups
            .push(task.file_settings.concurrency_group.as_deref());
        self.specs.push(encoded("encode a task", task)?);
        let event_config = encoded("encode a task", &EventConfig::of(task))?;
        self.event_configs.push(event_config);
        self.configured.push(declaration.to_string());
        Ok(())
    }
}

pub(crate) async fn replace_config_tasks(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    tasks: &[TaskSpec],
) -> Result<PendingDeletions, LeaderError> {
    let write = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&write)?;
    let now = leadership::fence(&mut transaction, leader).await?;
    for statement in [
        LONG,
        "-- replace_config_tasks: in order\nSELECT FROM tasks ORDER BY name FOR UPDATE",
    ] {
        sqlx::query(statement)
            .execute(&mut *transaction)
            .await
            .map_err(&write)?;
    }
    let mut unfinished = PendingDeletions {
        deleting: remove_others(&mut transaction, tasks).await?,
        postponed: Vec::new(),
    };
    let declarations = declarations(&mut transaction).await?;
    let mut columns = Columns::default();
    let (mut places, mut placed) = (Vec::new(), Vec::new());
    let mut withdrawn: Vec<(&str, Withdrawal)> = Vec::new();
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
                    tasks::write_spec(&mut transaction, &spec, revision).await?;
                }
                places.push(position);
                placed.push(task.name().as_str());
                withdrawn.extend(withdraws.map(|why| (task.name().as_str(), why)));
            }
            Configured::TakesEffect {
                declaration,
                withdraws,
                ..
            } => {
                columns.add(position, task, declaration)?;
                withdrawn.extend(withdraws.map(|why| (task.name().as_str(), why)));
            }
        }
    }
    take_effect(&mut transaction, columns, now).await?;
    changes::withdraw_applies(&mut transaction, &withdrawn, RECONFIGURED).await?;
    cancel_of_disabled(&mut transaction).await?;
    sqlx::query(
        "-- replace_config_tasks: places
        UPDATE tasks t SET position = n.position
        FROM unnest($1::TEXT[], $2::BIGINT[]) AS n (name, position) WHERE t.name = n.name",
    )
    .bind(placed)
    .bind(places)
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    transaction.commit().await.map_err(&write)?;
    Ok(unfinished)
}

/// Cancels queued runs that no lease takes, and runs that earlier versions have left in the queue of disabled
/// tasks.
async fn cancel_of_disabled(transaction: &mut PgTransaction<'_>) -> Result<(), StoreError> {
    sqlx::query(
        "-- replace_config_tasks: what is queued of disabled tasks; index runs_waiting
        UPDATE runs r SET status = 'cancelled', finished_at = cts_now(), updated_at = cts_now()
        FROM tasks t
        WHERE t.name = r.task_name AND NOT t.enabled AND t.phase = 'ready'
          AND r.status = 'queued' AND r.kind = 'apply' AND NOT r.requested",
    )
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Removes tasks that are no longer configured, and moves API tasks after the configured ones. Returns the
/// tasks that are still being deleted.
async fn remove_others(
    transaction: &mut PgTransaction<'_>,
    tasks: &[TaskSpec],
) -> Result<Vec<TaskName>, StoreError> {
    let write = failed_to(OPERATION);
    let names: Vec<&str> = tasks.iter().map(|task| task.name().as_str()).collect();
    let gone: Vec<(String, bool)> = sqlx::query_as(
        "-- replace_config_tasks: those that are gone
        SELECT name, active_run IS NOT NULL FROM tasks
        WHERE origin = 'config' AND (phase <> 'deleting' OR destroy_run IS NOT NULL)
          AND name <> ALL ($1)",
    )
    .bind(&names)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&write)?;
    let of = |running: bool| {
        let gone = gone.iter().filter(move |(_, runs)| *runs == running);
        gone.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    tasks::remove_all(transaction, &of(false)).await?;
    changes::begin_deletions(transaction, &of(true), None).await?;
    sqlx::query(
        "-- replace_config_tasks: those that were gone already
        DELETE FROM deleted_tasks WHERE name <> ALL ($1)",
    )
    .bind(&names)
    .execute(&mut **transaction)
    .await
    .map_err(&write)?;
    let deleting = sqlx::query(
        "-- replace_config_tasks: those of which something runs
        SELECT name FROM tasks
        WHERE origin = 'config' AND phase = 'deleting' AND name <> ALL ($1)
        ORDER BY name",
    )
    .bind(&names)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&write)?;
    // Tasks of the API come after those of the configuration, in their own order.
    sqlx::query(
        "-- replace_config_tasks: make room
        UPDATE tasks SET position = position + $1 WHERE origin = 'api'",
    )
    .bind(i64::try_from(tasks.len()).unwrap_or(i64::MAX))
    .execute(&mut **transaction)
    .await
    .map_err(&write)?;
    deleting.iter().map(by(configured::name)).collect()
}

pub(crate) async fn declarations(
    connection: &mut PgConnection,
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
    .fetch_all(&mut *connection)
    .await
    .map_err(&read)?;
    let stored: Result<_, _> = stored.iter().map(by(StoredDeclaration::read)).collect();
    let deleted: Result<_, _> = deleted
        .iter()
        .map(by(configured::deleted_declaration))
        .collect();
    Ok(Declarations::new(stored?, deleted?))
}

/// The tasks become as declared, whatever they were.
async fn take_effect(
    transaction: &mut PgTransaction<'_>,
    columns: Columns<'_>,
    now: i64,
) -> Result<(), StoreError> {
    let write = failed_to(OPERATION);
    sqlx::query(
        "-- replace_config_tasks: those that are back
        DELETE FROM deleted_tasks WHERE name = ANY ($1)",
    )
    .bind(&columns.names)
    .execute(&mut **transaction)
    .await
    .map_err(&write)?;
    sqlx::query(
        "-- replace_config_tasks: new and changed ones
        INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed,
                           requires_driver, requires_version, requires_bundle, spec, event_config,
                           configured, concurrency_group, created_at, updated_at)
        SELECT n.name, n.position, 'config', n.enabled, n.skip_unchanged, n.retry_failed,
               n.driver, n.version, n.bundle, n.spec, n.event_config, n.configured,
               n.concurrency_group, $13, $13
        FROM unnest($1::TEXT[], $2::BIGINT[], $3::BOOLEAN[], $4::BOOLEAN[], $5::BOOLEAN[],
                    $6::TEXT[], $7::TEXT[], $8::BOOLEAN[], $9::TEXT[], $10::TEXT[], $11::TEXT[],
                    $12::TEXT[])
             AS n (name, position, enabled, skip_unchanged, retry_failed,
                   driver, version, bundle, spec, event_config, configured, concurrency_group)
        ON CONFLICT (name) DO UPDATE
        SET position = excluded.position,
            origin = 'config',
            enabled = excluded.enabled,
            cancelled_input = CASE WHEN excluded.enabled AND NOT tasks.enabled THEN NULL
                              ELSE tasks.cancelled_input END,
            skip_unchanged = excluded.skip_unchanged,
            retry_failed = excluded.retry_failed,
            requires_driver = excluded.requires_driver,
            requires_version = excluded.requires_version,
            requires_bundle = excluded.requires_bundle,
            concurrency_group = excluded.concurrency_group,
            revision = tasks.revision + (tasks.spec <> excluded.spec)::INTEGER,
            spec = excluded.spec,
            event_config = excluded.event_config,
            configured = excluded.configured,
            phase = 'ready',
            creation = NULL,
            creation_run = NULL,
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
    .bind(&columns.configured)
    .bind(&columns.groups)
    .bind(now)
    .execute(&mut **transaction)
    .await
    .map_err(&write)?;
    Ok(())
}

/// Removes all tasks but those with a running run, which are being deleted from now on. Removed tasks are
/// archived; the runs are left to [`archive::move_runs`].
pub(crate) async fn reset(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    archive: ArchiveId,
) -> Result<PendingDeletions, LeaderError> {
    let write = failed_to("remove every task");
    let mut transaction = connection.begin().await.map_err(&write)?;
    leadership::fence(&mut transaction, leader).await?;
    for statement in [
        LONG,
        "-- reset_tasks: in order\nSELECT FROM tasks ORDER BY name FOR UPDATE",
        "-- reset_tasks: what is queued
        UPDATE runs SET status = 'cancelled', finished_at = cts_now(), updated_at = cts_now()
        WHERE status = 'queued'",
    ] {
        sqlx::query(statement)
            .execute(&mut *transaction)
            .await
            .map_err(&write)?;
    }
    archive::begin(&mut transaction, archive).await?;
    for statement in [
        "-- reset_tasks: requests\nDELETE FROM run_requests",
        "-- reset_tasks: tasks\nDELETE FROM tasks WHERE active_run IS NULL",
        "-- reset_tasks: and what was deleted\nDELETE FROM deleted_tasks",
    ] {
        sqlx::query(statement)
            .execute(&mut *transaction)
            .await
            .map_err(&write)?;
    }
    let left = sqlx::query("-- reset_tasks: what runs\nSELECT name FROM tasks ORDER BY name")
        .fetch_all(&mut *transaction)
        .await
        .map_err(&write)?;
    let deleting: Vec<TaskName> = left
        .iter()
        .map(by(configured::name))
        .collect::<Result<_, _>>()?;
    let names: Vec<&str> = deleting.iter().map(TaskName::as_str).collect();
    changes::begin_deletions(&mut transaction, &names, None).await?;
    transaction.commit().await.map_err(&write)?;
    Ok(PendingDeletions {
        deleting,
        postponed: Vec::new(),
    })
}
