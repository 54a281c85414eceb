//! Runs that fail before they are leased, because no worker can begin them.

use cts_core::runs::{RunKind, keep_error};
use cts_core::{CheckOutcome, RunId};
use cts_store::cell::encoded;
use cts_store::{EnqueueRequest, FailedStart, StoreError};

use crate::{Connection, checks, sql};

const OPERATION: &str = "fail a run";

/// Ends a run that this transaction has queued. An apply of an existing task ends with an event, and no input counts
/// as applied afterwards, as if the run had been leased. The caller has locked the task.
pub async fn end(
    c: &mut dyn Connection,
    request: &EnqueueRequest,
    run: RunId,
    FailedStart { event, error }: &FailedStart,
) -> Result<(), StoreError> {
    let mut errors = Vec::new();
    keep_error(&mut errors, error);
    let failed = sql(
        OPERATION,
        "-- enqueue: the run fails
        UPDATE runs SET status = 'failed', errors = $2, finished_at = {now}, updated_at = {now}
        WHERE id = $1 AND status IS NOT DISTINCT FROM 'queued'",
    );
    let failed = failed.bind(run).bind(encoded(OPERATION, &errors)?);
    failed.execute(c).await?;
    let applies = request.kind.applies();
    if applies {
        let noted = sql(
            OPERATION,
            "-- enqueue: the event of a run that fails
            INSERT INTO events (id, task_name, run_id, success, start_time, end_time, error, config,
                                incarnation, requested_by, cause)
            SELECT $2, t.name, r.id, FALSE, r.created_at, {now}, $3, t.event_config, t.incarnation,
                   r.requested_by, r.cause
            FROM runs r JOIN tasks t ON t.name = r.task_name
            WHERE r.id = $1 AND t.phase IN ('ready', 'deleting')",
        );
        let noted = noted.bind(run).bind(*event).bind(errors.last());
        noted.execute(c).await?;
    }
    sql(
        OPERATION,
        "-- enqueue: consequences of a run that fails
        UPDATE tasks
        SET last_applied = CASE WHEN $3 THEN NULL ELSE last_applied END,
            phase = CASE WHEN phase = 'creating' AND creation_run = $2 THEN 'discarded' ELSE phase END,
            updated_at = CASE WHEN phase = 'creating' AND creation_run = $2 THEN {now} ELSE updated_at END
        WHERE name = $1",
    )
    .bind(&request.task)
    .bind(run)
    .bind(applies)
    .execute(c)
    .await?;
    if request.kind == RunKind::Check {
        let outcome = CheckOutcome::Failed(error.clone());
        checks::end(c, &request.task, run, outcome).await?;
    }
    Ok(())
}
