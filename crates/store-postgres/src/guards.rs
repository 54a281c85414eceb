//! Shrink limits: the changes of many tasks.

use cts_core::{Digest, InstanceCounts};
use cts_store::StoreError;
use cts_store::enqueue::GuardChange;
use sqlx::PgTransaction;

use crate::row::{encoded, failed_to};

const OPERATION: &str = "store what a guard holds";

/// Writes the changed shrink limit states of these tasks.
pub(crate) async fn write(
    transaction: &mut PgTransaction<'_>,
    changes: &[(&str, GuardChange)],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let (mut tasks, mut blocks, mut forgets) = (Vec::new(), Vec::new(), Vec::new());
    let mut released = Vec::new();
    for (task, change) in changes {
        let held = change.held.as_ref();
        tasks.push(*task);
        blocks.push(
            held.map(|blocked| encoded(OPERATION, blocked))
                .transpose()?,
        );
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
    .bind(blocks)
    .bind(forgets)
    .bind(released)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Notes the number of instances of each service in these inputs, unless it is already stored.
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
