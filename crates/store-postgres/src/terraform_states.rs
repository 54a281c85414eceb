//! Stored knowledge about the Terraform states of tasks.

use cts_core::runs::RunKind;
use cts_core::state::{
    Keep, StateConflict, StateDecision, StateRecord, StateReport, TerraformState,
};
use cts_core::{RunId, TaskName};
use cts_store::{LeaseError, StoreError, TaskError, decode, recorded_by, stored_serial};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};

use crate::lease::stored_epoch;
use crate::requests;
use crate::row::{by, encoded, failed_to};
use crate::suspended::Held;

const RECORD: &str = "record a state";

/// Stores the state that an attempt reports at its end, where the end itself does not write it. The task is
/// locked.
pub(crate) async fn report(
    transaction: &mut PgTransaction<'_>,
    task: &TaskName,
    state: &TerraformState,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- complete: the state; of one lineage the serial never goes back
        UPDATE tasks
        SET state_serial = CASE WHEN state_lineage = $2 THEN greatest(state_serial, $3) ELSE $3 END,
            state_moved_serial = CASE WHEN state_lineage = $2 THEN state_moved_serial END,
            state_lineage = $2, state_recorded_at = cts_now(),
            state_conflict = NULL, state_conflict_at = NULL
        WHERE name = $1",
    )
    .bind(task.as_str())
    .bind(&state.lineage)
    .bind(stored_serial(state.serial))
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(RECORD))?;
    Ok(())
}

pub(crate) async fn record(
    connection: &mut PgConnection,
    held: Held<'_>,
    report: &StateReport,
) -> Result<u32, LeaseError> {
    let failed = failed_to(RECORD);
    let (run, _holder, epoch) = held;
    let mut transaction = connection.begin().await.map_err(&failed)?;
    sqlx::query(
        "-- record_state: the task is locked before its run
        SELECT FROM tasks
        WHERE name = (SELECT task_name FROM runs WHERE id = $1)
        FOR NO KEY UPDATE",
    )
    .bind(run.as_uuid())
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    // A statement of its own, to see changes made while the lock was waited for. A lease ends under this
    // lock.
    let row = match report {
        StateReport::Accepted(state) => take(&mut transaction, held, state.as_ref(), false).await?,
        StateReport::Moved(state) => take(&mut transaction, held, Some(state), true).await?,
        StateReport::Refused(conflict) => refuse(&mut transaction, held, conflict).await?,
    };
    let row = row.ok_or(LeaseError::Lost { run, epoch })?;
    let moves = by(decode::state_moves)(&row)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(moves)
}

async fn take(
    transaction: &mut PgTransaction<'_>,
    (run, holder, epoch): Held<'_>,
    state: Option<&TerraformState>,
    moved: bool,
) -> Result<Option<PgRow>, StoreError> {
    sqlx::query(
        "-- record_state; a repeated call finds nothing to count
        UPDATE tasks
        SET state_moves = state_moves + CASE WHEN state_recorded_by IS DISTINCT FROM $7 AND (
                $6 OR state_keep IS NOT NULL OR state_from IS NOT NULL
                OR state_lineage IS NOT NULL
                   AND (state_lineage IS DISTINCT FROM $4 OR state_serial > $5)) THEN 1 ELSE 0 END,
            state_moved_serial = CASE WHEN $6 THEN $5 WHEN state_lineage = $4 THEN state_moved_serial END,
            state_lineage = $4, state_serial = $5, state_recorded_at = cts_now(), state_recorded_by = $7,
            state_keep = NULL, state_from = NULL, state_conflict = NULL, state_conflict_at = NULL
        WHERE name = (SELECT task_name FROM runs
                      WHERE id = $1 AND epoch = $2 AND holder = $3
                        AND status IS NOT DISTINCT FROM 'running')
        RETURNING name, state_moves",
    )
    .bind(run.as_uuid())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .bind(state.map(|state| &state.lineage))
    .bind(state.map(|state| stored_serial(state.serial)))
    .bind(moved)
    .bind(recorded_by((run, epoch), moved))
    .fetch_optional(&mut **transaction)
    .await
    .map_err(failed_to(RECORD))
}

async fn refuse(
    transaction: &mut PgTransaction<'_>,
    (run, holder, epoch): Held<'_>,
    conflict: &StateConflict,
) -> Result<Option<PgRow>, StoreError> {
    sqlx::query(
        "-- record_state: a conflict
        UPDATE tasks SET state_conflict = $4, state_conflict_at = cts_now()
        WHERE name = (SELECT task_name FROM runs
                      WHERE id = $1 AND epoch = $2 AND holder = $3
                        AND status IS NOT DISTINCT FROM 'running')
        RETURNING name, state_moves",
    )
    .bind(run.as_uuid())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .bind(encoded(RECORD, conflict)?)
    .fetch_optional(&mut **transaction)
    .await
    .map_err(failed_to(RECORD))
}

pub(crate) async fn of_task(
    connection: &mut PgConnection,
    task: &TaskName,
) -> Result<Option<StateRecord>, StoreError> {
    let row = sqlx::query(
        "-- terraform_state
        SELECT name, state_lineage, state_serial, state_moves, state_moved_serial, state_keep, state_from,
               state_conflict, state_conflict_at, state_recorded_at
        FROM tasks WHERE name = $1 AND phase IN ('ready', 'deleting')",
    )
    .bind(task.as_str())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read what is known of a state"))?;
    row.as_ref().map(by(decode::state_record)).transpose()
}

pub(crate) async fn decide(
    connection: &mut PgConnection,
    task: &TaskName,
    decision: &StateDecision,
    run: RunId,
) -> Result<StateRecord, TaskError> {
    let failed = failed_to("decide about a state");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    sqlx::query(
        "-- decide_terraform_state: the task\nSELECT FROM tasks WHERE name = $1 FOR NO KEY UPDATE",
    )
    .bind(task.as_str())
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    // A statement of its own, to see changes made while the lock was waited for.
    let record = of_task(&mut transaction, task).await?;
    let record = record.ok_or(TaskError::Unknown)?;
    let (mut keep, mut from) = (record.keep, record.from.clone());
    match decision {
        StateDecision::Keep(_) if record.conflict.is_none() => return Err(TaskError::NoConflict),
        StateDecision::Keep(decided) => keep = Some(*decided),
        StateDecision::From(earlier) => {
            if is_there(&mut transaction, earlier).await? {
                return Err(TaskError::StillThere(earlier.clone()));
            }
            from = Some(earlier.clone());
        }
    }
    sqlx::query(
        "-- decide_terraform_state
        UPDATE tasks SET state_keep = $2, state_from = $3 WHERE name = $1",
    )
    .bind(task.as_str())
    .bind(keep.map(Keep::as_str))
    .bind(from.as_ref().map(TaskName::as_str))
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    make_due(&mut transaction, task, run).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(StateRecord {
        keep,
        from,
        ..record
    })
}

/// Whether a task has this name, in whatever phase.
async fn is_there(
    transaction: &mut PgTransaction<'_>,
    task: &TaskName,
) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "-- decide_terraform_state: the earlier task
        SELECT EXISTS (SELECT FROM tasks WHERE name = $1)",
    )
    .bind(task.as_str())
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed_to("decide about a state"))
}

/// Makes a queued apply or destruction of the task due now. Without one, a run is requested, if changes run
/// the task.
async fn make_due(
    transaction: &mut PgTransaction<'_>,
    task: &TaskName,
    run: RunId,
) -> Result<(), StoreError> {
    let failed = failed_to("make a run due");
    sqlx::query(
        "-- decide_terraform_state: what is queued; index runs_waiting
        UPDATE runs SET due_at = cts_now(), updated_at = cts_now()
        WHERE task_name = $1 AND status = 'queued' AND due_at > cts_now()
          AND (kind = 'apply' OR destroys = 'apply')",
    )
    .bind(task.as_str())
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    let row = sqlx::query(
        "-- decide_terraform_state: whether a run is requested; indexes runs_waiting, run_requests_task
        SELECT enabled AND phase = 'ready'
               AND NOT EXISTS (SELECT FROM runs r
                               WHERE r.task_name = t.name AND r.status = 'queued' AND r.kind = 'apply')
               AND NOT EXISTS (SELECT FROM run_requests q
                               WHERE q.task_name = t.name AND q.refused IS NULL AND q.kind = 'apply')
               AS lacks
        FROM tasks t WHERE name = $1",
    )
    .bind(task.as_str())
    .fetch_one(&mut **transaction)
    .await
    .map_err(&failed)?;
    if row.try_get("lacks").map_err(&failed)? {
        requests::insert(transaction, task, (run, RunKind::Apply)).await?;
    }
    Ok(())
}
