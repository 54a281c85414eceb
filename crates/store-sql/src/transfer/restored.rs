//! A database that is older than the work of Terraform: its detection, and the data that no longer count.

use cts_core::runs::{Occasion, RunKind};
use cts_core::{EPOCH_STEP, JournalEntry, RunId, TaskName};
use cts_store::cell::encoded;
use cts_store::fields::Fields;
use cts_store::{AppliedState, Restoration, StoreError, TaskChange, TaskError, decode};
use serde_json::{Value, json};

use crate::{Connection, changes, leadership, sql, text_if_any};

const COMPARE: &str = "compare attempts";
const MARK: &str = "mark the database as restored";

/// Stops all inputs from counting as applied or tried: the rule for a copy of a file, a stopped machine, a new
/// timeline and a restore.
pub const NOTHING_APPLIED: &str = "-- continuity: no input counts as applied
    UPDATE tasks SET last_applied = NULL, tried_input = NULL
    WHERE last_applied IS NOT NULL OR tried_input IS NOT NULL";

/// Stops all consents from counting: a consent may have been used since the copy was made.
pub const NO_CONSENT: &str =
    "-- continuity: no consent counts\nDELETE FROM approvals WHERE decision = 'approved'";

/// Attempts that the database has forgotten, with `$1` as the list. The newest successful apply of a task with a last
/// applied input is never pruned, so every later apply is known.
const FORGOTTEN: &str = "SELECT t.name, t.enabled
    FROM {rows $1 n: task_name TEXT, run_id UUID, epoch BIGINT}
    JOIN tasks t ON t.name = n.task_name
    WHERE t.phase = 'ready' AND t.last_applied IS NOT NULL
      AND EXISTS (SELECT 1 FROM runs r WHERE r.task_name = n.task_name AND r.id <= n.run_id)
      AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = n.run_id AND r.epoch >= n.epoch)
      AND NOT EXISTS (SELECT 1 FROM runs r
                      WHERE r.task_name = n.task_name AND r.id > n.run_id
                        AND (r.kind = 'apply' OR r.destroys = 'apply')
                        AND (r.started_at IS NOT NULL OR r.status = 'queued'))";

/// A task with a forgotten attempt.
struct Forgotten {
    task: TaskName,
    enabled: bool,
}

/// Names the present start of a leader.
pub async fn leader_start(c: &mut dyn Connection) -> Result<Option<String>, StoreError> {
    sql(
        "read who leads",
        "-- leader_start
        SELECT CASE WHEN holder IS NOT NULL THEN CAST(epoch AS TEXT) || '/' || CAST(incarnation AS TEXT) END AS value
        FROM leadership",
    )
    .one(c, text_if_any)
    .await
}

/// Whether one of these attempts is forgotten.
pub async fn has_forgotten(
    c: &mut dyn Connection,
    attempts: &[(JournalEntry, RunId)],
) -> Result<bool, StoreError> {
    Ok(!forgotten(c, attempts).await?.is_empty())
}

async fn forgotten(
    c: &mut dyn Connection,
    attempts: &[(JournalEntry, RunId)],
) -> Result<Vec<Forgotten>, StoreError> {
    let attempts = attempts.iter().map(|(attempt, _run)| {
        json!({
            "task_name": attempt.task, "run_id": attempt.run, "epoch": attempt.epoch,
        })
    });
    let attempts: Vec<Value> = attempts.collect();
    let found = sql(
        COMPARE,
        format!("-- compare_attempts; indexes runs_pkey, runs_task\n{FORGOTTEN}\nORDER BY t.name"),
    );
    let found = found.bind(encoded(COMPARE, &attempts)?);
    found
        .all(c, |row| {
            let row = Fields::new(row, COMPARE, "tasks").keyed("name")?;
            Ok(Forgotten {
                task: row.parse("name")?,
                enabled: row.flag("enabled")?,
            })
        })
        .await
}

/// Voids the last applied inputs of the tasks with a forgotten attempt, and requests a run for each task.
pub async fn compare_attempts(
    c: &mut dyn Connection,
    attempts: &[(JournalEntry, RunId)],
) -> Result<Vec<TaskName>, StoreError> {
    let names: Vec<&str> = attempts.iter().map(|(it, _)| it.task.as_str()).collect();
    sql(
        COMPARE,
        "-- compare_attempts: the tasks, in order
        SELECT 1 FROM tasks WHERE name {in $1} ORDER BY name FOR NO KEY UPDATE",
    )
    .bind(names.as_slice())
    .on_postgres(c)
    .await?;
    let mut forgotten = forgotten(c, attempts).await?;
    forgotten.dedup_by(|one, other| one.task == other.task);
    let names: Vec<&str> = forgotten.iter().map(|it| it.task.as_str()).collect();
    let voided = sql(
        COMPARE,
        "-- compare_attempts: the inputs
        UPDATE tasks SET last_applied = NULL, tried_input = NULL WHERE name {in $1}",
    );
    voided.bind(names.as_slice()).execute(c).await?;
    for Forgotten { task, .. } in forgotten.iter().filter(|it| it.enabled) {
        let run = attempts.iter().find(|(attempt, _)| attempt.task == *task);
        let change = TaskChange {
            request: run.map(|(_, run)| (*run, RunKind::Apply)),
            accompanies: Some(Occasion::Journal),
            ..TaskChange::default()
        };
        // A task whose state is refused runs once an operator has decided.
        if let Err(TaskError::Store(error)) = changes::change(c, task, &change).await {
            return Err(error);
        }
    }
    Ok(forgotten.into_iter().map(|it| it.task).collect())
}

/// The numbers that [`mark`] would change now.
pub async fn restoration(c: &mut dyn Connection) -> Result<Restoration, StoreError> {
    sql(
        MARK,
        "-- restoration; indexes runs_one_running, runs_waiting
        SELECT (SELECT count(*) FROM tasks
                WHERE last_applied IS NOT NULL OR tried_input IS NOT NULL) AS inputs,
               (SELECT count(*) FROM runs WHERE status = 'queued')
               + (SELECT count(*) FROM runs WHERE status = 'running') AS runs,
               epoch AS leader_epoch
        FROM leadership",
    )
    .one(c, |row| {
        let row = Fields::new(row, MARK, "");
        Ok(Restoration {
            inputs: row.number("inputs")?,
            runs: row.number("runs")?,
            leader_epoch: row.number("leader_epoch")?,
        })
    })
    .await
}

/// Voids all data that may be wrong in a restored database (docs/operations.md#after-a-restore).
pub async fn mark(c: &mut dyn Connection) -> Result<Restoration, StoreError> {
    leadership::alone(c).await?;
    sql(
        MARK,
        "-- mark_restored: the tasks, in order\nSELECT 1 FROM tasks ORDER BY name FOR NO KEY UPDATE",
    )
    .on_postgres(c)
    .await?;
    let inputs = sql(MARK, NOTHING_APPLIED).execute(c).await?;
    sql(MARK, NO_CONSENT).execute(c).await?;
    for text in [
        // Workers may vouch for inputs of the timeline before the restore.
        "-- mark_restored: nothing in doubt counts again\nDELETE FROM doubted_tasks",
        "-- mark_restored: nothing is left to be settled
        UPDATE continuity SET settled = 'distrusted' WHERE doubts_of IS NOT NULL AND settled IS NULL",
    ] {
        sql(MARK, text).on_postgres(c).await?;
    }
    let runs = sql(
        MARK,
        "-- mark_restored: no lease from before is in force; indexes runs_one_running, runs_waiting
        UPDATE runs SET epoch = epoch + $1 WHERE status = 'queued' OR status = 'running'",
    );
    let runs = runs.bind(EPOCH_STEP).execute(c).await?;
    let leader = c.dialect().pick(
        "-- mark_restored: the leadership ends
        UPDATE leadership
        SET epoch = epoch + $1, holder = NULL, incarnation = NULL, expires_at = NULL,
            served_since = NULL, served_at = NULL",
        "-- mark_restored: the leadership ends
        UPDATE leadership
        SET epoch = epoch + $1, holder = NULL, incarnation = NULL, served_since = NULL, served_at = NULL",
    );
    sql(MARK, leader).bind(EPOCH_STEP).execute(c).await?;
    let after = restoration(c).await?;
    Ok(Restoration {
        inputs,
        runs,
        ..after
    })
}

/// The states of all tasks with a last applied input, after their last applies.
pub async fn applied_states(c: &mut dyn Connection) -> Result<Vec<AppliedState>, StoreError> {
    let states = sql(
        "read what is known of states",
        "-- applied_states
        SELECT name, spec, state_lineage, state_serial, state_moves, state_moved_serial, state_keep, state_from,
               state_conflict, state_conflict_at, state_recorded_at
        FROM tasks
        WHERE phase = 'ready' AND last_applied IS NOT NULL AND state_lineage IS NOT NULL
        ORDER BY name",
    );
    let states = states.all(c, decode::applied_state).await?;
    Ok(states.into_iter().flatten().collect())
}
