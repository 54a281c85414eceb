//! Stored knowledge about the Terraform states of tasks.

use cts_core::runs::RunKind;
use cts_core::state::{
    Keep, StateConflict, StateDecision, StateRecord, StateReport, TerraformState,
};
use cts_core::{RunId, TaskName};
use cts_store::{LeaseError, StoreError, TaskError, decode, recorded_by, stored_serial};
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::lease::stored_epoch;
use crate::requests;
use crate::row::{by, encoded, failed_to};
use crate::suspended::Held;

const RECORD: &str = "record a state";

/// Stores the state that an attempt reports at its end.
pub(crate) async fn report(
    connection: &mut SqliteConnection,
    task: &TaskName,
    state: &TerraformState,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- complete: the state; of one lineage the serial never goes back
        UPDATE tasks
        SET state_serial = CASE WHEN state_lineage = ?2 THEN max(coalesce(state_serial, 0), ?3) ELSE ?3 END,
            state_moved_serial = CASE WHEN state_lineage = ?2 THEN state_moved_serial END,
            state_lineage = ?2, state_recorded_at = ?4, state_conflict = NULL, state_conflict_at = NULL
        WHERE name = ?1",
    )
    .bind(task.as_str())
    .bind(&state.lineage)
    .bind(stored_serial(state.serial))
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to(RECORD))?;
    Ok(())
}

pub(crate) async fn record(
    connection: &mut SqliteConnection,
    held: Held<'_>,
    report: &StateReport,
    now: i64,
) -> Result<u32, LeaseError> {
    let (state, moved) = match report {
        StateReport::Refused(conflict) => return refuse(connection, held, conflict, now).await,
        StateReport::Accepted(state) => (state.as_ref(), false),
        StateReport::Moved(state) => (Some(state), true),
    };
    let (run, holder, epoch) = held;
    let row = sqlx::query(
        "-- record_state; a repeated call finds nothing to count
        UPDATE tasks
        SET state_moves = state_moves + (state_recorded_by IS NOT ?7 AND (
                ?6 OR state_keep IS NOT NULL OR state_from IS NOT NULL
                OR state_lineage IS NOT NULL AND (state_lineage IS NOT ?4 OR state_serial > ?5))),
            state_moved_serial = CASE WHEN ?6 THEN ?5 WHEN state_lineage = ?4 THEN state_moved_serial END,
            state_lineage = ?4, state_serial = ?5, state_recorded_at = ?8, state_recorded_by = ?7,
            state_keep = NULL, state_from = NULL, state_conflict = NULL, state_conflict_at = NULL
        WHERE name = (SELECT task_name FROM runs
                      WHERE id = ?1 AND epoch = ?2 AND holder = ?3 AND status = 'running')
        RETURNING name, state_moves",
    )
    .bind(run.to_string())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .bind(state.map(|state| &state.lineage))
    .bind(state.map(|state| stored_serial(state.serial)))
    .bind(moved)
    .bind(recorded_by((run, epoch), moved))
    .bind(now)
    .fetch_optional(connection)
    .await
    .map_err(failed_to(RECORD))?;
    let row = row.ok_or(LeaseError::Lost { run, epoch })?;
    Ok(by(decode::state_moves)(&row)?)
}

async fn refuse(
    connection: &mut SqliteConnection,
    (run, holder, epoch): Held<'_>,
    conflict: &StateConflict,
    now: i64,
) -> Result<u32, LeaseError> {
    let row = sqlx::query(
        "-- record_state: a conflict
        UPDATE tasks SET state_conflict = ?4, state_conflict_at = ?5
        WHERE name = (SELECT task_name FROM runs
                      WHERE id = ?1 AND epoch = ?2 AND holder = ?3 AND status = 'running')
        RETURNING name, state_moves",
    )
    .bind(run.to_string())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .bind(encoded(RECORD, conflict)?)
    .bind(now)
    .fetch_optional(connection)
    .await
    .map_err(failed_to(RECORD))?;
    let row = row.ok_or(LeaseError::Lost { run, epoch })?;
    Ok(by(decode::state_moves)(&row)?)
}

pub(crate) async fn of_task(
    executor: impl SqliteExecutor<'_>,
    task: &TaskName,
) -> Result<Option<StateRecord>, StoreError> {
    let row = sqlx::query(
        "-- terraform_state
        SELECT name, state_lineage, state_serial, state_moves, state_moved_serial, state_keep, state_from,
               state_conflict, state_conflict_at, state_recorded_at
        FROM tasks WHERE name = ? AND phase IN ('ready', 'deleting')",
    )
    .bind(task.as_str())
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read what is known of a state"))?;
    row.as_ref().map(by(decode::state_record)).transpose()
}

pub(crate) async fn decide(
    connection: &mut SqliteConnection,
    task: &TaskName,
    decision: &StateDecision,
    run: RunId,
    now: i64,
) -> Result<StateRecord, TaskError> {
    let failed = failed_to("decide about a state");
    let record = of_task(&mut *connection, task).await?;
    let record = record.ok_or(TaskError::Unknown)?;
    let (mut keep, mut from) = (record.keep, record.from.clone());
    match decision {
        StateDecision::Keep(_) if record.conflict.is_none() => return Err(TaskError::NoConflict),
        StateDecision::Keep(decided) => keep = Some(*decided),
        StateDecision::From(earlier) => {
            if is_there(connection, earlier).await? {
                return Err(TaskError::StillThere(earlier.clone()));
            }
            from = Some(earlier.clone());
        }
    }
    sqlx::query(
        "-- decide_terraform_state
        UPDATE tasks SET state_keep = ?2, state_from = ?3 WHERE name = ?1",
    )
    .bind(task.as_str())
    .bind(keep.map(Keep::as_str))
    .bind(from.as_ref().map(TaskName::as_str))
    .execute(&mut *connection)
    .await
    .map_err(&failed)?;
    make_due(connection, task, run, now).await?;
    Ok(StateRecord {
        keep,
        from,
        ..record
    })
}

/// Whether a task has this name, in whatever phase.
async fn is_there(connection: &mut SqliteConnection, task: &TaskName) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "-- decide_terraform_state: the earlier task
        SELECT EXISTS (SELECT 1 FROM tasks WHERE name = ?)",
    )
    .bind(task.as_str())
    .fetch_one(connection)
    .await
    .map_err(failed_to("decide about a state"))
}

/// Makes a queued apply or destruction of the task due now. Without one, a run is requested, if changes run
/// the task.
async fn make_due(
    connection: &mut SqliteConnection,
    task: &TaskName,
    run: RunId,
    now: i64,
) -> Result<(), StoreError> {
    let failed = failed_to("make a run due");
    sqlx::query(
        "-- decide_terraform_state: what is queued; index runs_waiting
        UPDATE runs SET due_at = ?2, updated_at = ?2
        WHERE task_name = ?1 AND status = 'queued' AND due_at > ?2
          AND (kind = 'apply' OR destroys = 'apply')",
    )
    .bind(task.as_str())
    .bind(now)
    .execute(&mut *connection)
    .await
    .map_err(&failed)?;
    let row = sqlx::query(
        "-- decide_terraform_state: whether a run is requested; indexes runs_waiting, run_requests_task
        SELECT enabled AND phase = 'ready'
               AND NOT EXISTS (SELECT 1 FROM runs r
                               WHERE r.task_name = t.name AND r.status = 'queued' AND r.kind = 'apply')
               AND NOT EXISTS (SELECT 1 FROM run_requests q
                               WHERE q.task_name = t.name AND q.refused IS NULL AND q.kind = 'apply')
               AS lacks
        FROM tasks t WHERE name = ?",
    )
    .bind(task.as_str())
    .fetch_one(&mut *connection)
    .await
    .map_err(&failed)?;
    if row.try_get("lacks").map_err(&failed)? {
        requests::insert(connection, task, (run, RunKind::Apply), now).await?;
    }
    Ok(())
}
