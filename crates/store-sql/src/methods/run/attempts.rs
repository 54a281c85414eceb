//! Reads the attempts of runs.

use cts_core::RunId;
use cts_store::{AttemptRecord, StoreError, attempt};

use crate::{Connection, sql};

/// The attempts of a run, oldest first.
pub(crate) async fn of_run(
    c: &mut dyn Connection,
    id: RunId,
) -> Result<Vec<AttemptRecord>, StoreError> {
    let attempts = sql(
        "read the attempts of a run",
        "-- attempts
        SELECT id, status, epoch, attempts, holder, leased_epoch, leased_at, leased_by, updated_at, finished_at,
               run_phase, errors, summary, ended_attempts, due_at
        FROM runs WHERE id = $1",
    );
    let attempts = attempts.bind(id).optional(c, attempt::attempts).await?;
    Ok(attempts.unwrap_or_default())
}
