//! A ready or leaving task with its activity, locked for a change.

use cts_core::{TaskActivity, TaskName};
use cts_store::fields::Fields;
use cts_store::{StoredTask, TaskError, decode};

use crate::{Connection, sql};

/// A task with its activity.
pub(crate) struct Current {
    pub(crate) task: StoredTask,
    pub(crate) activity: TaskActivity,
    pub(crate) configured: Option<String>,
}

/// Reads the task and locks it until the transaction ends.
pub(crate) async fn current(c: &mut dyn Connection, name: &TaskName) -> Result<Current, TaskError> {
    sql(
        "read a task",
        "-- change_task, delete_task: the task\nSELECT 1 FROM tasks WHERE name = $1 FOR UPDATE",
    )
    .bind(name)
    .on_postgres(c)
    .await?;
    let current = sql(
        "read a task",
        "-- change_task, delete_task: what it is at; indexes runs_one_running, runs_waiting, run_requests_task
        SELECT t.name, t.origin, t.phase, t.revision, t.spec, t.configured, t.destroy_run,
               t.destruction_suspended_at,
               EXISTS (SELECT 1 FROM runs r
                       WHERE r.task_name = t.name AND r.status = 'running'
                         AND r.waiting_for IS NULL) AS running,
               NOT t.enabled AND EXISTS (
                   SELECT 1 FROM runs r
                   WHERE r.task_name = t.name AND r.status = 'running' AND r.kind = 'check'
                     AND r.destroys IS NULL) AS checks,
               EXISTS (SELECT 1 FROM runs r
                       WHERE r.task_name = t.name AND r.status = 'running'
                         AND r.waiting_for IS NOT NULL) AS waits,
               EXISTS (SELECT 1 FROM runs r
                       WHERE r.task_name = t.name AND r.status = 'queued'
                         AND (t.enabled OR r.kind <> 'apply' OR r.requested)
                         AND (t.enabled OR r.kind <> 'check' OR r.destroys IS NOT NULL)
                         AND (r.due_at <= {now} OR r.attempts > 0)) AS about_to_run,
               EXISTS (SELECT 1 FROM run_requests q
                       WHERE q.task_name = t.name AND q.refused IS NULL
                         AND (t.enabled OR q.kind <> 'check')) AS requested
        FROM tasks t
        WHERE t.name = $1 AND t.phase IN ('ready', 'deleting')",
    );
    let current = current.bind(name).optional(c, |row| {
        let task = decode::stored_task(row)?;
        let row = Fields::new(row, "read a task", "tasks");
        Ok(Current {
            activity: TaskActivity {
                phase: task.phase,
                running: row.flag("running")?,
                checks: row.flag("checks")?,
                waits: row.flag("waits")?,
                about_to_run: row.flag("about_to_run")?,
                requested: row.flag("requested")?,
            },
            configured: row.text_if_any("configured")?.map(str::to_owned),
            task,
        })
    });
    current.await?.ok_or(TaskError::Unknown)
}
