//! Stored tasks. Writers have locked the task.
//!
//! Runs, events and logs outlive their task, ticks do not. A task has an *incarnation*, which its runs and events
//! carry: a task that reuses an old name begins with an empty status.

use cts_core::{Digest, EventConfig, RunId, TaskName, TaskSpec};
use cts_store::cell::encoded;
use cts_store::{NewTask, StoreError, StoredTask, TaskVersion, decode};
use serde_json::json;

use crate::{Connection, Statement, sql, text_if_any};

/// Columns of a task that are derived from its declaration, with their types.
const DECLARED: [(&str, &str); 11] = [
    ("enabled", "BOOLEAN"),
    ("skip_unchanged", "BOOLEAN"),
    ("retry_failed", "BOOLEAN"),
    ("requires_driver", "TEXT"),
    ("requires_version", "TEXT"),
    ("requires_bundle", "BOOLEAN"),
    ("concurrency_group", "TEXT"),
    ("approval", "TEXT"),
    ("api_approval", "TEXT"),
    ("spec", "TEXT"),
    ("event_config", "TEXT"),
];

/// The declared columns of a task, and further columns that a statement needs.
fn row(
    task: &TaskSpec,
    position: i64,
    configured: Option<Digest>,
) -> Result<serde_json::Value, StoreError> {
    Ok(json!({
        "name": task.name(),
        "position": position,
        "configured": configured,
        "enabled": task.enabled,
        "skip_unchanged": task.file_settings.skip_unchanged,
        "retry_failed": task.file_settings.retry_failed,
        "requires_driver": task.requirement.driver,
        "requires_version": task.requirement.version,
        "requires_bundle": task.requirement.bundle,
        "concurrency_group": task.file_settings.concurrency_group,
        "approval": task.file_settings.approval,
        "api_approval": task.api_approval,
        "spec": encoded("encode a task", task)?,
        "event_config": encoded("encode a task", &EventConfig::of(task))?,
    }))
}

/// A statement about the rows `n` of its first argument.
///
/// In its text, `{declared}` is replaced by the declared columns, `{n.declared}` and `{excluded.declared}` by their
/// new values, and `{tasks}` by the table.
fn about_rows<'a>(
    operation: &'static str,
    text: &str,
    rows: &[serde_json::Value],
) -> Statement<'a> {
    let columns = |prefix: &str| {
        let columns = DECLARED.map(|(column, _)| format!("{prefix}{column}"));
        columns.join(", ")
    };
    let types = DECLARED
        .map(|(column, kind)| format!("{column} {kind}"))
        .join(", ");
    let rows_of = format!("{{rows $1 n: name TEXT, position BIGINT, configured TEXT, {types}}}");
    let text = text
        .replace("{declared}", &columns(""))
        .replace("{n.declared}", &columns("n."))
        .replace("{excluded.declared}", &columns("excluded."))
        .replace("{tasks}", &rows_of);
    sql(operation, text).bind(json!(rows).to_string())
}

/// Inserts a draft after all other tasks; `false` if its name is in use.
pub(crate) async fn insert_draft(
    c: &mut dyn Connection,
    new: &NewTask,
) -> Result<bool, StoreError> {
    let inserted = about_rows(
        "create a task",
        "-- create_task
        INSERT INTO tasks (name, incarnation, position, origin, {declared}, phase, creation,
                           creation_run, created_at, updated_at)
        SELECT n.name, {incarnation n.name}, (SELECT coalesce(max(position) + 1, 0) FROM tasks), 'api',
               {n.declared}, 'creating', $2, $3, {now}, {now}
        FROM {tasks} WHERE TRUE
        ON CONFLICT (name) DO NOTHING",
        &[row(&new.spec, 0, None)?],
    );
    let inserted = inserted.bind(new.creation.as_str()).bind(new.run);
    Ok(inserted.execute(c).await? == 1)
}

/// Writes the declaration of an existing task.
pub(crate) async fn write_spec(
    c: &mut dyn Connection,
    task: &TaskSpec,
    revision: u64,
) -> Result<(), StoreError> {
    let written = about_rows(
        "store a task",
        "-- a task is declared anew
        UPDATE tasks
        SET ({declared}) = ({n.declared}), revision = $2, updated_at = {now},
            cancelled_input = CASE WHEN n.enabled AND NOT tasks.enabled THEN NULL ELSE cancelled_input END
        FROM {tasks}
        WHERE tasks.name = n.name",
        &[row(task, 0, None)?],
    );
    written.bind(revision).execute(c).await?;
    Ok(())
}

/// Tasks of the configuration that take effect: the task, its position and its declaration.
#[derive(Debug, Default)]
pub(crate) struct Configured(Vec<serde_json::Value>);

impl Configured {
    pub(crate) fn add(
        &mut self,
        task: &TaskSpec,
        position: i64,
        declaration: Digest,
    ) -> Result<(), StoreError> {
        self.0.push(row(task, position, Some(declaration))?);
        Ok(())
    }

    /// Stores the tasks as declared, whatever was stored.
    pub(crate) async fn take_effect(&self, c: &mut dyn Connection) -> Result<(), StoreError> {
        about_rows(
            "store the configured tasks",
            "-- replace_config_tasks: new and changed ones
            INSERT INTO tasks (name, incarnation, position, origin, {declared}, configured, created_at,
                               updated_at)
            SELECT n.name, {incarnation n.name}, n.position, 'config', {n.declared}, n.configured, {now},
                   {now}
            FROM {tasks} WHERE TRUE
            ON CONFLICT (name) DO UPDATE
            SET ({declared}) = ({excluded.declared}),
                position = excluded.position,
                origin = 'config',
                cancelled_input = CASE WHEN excluded.enabled AND NOT tasks.enabled THEN NULL
                                  ELSE tasks.cancelled_input END,
                revision = tasks.revision + CASE WHEN tasks.spec <> excluded.spec THEN 1 ELSE 0 END,
                configured = excluded.configured,
                phase = 'ready',
                creation = NULL,
                creation_run = NULL,
                updated_at = excluded.updated_at",
            &self.0,
        )
        .execute(c)
        .await?;
        Ok(())
    }
}

/// Removes tasks. Their runs and events stay, and their queued runs are cancelled. No run of the tasks is running.
pub async fn remove(c: &mut dyn Connection, names: &[&str]) -> Result<(), StoreError> {
    if names.is_empty() {
        return Ok(());
    }
    let cancelled = sql(
        "cancel queued runs",
        "-- tasks go: queued runs; index runs_waiting
        UPDATE runs SET status = 'cancelled', finished_at = {now}, updated_at = {now}
        WHERE task_name {in $1} AND status = 'queued'",
    );
    cancelled.bind(names).execute(c).await?;
    let removed = sql(
        "remove tasks",
        "-- tasks go\nDELETE FROM tasks WHERE name {in $1}",
    );
    removed.bind(names).execute(c).await?;
    Ok(())
}

/// Reads the visible tasks.
pub async fn all(c: &mut dyn Connection) -> Result<Vec<StoredTask>, StoreError> {
    sql(
        "read the tasks",
        "-- tasks
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE phase IN ('ready', 'deleting')
        ORDER BY position, name",
    )
    .all(c, decode::stored_task)
    .await
}

/// Reads the versions of the visible tasks, and of drafts whose run has not ended.
pub async fn marks(c: &mut dyn Connection) -> Result<Vec<TaskVersion>, StoreError> {
    sql(
        "read the tasks",
        "-- task_marks
        SELECT name, incarnation, revision, phase, enabled, held IS NOT NULL AS is_held FROM tasks
        WHERE phase IN ('creating', 'ready', 'deleting')
        ORDER BY name",
    )
    .all(c, decode::task_mark)
    .await
}

/// Reads the tasks with these names that are visible or being created.
pub async fn named(
    c: &mut dyn Connection,
    names: &[TaskName],
) -> Result<Vec<StoredTask>, StoreError> {
    sql(
        "read the tasks",
        "-- tasks_named
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE name {in $1} AND phase IN ('creating', 'ready', 'deleting')",
    )
    .bind(names)
    .all(c, decode::stored_task)
    .await
}

/// Reads a visible task.
pub async fn one(
    c: &mut dyn Connection,
    name: &TaskName,
) -> Result<Option<StoredTask>, StoreError> {
    sql(
        "read a task",
        "-- task
        SELECT name, origin, phase, revision, spec, destroy_run,
               destruction_suspended_at
        FROM tasks
        WHERE name = $1 AND phase IN ('ready', 'deleting')",
    )
    .bind(name)
    .optional(c, decode::stored_task)
    .await
}

/// Forgets the discarded task that `run` was to create.
pub async fn drop_draft(
    c: &mut dyn Connection,
    name: &TaskName,
    run: RunId,
) -> Result<(), StoreError> {
    let dropped = sql(
        "forget a draft",
        "-- drop_draft
        DELETE FROM tasks WHERE name = $1 AND phase = 'discarded' AND creation_run = $2",
    );
    dropped.bind(name).bind(run).execute(c).await?;
    Ok(())
}

/// Notes why these tasks ran or do not run.
pub async fn explain(
    c: &mut dyn Connection,
    explanations: &[(TaskName, String)],
) -> Result<(), StoreError> {
    let names: Vec<&str> = explanations.iter().map(|(name, _)| name.as_str()).collect();
    sql(
        "note explanations",
        "-- explain: the tasks, in order
        SELECT 1 FROM tasks WHERE name = ANY ($1) ORDER BY name FOR NO KEY UPDATE",
    )
    .bind(&*names)
    .on_postgres(c)
    .await?;
    let rows = explanations.iter();
    let rows = rows.map(|(name, text)| json!({"name": name, "text": text}));
    sql(
        "note explanations",
        "-- explain
        UPDATE tasks SET explanation = n.text FROM {rows $1 n: name TEXT, text TEXT}
        WHERE tasks.name = n.name",
    )
    .bind(rows.collect::<serde_json::Value>().to_string())
    .execute(c)
    .await?;
    Ok(())
}

/// Reads the last explanation of a visible task.
pub async fn explanation(
    c: &mut dyn Connection,
    name: &TaskName,
) -> Result<Option<String>, StoreError> {
    let text = sql(
        "read an explanation",
        "-- explanation
        SELECT explanation AS value FROM tasks WHERE name = $1 AND phase IN ('ready', 'deleting')",
    );
    let text = text.bind(name).optional(c, text_if_any).await?;
    Ok(text.flatten())
}
