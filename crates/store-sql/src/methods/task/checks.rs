//! Checks that make disabled tasks ready (docs/runs.md#disabled-tasks).

use cts_core::{CheckOutcome, Digest, RunId, TaskCheck, TaskName};
use cts_store::StoreError;
use cts_store::cell::encoded;
use cts_store::fields::{Columns, Fields};

use crate::{Connection, sql};

const OPERATION: &str = "note the check of a task";

/// Notes that a check of a task is queued.
pub async fn begin(
    c: &mut dyn Connection,
    task: &TaskName,
    key: Digest,
    run: RunId,
) -> Result<(), StoreError> {
    let check = TaskCheck {
        key,
        run,
        outcome: None,
    };
    write(c, task, &check).await
}

/// Notes the outcome of a task's check, if `run` is its newest check.
pub async fn end(
    c: &mut dyn Connection,
    task: &TaskName,
    run: RunId,
    outcome: CheckOutcome,
) -> Result<(), StoreError> {
    let known = sql(
        OPERATION,
        "-- complete, reap: the check\nSELECT name, last_check FROM tasks WHERE name = $1",
    );
    let known = known
        .bind(task)
        .optional(c, |row| Ok(named(row)?.1))
        .await?;
    match known.flatten() {
        Some(check) if check.run == run => {
            let check = TaskCheck {
                outcome: Some(outcome),
                ..check
            };
            write(c, task, &check).await
        }
        _ => Ok(()),
    }
}

async fn write(
    c: &mut dyn Connection,
    task: &TaskName,
    check: &TaskCheck,
) -> Result<(), StoreError> {
    let written = sql(
        OPERATION,
        "-- enqueue, complete, reap: the check\nUPDATE tasks SET last_check = $2 WHERE name = $1",
    );
    let written = written.bind(task).bind(encoded(OPERATION, check)?);
    written.execute(c).await?;
    Ok(())
}

/// The newest checks of these tasks; tasks without a check are left out.
pub async fn of(
    c: &mut dyn Connection,
    names: &[TaskName],
) -> Result<Vec<(TaskName, TaskCheck)>, StoreError> {
    let rows = sql(
        "read the checks of tasks",
        "-- checks\nSELECT name, last_check FROM tasks WHERE name {in $1} AND last_check IS NOT NULL",
    );
    let rows = rows.bind(names).all(c, named).await?;
    let checks = rows.into_iter();
    Ok(checks
        .filter_map(|(name, check)| Some((name, check?)))
        .collect())
}

fn named(row: &dyn Columns) -> Result<(TaskName, Option<TaskCheck>), StoreError> {
    let row = Fields::new(row, "read the checks of tasks", "tasks").keyed("name")?;
    Ok((row.parse("name")?, row.json_if_any("last_check")?))
}
