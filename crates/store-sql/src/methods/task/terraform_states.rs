//! Stored knowledge about the Terraform states of tasks.

use cts_core::runs::{Accompanied, Occasion, RunKind};
use cts_core::state::{
    Keep, StateConflict, StateDecision, StateRecord, StateReport, TerraformState,
};
use cts_core::{Digest, RunId, TaskName};
use cts_store::cancel::SUSPENDED_UNTIL;
use cts_store::cell::encoded;
use cts_store::fields::Fields;
use cts_store::{LeaseError, StoreError, TaskError, decode, recorded_by, stored_serial};

use crate::leases::{Held, lock_task_of, lost, of_lease};
use crate::{Connection, effects, flag, requests, sql, state_is_refused};

const RECORD: &str = "record a state";

/// Stores the state that an attempt reports at its end, unless the end itself writes the state. The task is locked.
pub async fn report(
    c: &mut dyn Connection,
    task: &TaskName,
    state: &TerraformState,
) -> Result<(), StoreError> {
    let later = c.dialect().pick(
        "max(coalesce(state_serial, 0), $3)",
        "greatest(state_serial, $3)",
    );
    let reported = sql(
        RECORD,
        format!(
            "-- complete: the state; of one lineage the serial never goes back
        UPDATE tasks
        SET state_serial = CASE WHEN state_lineage = $2 THEN {later} ELSE $3 END,
            state_moved_serial = CASE WHEN state_lineage = $2 THEN state_moved_serial END,
            state_lineage = $2, state_recorded_at = {{now}},
            state_conflict = NULL, state_conflict_at = NULL
        WHERE name = $1"
        ),
    );
    let reported = reported.bind(task).bind(&state.lineage);
    reported
        .bind(stored_serial(state.serial))
        .execute(c)
        .await?;
    Ok(())
}

/// Records the state that an attempt found. Returns the number of moves of the state.
pub async fn record(
    c: &mut dyn Connection,
    held: Held<'_>,
    report: &StateReport,
) -> Result<u32, LeaseError> {
    // Leases end only under this lock.
    lock_task_of(c, held.0).await?;
    let by = recorded_by((held.0, held.2), report);
    let moves = match report {
        StateReport::Accepted(state) => take(c, held, (state.as_ref(), false), by).await?,
        StateReport::Moved(state) => take(c, held, (Some(state), true), by).await?,
        StateReport::Refused(conflict) => refuse(c, held, conflict, by).await?,
    };
    moves.ok_or_else(|| lost(held))
}

async fn take(
    c: &mut dyn Connection,
    held: Held<'_>,
    (state, moved): (Option<&TerraformState>, bool),
    by: String,
) -> Result<Option<u32>, StoreError> {
    of_lease(
        RECORD,
        "-- record_state; a repeated call finds nothing to count
        UPDATE tasks
        SET state_moves = state_moves + CASE WHEN state_recorded_by IS DISTINCT FROM $7 AND (
                $6 OR state_keep IS NOT NULL OR state_from IS NOT NULL
                OR state_lineage IS NOT NULL
                   AND (state_lineage IS DISTINCT FROM $4 OR state_serial > $5)) THEN 1 ELSE 0 END,
            state_moved_serial = CASE WHEN $6 THEN $5 WHEN state_lineage = $4 THEN state_moved_serial END,
            state_lineage = $4, state_serial = $5, state_recorded_at = {now}, state_recorded_by = $7,
            state_keep = NULL, state_from = NULL, state_conflict = NULL, state_conflict_at = NULL
        WHERE name = (SELECT task_name FROM runs
                      WHERE id = $1 AND epoch = $2 AND holder = $3
                        AND status IS NOT DISTINCT FROM 'running')
        RETURNING name, state_moves",
        held,
    )
    .bind(state.map(|state| &state.lineage))
    .bind(state.map(|state| stored_serial(state.serial)))
    .bind(moved)
    .bind(by)
    .optional(c, decode::state_moves)
    .await
}

async fn refuse(
    c: &mut dyn Connection,
    held: Held<'_>,
    conflict: &StateConflict,
    by: String,
) -> Result<Option<u32>, StoreError> {
    let refused = of_lease(
        RECORD,
        "-- record_state: a conflict, with the decision that led to it; a repeated call finds nothing to count
        UPDATE tasks
        SET state_moves = state_moves + CASE WHEN state_recorded_by IS DISTINCT FROM $5 THEN 1 ELSE 0 END,
            state_conflict = $4, state_conflict_at = {now}, state_recorded_by = $5, state_keep = NULL,
            state_refused = $6,
            state_refused_settings = (SELECT settings FROM runs WHERE id = $1)
        WHERE name = (SELECT task_name FROM runs
                      WHERE id = $1 AND epoch = $2 AND holder = $3
                        AND status IS NOT DISTINCT FROM 'running')
        RETURNING name, state_moves",
        held,
    );
    let looked_elsewhere = conflict.old.is_some();
    let refused = refused
        .bind(encoded(RECORD, conflict)?)
        .bind(by)
        .bind(if looked_elsewhere {
            "everywhere"
        } else {
            "unless_named"
        });
    refused.optional(c, decode::state_moves).await
}

/// Reads the record of the state of a visible task.
pub async fn of_task(
    c: &mut dyn Connection,
    task: &TaskName,
) -> Result<Option<StateRecord>, StoreError> {
    sql(
        "read what is known of a state",
        "-- terraform_state
        SELECT name, state_lineage, state_serial, state_moves, state_moved_serial, state_keep, state_from,
               state_conflict, state_conflict_at, state_recorded_at
        FROM tasks WHERE name = $1 AND phase IN ('ready', 'deleting')",
    )
    .bind(task)
    .optional(c, decode::state_record)
    .await
}

/// Why the state of a task was refused, until a decision exists.
pub(crate) async fn refusal(
    c: &mut dyn Connection,
    task: &TaskName,
) -> Result<Option<String>, StoreError> {
    let refused = sql(
        "read what is known of a state",
        concat!(
            "-- change_task: whether its state is refused
            SELECT t.name, t.state_conflict FROM tasks t WHERE t.name = $1 AND ",
            state_is_refused!()
        ),
    );
    let conflict = refused.bind(task).optional(c, |row| {
        let row = Fields::new(row, "read what is known of a state", "tasks").keyed("name")?;
        row.json::<StateConflict>("state_conflict")
    });
    Ok(conflict.await?.map(|conflict| conflict.reason))
}

/// Stores a decision about the state of a task, and makes a run due that carries out the decision.
pub async fn decide(
    c: &mut dyn Connection,
    task: &TaskName,
    decision: &StateDecision,
    run: RunId,
) -> Result<StateRecord, TaskError> {
    sql(
        "decide about a state",
        "-- decide_terraform_state: the task\nSELECT 1 FROM tasks WHERE name = $1 FOR NO KEY UPDATE",
    )
    .bind(task)
    .on_postgres(c)
    .await?;
    let record = of_task(c, task).await?;
    let record = record.ok_or(TaskError::Unknown)?;
    let (mut keep, mut from) = (record.keep, record.from.clone());
    match decision {
        StateDecision::Keep(_) if record.conflict.is_none() => return Err(TaskError::NoConflict),
        StateDecision::Keep(decided) => keep = Some(*decided),
        StateDecision::From(earlier) => {
            if is_there(c, earlier).await? {
                return Err(TaskError::StillThere(earlier.clone()));
            }
            from = Some(earlier.clone());
        }
    }
    let decided = sql(
        "decide about a state",
        "-- decide_terraform_state
        UPDATE tasks SET state_keep = $2, state_from = $3 WHERE name = $1",
    );
    let decided = decided.bind(task).bind(keep.map(Keep::as_str));
    decided.bind(from.as_ref()).execute(c).await?;
    ask_again(c, task).await?;
    requests::owe(c, task, Occasion::State).await?;
    make_due(c, task, run).await?;
    Ok(StateRecord {
        keep,
        from,
        ..record
    })
}

/// Withdraws consents, which are of the state until now: the run that waits asks again.
async fn ask_again(c: &mut dyn Connection, task: &TaskName) -> Result<(), StoreError> {
    effects::forget_used(c, task.as_str(), true).await?;
    let again = sql(
        "decide about a state",
        "-- decide_terraform_state: the run asks again; index runs_awaits
        UPDATE runs SET awaits = NULL, due_at = {now}, updated_at = {now}
        WHERE task_name = $1 AND awaits IS NOT NULL AND status IN ('queued', 'running')",
    );
    again.bind(task).execute(c).await?;
    Ok(())
}

/// Whether a task with this name exists, in any phase.
async fn is_there(c: &mut dyn Connection, task: &TaskName) -> Result<bool, StoreError> {
    let is_there = sql(
        "decide about a state",
        "-- decide_terraform_state: the earlier task
        SELECT EXISTS (SELECT 1 FROM tasks WHERE name = $1) AS value",
    );
    is_there.bind(task).one(c, flag).await
}

/// Makes a queued apply or destruction of the task due now, except a suspended destruction. Without such a run, a run
/// is requested if changes run the task.
async fn make_due(c: &mut dyn Connection, task: &TaskName, run: RunId) -> Result<(), StoreError> {
    let due = sql(
        "make a run due",
        "-- decide_terraform_state: what is queued; index runs_waiting
        UPDATE runs SET due_at = {now}, updated_at = {now}
        WHERE task_name = $1 AND status = 'queued' AND due_at > {now} AND due_at <> $2
          AND (kind = 'apply' OR destroys = 'apply')",
    );
    due.bind(task).bind(SUSPENDED_UNTIL).execute(c).await?;
    let lacks = sql(
        "make a run due",
        "-- decide_terraform_state: whether a run is requested; indexes runs_waiting, run_requests_task
        SELECT enabled AND phase = 'ready'
               AND NOT EXISTS (SELECT 1 FROM runs r
                               WHERE r.task_name = t.name AND r.status = 'queued' AND r.kind = 'apply')
               AND NOT EXISTS (SELECT 1 FROM run_requests q
                               WHERE q.task_name = t.name AND q.refused IS NULL AND q.kind = 'apply')
               AS value
        FROM tasks t WHERE name = $1",
    );
    if lacks.bind(task).one(c, flag).await? {
        let accompanies = Accompanied {
            occasion: Occasion::State,
            let_through: newest_input(c, task).await?,
        };
        let request = (run, RunKind::Apply);
        requests::insert(c, task, request, Some(&accompanies)).await?;
    }
    Ok(())
}

/// The input of the newest apply that has begun: the shrink limit has let its losses through.
async fn newest_input(
    c: &mut dyn Connection,
    task: &TaskName,
) -> Result<Option<Digest>, StoreError> {
    let newest = sql(
        "make a run due",
        "-- decide_terraform_state: the newest input; index runs_task
        SELECT r.id, r.input_hash FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE t.name = $1 AND r.incarnation = t.incarnation AND r.kind = 'apply'
          AND r.started_at IS NOT NULL
        ORDER BY r.started_at DESC, r.id DESC LIMIT 1",
    );
    let newest = newest.bind(task).optional(c, |row| {
        let row = Fields::new(row, "make a run due", "runs").keyed_by_id("id")?;
        row.parse("input_hash")
    });
    newest.await
}
