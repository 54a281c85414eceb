//! Guards of tasks against the loss of instances.

use cts_core::{Hold, TaskName};
use cts_store::enqueue::GuardChange;
use cts_store::{StoreError, TaskError};
use sqlx::SqliteConnection;

use crate::row::{Cell, encoded, failed_to};

const OPERATION: &str = "store what a guard holds";

pub(crate) async fn write(
    connection: &mut SqliteConnection,
    task: &str,
    change: &GuardChange,
) -> Result<(), StoreError> {
    let held = change.held.as_ref();
    let held = held.map(|hold| encoded(OPERATION, hold)).transpose()?;
    sqlx::query(
        "-- enqueue: the guard
        UPDATE tasks
        SET held = ?2, applied_instances = CASE WHEN ?3 THEN NULL ELSE applied_instances END
        WHERE name = ?1",
    )
    .bind(task)
    .bind(held)
    .bind(change.forgets)
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// What is held counts as applied from now on.
pub(crate) async fn release(
    connection: &mut SqliteConnection,
    task: &TaskName,
) -> Result<Option<Hold>, TaskError> {
    let failed = failed_to("release a task");
    let held: Option<Option<String>> = sqlx::query_scalar(
        "-- release
        SELECT held FROM tasks WHERE name = ? AND phase IN ('ready', 'deleting')",
    )
    .bind(task.as_str())
    .fetch_optional(&mut *connection)
    .await
    .map_err(&failed)?;
    let Some(held) = held.ok_or(TaskError::Unknown)? else {
        return Ok(None);
    };
    let cell = Cell {
        table: "tasks",
        column: "held",
        row: task.as_str(),
    };
    let hold: Hold = cell.json(&held)?;
    sqlx::query(
        "-- release: it counts as applied
        UPDATE tasks SET applied_instances = ?, held = NULL WHERE name = ?",
    )
    .bind(encoded("release a task", &hold.counts)?)
    .bind(task.as_str())
    .execute(connection)
    .await
    .map_err(&failed)?;
    Ok(Some(hold))
}
