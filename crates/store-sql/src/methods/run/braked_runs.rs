//! Runs that the brake of the fleet holds.

use cts_core::TaskName;
use cts_store::StoreError;
use cts_store::cancel::SUSPENDED_UNTIL;

use crate::{Connection, sql};

/// Lets the open runs that the brake holds be leased: those of a task, or all.
pub(crate) async fn free(
    c: &mut dyn Connection,
    task: Option<&TaskName>,
) -> Result<(), StoreError> {
    let freed = sql(
        "let runs go on",
        "-- note_brake, release_brake, release_task: held runs; index runs_braked
        UPDATE runs
        SET braked = FALSE, due_at = CASE WHEN due_at = $2 THEN {now} ELSE due_at END, updated_at = {now}
        WHERE braked AND status IN ('queued', 'running') AND ($1 IS NULL OR task_name = $1)",
    );
    let task = task.map(TaskName::as_str);
    freed.bind(task).bind(SUSPENDED_UNTIL).execute(c).await?;
    Ok(())
}
