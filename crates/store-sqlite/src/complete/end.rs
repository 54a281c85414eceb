//! The end of a run that nothing but the run itself notices: what applies nothing, and what was to create its
//! task and failed.

use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_store::{Completion, LeaseError};
use sqlx::SqliteConnection;

use super::{Attempt, ENCODE, close, one_changed};
use crate::lease::stored_epoch;
use crate::row::{encoded_plan, failed_to};

/// Ends the run; returns its status.
pub(super) async fn end(
    connection: &mut SqliteConnection,
    completion: &Completion,
    attempt: &Attempt,
    succeeded: bool,
    now: i64,
) -> Result<RunStatus, LeaseError> {
    let status = if succeeded {
        RunStatus::Succeeded
    } else {
        RunStatus::Failed
    };
    if succeeded && let AttemptOutcome::Planned(plan) = &completion.outcome {
        let (encoding, content) = encoded_plan(ENCODE, plan)?;
        let kept = sqlx::query(
            "-- complete: what the plan says
            UPDATE runs SET changes_present = ?, plan_encoding = ?, plan = ?
            WHERE id = ? AND epoch = ? AND status = 'running'",
        )
        .bind(plan.changes_present)
        .bind(encoding.as_str())
        .bind(content)
        .bind(completion.run.to_string())
        .bind(stored_epoch(completion.epoch))
        .execute(&mut *connection)
        .await
        .map_err(failed_to("store a plan"))?;
        one_changed(&kept, completion)?;
    }
    close(connection, completion, attempt, status, now).await?;
    Ok(status)
}
