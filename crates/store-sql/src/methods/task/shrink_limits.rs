//! Shrink limits: tasks that lose too many instances are blocked, by their own limit or by the brake of the fleet.

use cts_core::{Blocked, Digest, InstanceCounts, Loss, TaskName};
use cts_store::cell::encoded;
use cts_store::enqueue::{GuardChange, GuardedTask, instances_of};
use cts_store::fields::Fields;
use cts_store::{StoreError, TaskError};
use serde_json::{Value, json};

use crate::{Connection, braked_runs, flag, inputs, sql};

const OPERATION: &str = "store the block of a task";

/// Writes the changed shrink limit states of these tasks.
pub(crate) async fn write(
    c: &mut dyn Connection,
    changes: &[(&str, GuardChange)],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let rows = changes.iter().map(|(task, change)| {
        let held = change.held.as_ref();
        let held = held
            .map(|blocked| encoded(OPERATION, blocked))
            .transpose()?;
        let released = stored_counts(change.released.as_ref())?;
        Ok(json!({"task": task, "held": held, "released": released, "forgets": change.forgets}))
    });
    let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    let written = sql(
        OPERATION,
        "-- enqueue, complete: the shrink limit
        UPDATE tasks
        SET held = n.held, released_instances = n.released,
            applied_instances = CASE WHEN n.forgets THEN NULL ELSE applied_instances END
        FROM {rows $1 n: task TEXT, held TEXT, released TEXT, forgets BOOLEAN}
        WHERE tasks.name = n.task",
    );
    written
        .bind(Value::from(rows).to_string())
        .execute(c)
        .await?;
    Ok(())
}

fn stored_counts(counts: Option<&InstanceCounts>) -> Result<Option<String>, StoreError> {
    counts.map(|counts| encoded(OPERATION, counts)).transpose()
}

/// Notes the number of instances of each service in these inputs, unless it is already stored.
pub(crate) async fn note_instances(
    c: &mut dyn Connection,
    inputs: &[(Digest, &InstanceCounts)],
) -> Result<(), StoreError> {
    if inputs.is_empty() {
        return Ok(());
    }
    let rows = inputs.iter().map(|(hash, counts)| {
        Ok(json!({"hash": hash.to_string(), "instances": encoded(OPERATION, counts)?}))
    });
    let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    let noted = sql(
        OPERATION,
        "-- enqueue: instances of inputs; index inputs_pkey
        UPDATE inputs SET instances = n.instances
        FROM {rows $1 n: hash TEXT, instances TEXT}
        WHERE inputs.hash = n.hash AND inputs.instances IS NULL",
    );
    noted.bind(Value::from(rows).to_string()).execute(c).await?;
    Ok(())
}

/// Counts and notes the instances of an input that was queued without counts; `None` if they cannot be counted.
pub(crate) async fn count(
    c: &mut dyn Connection,
    input: Digest,
) -> Result<Option<InstanceCounts>, StoreError> {
    let Some(hashes) = inputs::read(c, input).await? else {
        return Ok(None);
    };
    let contents = inputs::contents(c, &hashes).await?;
    let counts = instances_of(&hashes, &contents);
    if let Some(counts) = &counts {
        note_instances(c, &[(input, counts)]).await?;
    }
    Ok(counts)
}

/// Counts the instances of the last applied and the running inputs of these tasks, if the counts are missing because
/// the tasks had no shrink limit. The caller has locked the tasks.
pub async fn count_known(c: &mut dyn Connection, tasks: &[&str]) -> Result<(), StoreError> {
    if tasks.is_empty() {
        return Ok(());
    }
    let text = c.dialect().pick(
        "-- enqueue: inputs without counts; index runs_one_running
        SELECT name, last_applied AS hash, TRUE AS applied FROM tasks
        WHERE name {in $1} AND applied_instances IS NULL AND last_applied IS NOT NULL
        UNION ALL
        SELECT r.task_name, r.input_hash, FALSE FROM runs r JOIN inputs i ON i.hash = r.input_hash
        WHERE r.task_name {in $1} AND r.status = 'running' AND r.kind = 'apply' AND i.instances IS NULL",
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
    );
    let unknown = sql("count the instances of inputs", text)
        .bind(tasks)
        .all(c, |row| {
            let row = Fields::new(row, "count the instances of inputs", "tasks").keyed("name")?;
            Ok((
                row.key().to_owned(),
                row.parse_under("hash", "last_applied")?,
                row.flag("applied")?,
            ))
        });
    for (task, hash, applied) in unknown.await? {
        let Some(hash) = hash else { continue };
        let Some(counts) = count(c, hash).await? else {
            continue;
        };
        if applied {
            let counted = sql(
                "count the instances of inputs",
                "-- enqueue: what was applied without a guard
                UPDATE tasks SET applied_instances = $2 WHERE name = $1",
            );
            counted
                .bind(&task)
                .bind(encoded(OPERATION, &counts)?)
                .execute(c)
                .await?;
        }
    }
    Ok(())
}

/// Reevaluates the block and the rest of a release at the end of an attempt. Returns whether they change. The caller
/// has locked the task.
pub async fn reevaluate(c: &mut dyn Connection, task: &str) -> Result<bool, StoreError> {
    let change = guarded(c, task).await?.and_then(|it| it.again());
    let changes = change.map(|change| (task, change));
    write(c, changes.as_slice()).await?;
    Ok(changes.is_some())
}

/// A task that the shrink limit blocks, or that was released.
async fn guarded(c: &mut dyn Connection, task: &str) -> Result<Option<GuardedTask>, StoreError> {
    sql(
        "read the block of a task",
        "-- complete, release: a guard; index runs_one_running
        SELECT t.name, t.spec, t.held, t.applied_instances, t.released_instances,
               (SELECT i.instances FROM runs r JOIN inputs i ON i.hash = r.input_hash
                WHERE r.task_name = t.name AND r.status = 'running' AND r.kind = 'apply'
                LIMIT 1) AS running_instances,
               i.instances AS braked_instances, {now} AS now
        FROM tasks t
        LEFT JOIN runs q ON q.task_name = t.name AND q.status = 'queued' AND q.kind = 'apply' AND q.braked
        LEFT JOIN inputs i ON i.hash = q.input_hash
        WHERE t.name = $1 AND (t.held IS NOT NULL OR t.released_instances IS NOT NULL OR q.braked)",
    )
    .bind(task)
    .optional(c, GuardedTask::read_with_braked)
    .await
}

/// Releases a blocked task: the losses that block the task count as applied from now on, unless the task has lost
/// more than the caller has `seen`.
pub async fn release(
    c: &mut dyn Connection,
    task: &TaskName,
    seen: Option<&[Loss]>,
) -> Result<Option<Blocked>, TaskError> {
    sql(
        "release a task",
        "-- release: the task\nSELECT 1 FROM tasks WHERE name = $1 FOR NO KEY UPDATE",
    )
    .bind(task)
    .on_postgres(c)
    .await?;
    let is_there = sql(
        "release a task",
        "-- release
        SELECT EXISTS (SELECT 1 FROM tasks WHERE name = $1 AND phase IN ('ready', 'deleting')) AS value",
    );
    if !is_there.bind(task).one(c, flag).await? {
        return Err(TaskError::Unknown);
    }
    let guarded = guarded(c, task.as_str()).await?;
    let Some((blocked, baseline)) = guarded.and_then(GuardedTask::release) else {
        return Ok(None);
    };
    if seen.is_some_and(|seen| !blocked.is_within(seen)) {
        return Err(TaskError::LostMore {
            losses: blocked.losses,
        });
    }
    let released = sql(
        "release a task",
        "-- release: it counts as applied
        UPDATE tasks SET applied_instances = $2, released_instances = $3, held = NULL
        WHERE name = $1",
    );
    let released = released
        .bind(task)
        .bind(stored_counts(baseline.applied.as_ref())?);
    released
        .bind(stored_counts(baseline.released.as_ref())?)
        .execute(c)
        .await?;
    if blocked.brake.is_some() {
        braked_runs::free(c, Some(task)).await?;
    }
    Ok(Some(blocked))
}
