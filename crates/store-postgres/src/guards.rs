//! Shrink limits: tasks that lose too many instances are blocked.

use cts_core::{Blocked, Digest, InstanceCounts, Loss, TaskName};
use cts_store::enqueue::{GuardChange, GuardedTask, instances_of};
use cts_store::{StoreError, StoredInput, TaskError};
use sqlx::{Connection as _, PgConnection, PgTransaction};

use crate::inputs;
use crate::row::{Cell, by, encoded, failed_to};

const OPERATION: &str = "store what a guard holds";

/// Writes the changes of the shrink limits of these tasks.
pub(crate) async fn write(
    transaction: &mut PgTransaction<'_>,
    changes: &[(&str, GuardChange)],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let (mut tasks, mut holds, mut forgets) = (Vec::new(), Vec::new(), Vec::new());
    let mut released = Vec::new();
    for (task, change) in changes {
        let held = change.held.as_ref();
        tasks.push(*task);
        holds.push(held.map(|hold| encoded(OPERATION, hold)).transpose()?);
        forgets.push(change.forgets);
        released.push(stored_counts(change.released.as_ref())?);
    }
    sqlx::query(
        "-- enqueue: guards
        UPDATE tasks t
        SET held = n.held, released_instances = n.released,
            applied_instances = CASE WHEN n.forgets THEN NULL ELSE t.applied_instances END
        FROM unnest($1::TEXT[], $2::TEXT[], $3::BOOLEAN[], $4::TEXT[])
            AS n (task, held, forgets, released)
        WHERE t.name = n.task",
    )
    .bind(tasks)
    .bind(holds)
    .bind(forgets)
    .bind(released)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Notes the number of instances of each service in these inputs, once for each input.
pub(crate) async fn note_instances(
    transaction: &mut PgTransaction<'_>,
    inputs: &[(Digest, &InstanceCounts)],
) -> Result<(), StoreError> {
    if inputs.is_empty() {
        return Ok(());
    }
    let (mut hashes, mut instances) = (Vec::new(), Vec::new());
    for (hash, counts) in inputs {
        hashes.push(hash.to_string());
        instances.push(encoded(OPERATION, counts)?);
    }
    sqlx::query(
        "-- enqueue: instances of inputs
        UPDATE inputs i SET instances = n.instances
        FROM unnest($1::TEXT[], $2::TEXT[]) AS n (hash, instances)
        WHERE i.hash = n.hash AND i.instances IS NULL",
    )
    .bind(hashes)
    .bind(instances)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

fn stored_counts(counts: Option<&InstanceCounts>) -> Result<Option<String>, StoreError> {
    counts.map(|counts| encoded(OPERATION, counts)).transpose()
}

/// Counts the instances of the last applied and the running inputs of these tasks, where they are not stored
/// because the tasks had no shrink limit then. The caller has locked them.
pub(crate) async fn count_known(
    transaction: &mut PgTransaction<'_>,
    tasks: &[&str],
) -> Result<(), StoreError> {
    if tasks.is_empty() {
        return Ok(());
    }
    let read = failed_to("count the instances of inputs");
    let unknown: Vec<(String, String, bool)> = sqlx::query_as(
        "-- enqueue: inputs without counts; index runs_one_running
        SELECT t.name, n.hash, n.applied
        FROM unnest($1::TEXT[]) AS u (task)
        JOIN tasks t ON t.name = u.task
        CROSS JOIN LATERAL (
            SELECT t.last_applied AS hash, TRUE AS applied
            WHERE t.applied_instances IS NULL AND t.last_applied IS NOT NULL
            UNION ALL
            SELECT r.input_hash, FALSE
            FROM (SELECT input_hash FROM runs WHERE task_name = t.name AND status = 'running'
                  AND kind = 'apply' LIMIT 1) r
            JOIN inputs i ON i.hash = r.input_hash
            WHERE i.instances IS NULL) n",
    )
    .bind(tasks)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&read)?;
    for (task, hash, applied) in unknown {
        let cell = Cell {
            table: "tasks",
            column: "last_applied",
            row: &task,
        };
        let hash = cell.parse(&hash)?;
        let Some(StoredInput::Contents(hashes)) = inputs::read(transaction, hash).await? else {
            continue;
        };
        let contents = inputs::contents(transaction, &hashes).await?;
        let Some(counts) = instances_of(&hashes, &contents) else {
            continue;
        };
        note_instances(transaction, &[(hash, &counts)]).await?;
        if applied {
            sqlx::query(
                "-- enqueue: what was applied without a guard
                UPDATE tasks SET applied_instances = $2 WHERE name = $1",
            )
            .bind(&task)
            .bind(encoded(OPERATION, &counts)?)
            .execute(&mut **transaction)
            .await
            .map_err(&read)?;
        }
    }
    Ok(())
}

/// Evaluates the block and the rest of a release again, because an attempt has ended. Returns whether that
/// changes anything. The caller has locked the task.
pub(crate) async fn look_again(
    transaction: &mut PgTransaction<'_>,
    task: &str,
) -> Result<bool, StoreError> {
    let change = guarded(transaction, task).await?;
    let change = change.and_then(|guarded| guarded.again());
    let is_other = change.is_some();
    let change: Vec<_> = change.map(|change| (task, change)).into_iter().collect();
    write(transaction, &change).await?;
    Ok(is_other)
}

/// A task that the shrink limit blocks, or that was released.
async fn guarded(
    transaction: &mut PgTransaction<'_>,
    task: &str,
) -> Result<Option<GuardedTask>, StoreError> {
    let row = sqlx::query(
        "-- complete, release: a guard; index runs_one_running
        SELECT t.name, t.spec, t.held, t.applied_instances, t.released_instances,
               (SELECT i.instances FROM runs r JOIN inputs i ON i.hash = r.input_hash
                WHERE r.task_name = t.name AND r.status = 'running' AND r.kind = 'apply'
                LIMIT 1) AS running_instances
        FROM tasks t
        WHERE t.name = $1 AND (t.held IS NOT NULL OR t.released_instances IS NOT NULL)",
    )
    .bind(task)
    .fetch_optional(&mut **transaction)
    .await
    .map_err(failed_to("look at a guard"))?;
    row.as_ref().map(by(GuardedTask::read)).transpose()
}

/// Releases a blocked task: the losses that block it count as applied from now on, unless the task has lost
/// more than the caller has `seen`.
pub(crate) async fn release(
    connection: &mut PgConnection,
    task: &TaskName,
    seen: Option<&[Loss]>,
) -> Result<Option<Blocked>, TaskError> {
    let failed = failed_to("release a task");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let is_there = sqlx::query(
        "-- release
        SELECT FROM tasks WHERE name = $1 AND phase IN ('ready', 'deleting')
        FOR NO KEY UPDATE",
    )
    .bind(task.as_str())
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    if is_there.rows_affected() == 0 {
        return Err(TaskError::Unknown);
    }
    let guarded = guarded(&mut transaction, task.as_str()).await?;
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
        UPDATE tasks SET applied_instances = $2, released_instances = $3, held = NULL
        WHERE name = $1",
    )
    .bind(task.as_str())
    .bind(stored_counts(baseline.applied.as_ref())?)
    .bind(stored_counts(baseline.released.as_ref())?)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(Some(hold))
}
