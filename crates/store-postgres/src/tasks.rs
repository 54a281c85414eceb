//! Tasks as they are stored.

use cts_core::{EventConfig, LeaderEpoch, RunId, TaskName, TaskSpec};
use cts_store::decode;
use cts_store::{LeaderError, NewTask, StoreError, StoredTask, TaskVersion};
use sqlx::{Connection as _, PgConnection, PgTransaction};

use crate::leadership;
use crate::row::{by, encoded, failed_to};

/// Inserts a draft after all other tasks; `false` if its name is in use.
pub(crate) async fn insert_draft(
    transaction: &mut PgTransaction<'_>,
    new: &NewTask,
) -> Result<bool, StoreError> {
    let task = &new.spec;
    let inserted = sqlx::query(
        "-- create_task
        INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed,
                           requires_driver, requires_version, requires_bundle, spec, event_config,
                           phase, creation, creation_run, concurrency_group, created_at,
                           updated_at)
        VALUES ($1, (SELECT coalesce(max(position) + 1, 0) FROM tasks), 'api', $2, $3, $4, $5, $6,
                $7, $8, $9, 'creating', $10, $11, $12, cts_now(), cts_now())
        ON CONFLICT (name) DO NOTHING",
    )
    .bind(task.name().as_str())
    .bind(task.enabled)
    .bind(task.file_settings.skip_unchanged)
    .bind(task.file_settings.retry_failed)
    .bind(&task.requirement.driver)
    .bind(&task.requirement.version)
    .bind(task.requirement.bundle)
    .bind(encoded("encode a task", task)?)
    .bind(encoded("encode a task", &EventConfig::of(task))?)
    .bind(new.creation.as_str())
    .bind(new.run.as_uuid())
    .bind(&task.file_settings.concurrency_group)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("create a task"))?;
    Ok(inserted.rows_affected() == 1)
}

/// Writes the declaration of an existing task.
pub(crate) async fn write_spec(
    transaction: &mut PgTransaction<'_>,
    task: &TaskSpec,
    revision: u64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- a task is declared anew
        UPDATE tasks
        SET enabled = $2, skip_unchanged = $3, retry_failed = $4, requires_driver = $5,
            requires_version = $6, requires_bundle = $7, spec = $8, event_config = $9,
            revision = $10, concurrency_group = $11, updated_at = cts_now(),
            cancelled_input = CASE WHEN $2 AND NOT enabled THEN NULL ELSE cancelled_input END
        WHERE name = $1",
    )
    .bind(task.name().as_str())
    .bind(task.enabled)
    .bind(task.file_settings.skip_unchanged)
    .bind(task.file_settings.retry_failed)
    .bind(&task.requirement.driver)
    .bind(&task.requirement.version)
    .bind(task.requirement.bundle)
    .bind(encoded("encode a task", task)?)
    .bind(encoded("encode a task", &EventConfig::of(task))?)
    .bind(i64::try_from(revision).unwrap_or(i64::MAX))
    .bind(&task.file_settings.concurrency_group)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("store a task"))?;
    Ok(())
}

/// Removes a task. Its runs and events stay, and its queued runs are cancelled. The caller has locked it, and
/// nothing of it runs.
pub(crate) async fn remove(
    transaction: &mut PgTransaction<'_>,
    name: &str,
) -> Result<(), StoreError> {
    remove_all(transaction, &[name]).await
}

/// As [`remove`].
pub(crate) async fn remove_all(
    transaction: &mut PgTransaction<'_>,
    names: &[&str],
) -> Result<(), StoreError> {
    sqlx::query(
        "-- tasks go; index runs_waiting
        WITH pointless AS (
            UPDATE runs
            SET status = 'cancelled', finished_at = cts_now(), updated_at = cts_now()
            WHERE task_name = ANY ($1) AND status = 'queued')
        DELETE FROM tasks WHERE name = ANY ($1)",
    )
    .bind(names)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("remove tasks"))?;
    Ok(())
}

/// Reads the visible tasks.
pub(crate) async fn all(connection: &mut PgConnection) -> Result<Vec<StoredTask>, StoreError> {
    let rows = sqlx::query(
        "-- tasks
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE phase IN ('ready', 'deleting')
        ORDER BY position, name",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the tasks"))?;
    rows.iter().map(by(decode::stored_task)).collect()
}

/// Reads the marks of the visible tasks, and of drafts whose run has not ended.
pub(crate) async fn marks(connection: &mut PgConnection) -> Result<Vec<TaskVersion>, StoreError> {
    let rows = sqlx::query(
        "-- task_marks
        SELECT name, incarnation, revision, phase, enabled, held IS NOT NULL AS is_held FROM tasks
        WHERE phase IN ('creating', 'ready', 'deleting')
        ORDER BY name",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the tasks"))?;
    rows.iter().map(by(decode::task_mark)).collect()
}

pub(crate) async fn named(
    connection: &mut PgConnection,
    names: &[TaskName],
) -> Result<Vec<StoredTask>, StoreError> {
    let rows = sqlx::query(
        "-- tasks_named
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE name = ANY ($1) AND phase IN ('creating', 'ready', 'deleting')",
    )
    .bind(names.iter().map(TaskName::as_str).collect::<Vec<_>>())
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the tasks"))?;
    rows.iter().map(by(decode::stored_task)).collect()
}

pub(crate) async fn one(
    connection: &mut PgConnection,
    name: &TaskName,
) -> Result<Option<StoredTask>, StoreError> {
    let row = sqlx::query(
        "-- task
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE name = $1 AND phase IN ('ready', 'deleting')",
    )
    .bind(name.as_str())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read a task"))?;
    row.as_ref().map(by(decode::stored_task)).transpose()
}

pub(crate) async fn drop_draft(
    connection: &mut PgConnection,
    name: &TaskName,
    run: RunId,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- drop_draft
        DELETE FROM tasks WHERE name = $1 AND phase = 'discarded' AND creation_run = $2",
    )
    .bind(name.as_str())
    .bind(run.as_uuid())
    .execute(connection)
    .await
    .map_err(failed_to("forget a draft"))?;
    Ok(())
}

pub(crate) async fn explain(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    explanations: &[(TaskName, String)],
) -> Result<(), LeaderError> {
    let write = failed_to("note explanations");
    let mut transaction = connection.begin().await.map_err(&write)?;
    leadership::fence(&mut transaction, leader).await?;
    let names: Vec<&str> = explanations.iter().map(|(name, _)| name.as_str()).collect();
    let texts: Vec<&str> = explanations.iter().map(|(_, text)| text.as_str()).collect();
    sqlx::query(
        "-- explain: the tasks, in order
        SELECT FROM tasks WHERE name = ANY ($1) ORDER BY name FOR NO KEY UPDATE",
    )
    .bind(&names)
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    sqlx::query(
        "-- explain
        UPDATE tasks t SET explanation = n.text
        FROM unnest($1::TEXT[], $2::TEXT[]) AS n (name, text) WHERE t.name = n.name",
    )
    .bind(&names)
    .bind(texts)
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    transaction.commit().await.map_err(&write)?;
    Ok(())
}

pub(crate) async fn explanation(
    connection: &mut PgConnection,
    name: &TaskName,
) -> Result<Option<String>, StoreError> {
    let text: Option<Option<String>> = sqlx::query_scalar(
        "-- explanation
        SELECT explanation FROM tasks WHERE name = $1 AND phase IN ('ready', 'deleting')",
    )
    .bind(name.as_str())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read an explanation"))?;
    Ok(text.flatten())
}
