//! Guards of tasks against the loss of instances.

use cts_core::{Digest, Hold, TaskName};
use cts_store::enqueue::GuardChange;
use cts_store::{Guarded, StoreError, TaskError};
use sqlx::{Connection as _, PgConnection, PgTransaction};

use crate::row::{Cell, encoded, failed_to};

const OPERATION: &str = "store what a guard holds";

/// Writes what changes of the guards of these tasks.
pub(crate) async fn write(
    transaction: &mut PgTransaction<'_>,
    changes: &[(&str, GuardChange)],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let (mut tasks, mut holds, mut forgets) = (Vec::new(), Vec::new(), Vec::new());
    for (task, change) in changes {
        let held = change.held.as_ref();
        tasks.push(*task);
        holds.push(held.map(|hold| encoded(OPERATION, hold)).transpose()?);
        forgets.push(change.forgets);
    }
    sqlx::query(
        "-- enqueue: guards
        UPDATE tasks t
        SET held = n.held,
            applied_instances = CASE WHEN n.forgets THEN NULL ELSE t.applied_instances END
        FROM unnest($1::TEXT[], $2::TEXT[], $3::BOOLEAN[]) AS n (task, held, forgets)
        WHERE t.name = n.task",
    )
    .bind(tasks)
    .bind(holds)
    .bind(forgets)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Notes how many instances each service has in these inputs, which is said once of each.
pub(crate) async fn note_instances(
    transaction: &mut PgTransaction<'_>,
    inputs: &[(Digest, &Guarded)],
) -> Result<(), StoreError> {
    if inputs.is_empty() {
        return Ok(());
    }
    let (mut hashes, mut instances) = (Vec::new(), Vec::new());
    for (hash, guarded) in inputs {
        hashes.push(hash.to_string());
        instances.push(encoded(OPERATION, &guarded.counts)?);
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

/// What is held counts as applied from now on.
pub(crate) async fn release(
    connection: &mut PgConnection,
    task: &TaskName,
) -> Result<Option<Hold>, TaskError> {
    let failed = failed_to("release a task");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let held: Option<Option<String>> = sqlx::query_scalar(
        "-- release
        SELECT held FROM tasks WHERE name = $1 AND phase IN ('ready', 'deleting')
        FOR NO KEY UPDATE",
    )
    .bind(task.as_str())
    .fetch_optional(&mut *transaction)
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
        UPDATE tasks SET applied_instances = $2, held = NULL WHERE name = $1",
    )
    .bind(task.as_str())
    .bind(encoded("release a task", &hold.counts)?)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(Some(hold))
}
