//! The end of a run that nothing but the run itself notices: what applies nothing, and what was to create its
//! task and failed.

use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_store::{Completion, StoreError};
use sqlx::PgTransaction;

use super::attempt::Attempt;
use super::{ENCODE, one};
use crate::lease::stored_epoch;
use crate::row::{InputEncoding, encoded, encoded_plan, failed_to};

/// Ends the run; returns its status.
pub(super) async fn end(
    transaction: &mut PgTransaction<'_>,
    completion: &Completion,
    attempt: &Attempt,
    succeeded: bool,
) -> Result<RunStatus, StoreError> {
    let status = if succeeded {
        RunStatus::Succeeded
    } else {
        RunStatus::Failed
    };
    let plan = match &completion.outcome {
        AttemptOutcome::Planned(plan) if succeeded => Some(plan),
        _ => None,
    };
    let content = plan.map(|plan| encoded_plan(ENCODE, plan)).transpose()?;
    let (encoding, content) = content.unzip();
    let closed = sqlx::query(
        "-- complete: end a run
        WITH free AS (UPDATE tasks SET active_run = NULL WHERE name = $9)
        UPDATE runs
        SET status = $3, errors = $4, finished_at = $5, updated_at = $5,
            changes_present = $6, plan_encoding = $7, plan = $8,
            holder = NULL, expires_at = NULL
        WHERE id = $1 AND epoch = $2 AND status IS NOT DISTINCT FROM 'running'",
    )
    .bind(completion.run.as_uuid())
    .bind(stored_epoch(completion.epoch))
    .bind(status.as_str())
    .bind(encoded(ENCODE, &attempt.errors)?)
    .bind(attempt.now)
    .bind(plan.map(|plan| plan.changes_present))
    .bind(encoding.map(InputEncoding::as_str))
    .bind(content)
    .bind(attempt.task.as_str())
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("close a run"))?;
    one(closed.rows_affected())?;
    Ok(status)
}
