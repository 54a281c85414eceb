//! Shrink limits: tasks that lose too many instances are blocked.

use cts_core::{Blocked, InstanceCounts, Loss, TaskName};
use cts_store::enqueue::{GuardChange, GuardedTask, instances_of};
use cts_store::{StoreError, StoredInput, TaskError};
use sqlx::SqliteConnection;

use crate::inputs;
use crate::row::{Cell, by, encoded, failed_to};

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
        SET held = ?2, released_instances = ?4,
            applied_instances = CASE WHEN ?3 THEN NULL ELSE applied_instances END
        WHERE name = ?1",
    )
    .bind(task)
    .bind(held)
    .bind(change.forgets)
    .bind(stored_counts(change.released.as_ref())?)
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

fn stored_counts(counts: Option<&InstanceCounts>) -> Result<Option<String>, StoreError> {
    counts.map(|counts| encoded(OPERATION, counts)).transpose()
}

/// Counts the instances of the last applied and the running input, where they are not stored because the task
/// had no shrink limit then.
pub(crate) async fn count_known(
    connection: &mut SqliteConnection,
    task: &str,
) -> Result<(), StoreError> {
    let read = failed_to("count the instances of an input");
    let unknown: Vec<(String, bool)> = sqlx::query_as(
        "-- enqueue: inputs without counts; index runs_one_running
        SELECT hash, applied
        FROM (SELECT last_applied AS hash, TRUE AS applied FROM tasks
              WHERE name = ?1 AND applied_instances IS NULL AND last_applied IS NOT NULL
              UNION ALL
              SELECT r.input_hash, FALSE FROM runs r JOIN inputs i ON i.hash = r.input_hash
              WHERE r.task_name = ?1 AND r.status = 'running' AND r.kind = 'apply'
                AND i.instances IS NULL)",
    )
    .bind(task)
    .fetch_all(&mut *connection)
    .await
    .map_err(&read)?;
    for (hash, applied) in unknown {
        let cell = Cell {
            table: "tasks",
            column: "last_applied",
            row: task,
        };
        let hash = cell.parse(&hash)?;
        let Some(StoredInput::Contents(hashes)) = inputs::read(&mut *connection, hash).await?
        else {
            continue;
        };
        let contents = inputs::contents(&mut *connection, &hashes).await?;
        let Some(counts) = instances_of(&hashes, &contents) else {
            continue;
        };
        inputs::note_instances(connection, hash, &counts).await?;
        if applied {
            sqlx::query(
                "-- enqueue: what was applied without a guard
                UPDATE tasks SET applied_instances = ?2 WHERE name = ?1",
            )
            .bind(task)
            .bind(encoded(OPERATION, &counts)?)
            .execute(&mut *connection)
            .await
            .map_err(&read)?;
        }
    }
    Ok(())
}

/// Evaluates the block and the rest of a release again, because an attempt has ended. Returns whether that
/// changes anything.
pub(crate) async fn look_again(
    connection: &mut SqliteConnection,
    task: &str,
) -> Result<bool, StoreError> {
    let change = guarded(connection, task).await?.and_then(|it| it.again());
    if let Some(change) = &change {
        write(connection, task, change).await?;
    }
    Ok(change.is_some())
}

/// A task that the shrink limit blocks, or that was released.
async fn guarded(
    connection: &mut SqliteConnection,
    task: &str,
) -> Result<Option<GuardedTask>, StoreError> {
    let row = sqlx::query(
        "-- complete, release: a guard; index runs_one_running
        SELECT t.name, t.spec, t.held, t.applied_instances, t.released_instances,
               (SELECT i.instances FROM runs r JOIN inputs i ON i.hash = r.input_hash
                WHERE r.task_name = t.name AND r.status = 'running' AND r.kind = 'apply')
                   AS running_instances
        FROM tasks t
        WHERE t.name = ? AND (t.held IS NOT NULL OR t.released_instances IS NOT NULL)",
    )
    .bind(task)
    .fetch_optional(connection)
    .await
    .map_err(failed_to("look at a guard"))?;
    row.as_ref().map(by(GuardedTask::read)).transpose()
}

/// Releases a blocked task: the losses that block it count as applied from now on, unless the task has lost
/// more than the caller has `seen`.
pub(crate) async fn release(
    connection: &mut SqliteConnection,
    task: &TaskName,
    seen: Option<&[Loss]>,
) -> Result<Option<Blocked>, TaskError> {
    let failed = failed_to("release a task");
    let is_there: bool = sqlx::query_scalar(
        "-- release
        SELECT EXISTS (SELECT 1 FROM tasks WHERE name = ? AND phase IN ('ready', 'deleting'))",
    )
    .bind(task.as_str())
    .fetch_one(&mut *connection)
    .await
    .map_err(&failed)?;
    if !is_there {
        return Err(TaskError::Unknown);
    }
    let guarded = guarded(connection, task.as_str()).await?;
    let Some((hold, baseline)) = guarded.and_then(GuardedTask::release) else {
        return Ok(None);
    };
    if seen.is_some_and(|seen| !hold.is_within(seen)) {
        return Err(TaskError::LostMore {
            losses: hold.losses,
        });
    }
    sqlx::query(
        "-- release: it counts as applied
        UPDATE tasks SET applied_instances = ?, released_instances = ?, held = NULL WHERE name = ?",
    )
    .bind(stored_counts(baseline.applied.as_ref())?)
    .bind(stored_counts(baseline.released.as_ref())?)
    .bind(task.as_str())
    .execute(connection)
    .await
    .map_err(&failed)?;
    Ok(Some(hold))
}
