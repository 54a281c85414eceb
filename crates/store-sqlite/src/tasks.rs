//! Tasks as they are stored.

use cts_core::{Creation, Digest, EventConfig, RunId, TaskName, TaskOrigin, TaskPhase, TaskSpec};
use cts_store::decode;
use cts_store::{StoreError, StoredTask, TaskVersion};
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::row::{by, encoded, failed_to};

/// A task that is not there yet.
pub(crate) struct NewRow<'a> {
    pub(crate) spec: &'a TaskSpec,
    pub(crate) position: i64,
    pub(crate) origin: TaskOrigin,
    pub(crate) configured: Option<Digest>,
    /// Change of the task when this run ends; `None` for a task that exists from the beginning.
    pub(crate) draft: Option<(Creation, RunId)>,
}

pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    row: &NewRow<'_>,
    now: i64,
) -> Result<(), StoreError> {
    let task = row.spec;
    let phase = match row.draft {
        Some(_) => TaskPhase::Creating,
        None => TaskPhase::Ready,
    };
    sqlx::query(
        "-- a new task
        INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed, spec,
                           event_config, requires_driver, requires_version, requires_bundle,
                           configured, phase, creation, creation_run, created_at, updated_at,
                           concurrency_group, incarnation)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?16, ?17,
                (SELECT coalesce(max(incarnation), 0) + 1 FROM runs WHERE task_name = ?1))",
    )
    .bind(task.name().as_str())
    .bind(row.position)
    .bind(row.origin.as_str())
    .bind(task.enabled)
    .bind(task.file_settings.skip_unchanged)
    .bind(task.file_settings.retry_failed)
    .bind(encoded("encode a task", task)?)
    .bind(encoded("encode a task", &EventConfig::of(task))?)
    .bind(&task.requirement.driver)
    .bind(&task.requirement.version)
    .bind(task.requirement.bundle)
    .bind(row.configured.map(|digest| digest.to_string()))
    .bind(phase.as_str())
    .bind(row.draft.map(|(creation, _)| creation.as_str()))
    .bind(row.draft.map(|(_, run)| run.to_string()))
    .bind(now)
    .bind(&task.file_settings.concurrency_group)
    .execute(connection)
    .await
    .map_err(failed_to("store a task"))?;
    Ok(())
}

/// Writes the declaration of an existing task.
pub(crate) async fn write_spec(
    connection: &mut SqliteConnection,
    task: &TaskSpec,
    revision: u64,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- a task is declared anew
        UPDATE tasks
        SET enabled = ?2, skip_unchanged = ?3, retry_failed = ?4, spec = ?5, event_config = ?6,
            requires_driver = ?7, requires_version = ?8, requires_bundle = ?9, revision = ?10,
            updated_at = ?11, concurrency_group = ?12,
            cancelled_input = CASE WHEN ?2 AND NOT enabled THEN NULL ELSE cancelled_input END
        WHERE name = ?1",
    )
    .bind(task.name().as_str())
    .bind(task.enabled)
    .bind(task.file_settings.skip_unchanged)
    .bind(task.file_settings.retry_failed)
    .bind(encoded("encode a task", task)?)
    .bind(encoded("encode a task", &EventConfig::of(task))?)
    .bind(&task.requirement.driver)
    .bind(&task.requirement.version)
    .bind(task.requirement.bundle)
    .bind(i64::try_from(revision).unwrap_or(i64::MAX))
    .bind(now)
    .bind(&task.file_settings.concurrency_group)
    .execute(connection)
    .await
    .map_err(failed_to("store a task"))?;
    Ok(())
}

/// Removes a task. Its runs and events stay, and its queued runs are cancelled. Nothing of it may be running.
pub(crate) async fn remove(
    connection: &mut SqliteConnection,
    name: &str,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- a task goes: what is queued; index runs_waiting
        UPDATE runs SET status = 'cancelled', finished_at = ?1, updated_at = ?1
        WHERE task_name = ?2 AND status = 'queued'",
    )
    .bind(now)
    .bind(name)
    .execute(&mut *connection)
    .await
    .map_err(failed_to("cancel queued runs"))?;
    sqlx::query("-- a task goes\nDELETE FROM tasks WHERE name = ?")
        .bind(name)
        .execute(connection)
        .await
        .map_err(failed_to("remove a task"))?;
    Ok(())
}

/// Reads the visible tasks.
pub(crate) async fn all(executor: impl SqliteExecutor<'_>) -> Result<Vec<StoredTask>, StoreError> {
    let rows = sqlx::query(
        "-- tasks
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE phase IN ('ready', 'deleting')
        ORDER BY position, name",
    )
    .fetch_all(executor)
    .await
    .map_err(failed_to("read the tasks"))?;
    rows.iter().map(by(decode::stored_task)).collect()
}

/// Reads the marks of the visible tasks, and of drafts whose run has not ended.
pub(crate) async fn marks(
    executor: impl SqliteExecutor<'_>,
) -> Result<Vec<TaskVersion>, StoreError> {
    let rows = sqlx::query(
        "-- task_marks
        SELECT name, incarnation, revision, phase, enabled, held IS NOT NULL AS is_held FROM tasks
        WHERE phase IN ('creating', 'ready', 'deleting')
        ORDER BY name",
    )
    .fetch_all(executor)
    .await
    .map_err(failed_to("read the tasks"))?;
    rows.iter().map(by(decode::task_mark)).collect()
}

pub(crate) async fn named(
    executor: impl SqliteExecutor<'_>,
    names: &[TaskName],
) -> Result<Vec<StoredTask>, StoreError> {
    let rows = sqlx::query(
        "-- tasks_named
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE name IN (SELECT value FROM json_each(?)) AND phase IN ('creating', 'ready', 'deleting')",
    )
    .bind(serde_json::json!(names).to_string())
    .fetch_all(executor)
    .await
    .map_err(failed_to("read the tasks"))?;
    rows.iter().map(by(decode::stored_task)).collect()
}

pub(crate) async fn one(
    executor: impl SqliteExecutor<'_>,
    name: &TaskName,
) -> Result<Option<StoredTask>, StoreError> {
    let row = sqlx::query(
        "-- task
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE name = ? AND phase IN ('ready', 'deleting')",
    )
    .bind(name.as_str())
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read a task"))?;
    row.as_ref().map(by(decode::stored_task)).transpose()
}

pub(crate) async fn explain(
    connection: &mut SqliteConnection,
    explanations: &[(TaskName, String)],
) -> Result<(), StoreError> {
    for (name, text) in explanations {
        sqlx::query("-- explain\nUPDATE tasks SET explanation = ? WHERE name = ?")
            .bind(text)
            .bind(name.as_str())
            .execute(&mut *connection)
            .await
            .map_err(failed_to("note an explanation"))?;
    }
    Ok(())
}

pub(crate) async fn explanation(
    executor: impl SqliteExecutor<'_>,
    name: &TaskName,
) -> Result<Option<String>, StoreError> {
    let text: Option<Option<String>> = sqlx::query_scalar(
        "-- explanation
        SELECT explanation FROM tasks WHERE name = ? AND phase IN ('ready', 'deleting')",
    )
    .bind(name.as_str())
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read an explanation"))?;
    Ok(text.flatten())
}
