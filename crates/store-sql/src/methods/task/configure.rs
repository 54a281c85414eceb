//! The tasks of the configuration, and resets of the storage.

use cts_core::{TaskName, TaskSpec, Withdrawal};
use cts_store::configured::{self, Configured, Declarations, RECONFIGURED, StoredDeclaration};
use cts_store::fields::Fields;
use cts_store::{PendingDeletions, StoreError};
use serde_json::json;

use crate::{Connection, changes, effects, endings, sql, tasks};

const OPERATION: &str = "store the configured tasks";

/// Sets a longer time limit, for statements whose size grows with the configuration.
const LONG: &str =
    "-- replace_config_tasks, reset_tasks: it may take long\nSET LOCAL statement_timeout = '5min'";

/// Brings the tasks of a configuration into the store.
pub async fn replace_config_tasks(
    c: &mut dyn Connection,
    specs: &[TaskSpec],
) -> Result<PendingDeletions, StoreError> {
    lock_all(c).await?;
    let mut unfinished = PendingDeletions {
        deleting: remove_others(c, specs).await?,
        postponed: Vec::new(),
    };
    let declarations = declarations(c).await?;
    let mut new = tasks::Configured::default();
    let (mut places, mut back) = (Vec::new(), Vec::new());
    let mut withdrawn: Vec<(&str, Withdrawal)> = Vec::new();
    for (position, task) in (0i64..).zip(specs) {
        let name = task.name().as_str();
        match declarations.configure(task)? {
            Configured::StaysDeleted => {}
            Configured::Postponed => unfinished.postponed.push(task.name().clone()),
            Configured::Lasts {
                refreshed,
                withdraws,
            } => {
                if let Some(refreshed) = refreshed {
                    let (spec, revision) = *refreshed;
                    tasks::write_spec(c, &spec, revision).await?;
                }
                places.push(json!({"name": name, "position": position}));
                withdrawn.extend(withdraws.map(|why| (name, why)));
            }
            Configured::TakesEffect {
                declaration,
                withdraws,
                keeps,
                ..
            } => {
                new.add(keeps.as_deref().unwrap_or(task), position, declaration)?;
                back.push(name);
                withdrawn.extend(withdraws.map(|why| (name, why)));
            }
        }
    }
    let forgotten = sql(
        OPERATION,
        "-- replace_config_tasks: those that are back\nDELETE FROM deleted_tasks WHERE name {in $1}",
    );
    forgotten.bind(&*back).execute(c).await?;
    new.take_effect(c).await?;
    changes::withdraw_applies(c, &withdrawn, RECONFIGURED).await?;
    cancel_of_disabled(c).await?;
    let placed = sql(
        OPERATION,
        "-- replace_config_tasks: places
        UPDATE tasks SET position = n.position FROM {rows $1 n: name TEXT, position BIGINT}
        WHERE tasks.name = n.name",
    );
    placed.bind(json!(places).to_string()).execute(c).await?;
    effects::ask_again(c, None).await?;
    Ok(unfinished)
}

/// Locks all tasks, for statements that concern all of them.
async fn lock_all(c: &mut dyn Connection) -> Result<(), StoreError> {
    for statement in [
        LONG,
        "-- replace_config_tasks, reset_tasks: in order\nSELECT 1 FROM tasks ORDER BY name FOR UPDATE",
    ] {
        sql(OPERATION, statement).on_postgres(c).await?;
    }
    Ok(())
}

/// Cancels queued runs of disabled tasks, which are never leased.
async fn cancel_of_disabled(c: &mut dyn Connection) -> Result<(), StoreError> {
    sql(
        OPERATION,
        "-- replace_config_tasks: what is queued of disabled tasks; index runs_waiting
        UPDATE runs SET status = 'cancelled', finished_at = {now}, updated_at = {now}
        FROM tasks t
        WHERE t.name = runs.task_name AND NOT t.enabled AND t.phase = 'ready'
          AND runs.status = 'queued' AND runs.kind = 'apply' AND NOT runs.requested
          AND NOT (runs.withdrawn AND runs.cancel_requested_at IS NOT NULL)",
    )
    .execute(c)
    .await?;
    Ok(())
}

/// Removes tasks that are no longer configured, and moves API tasks after the configured tasks.
///
/// Returns the tasks that are still being deleted, except tasks whose destruction the API began: that goes on without
/// a declaration.
async fn remove_others(
    c: &mut dyn Connection,
    specs: &[TaskSpec],
) -> Result<Vec<TaskName>, StoreError> {
    let names: Vec<&str> = specs.iter().map(|task| task.name().as_str()).collect();
    let gone = sql(
        OPERATION,
        "-- replace_config_tasks: those that are gone; index runs_one_running
        SELECT name, EXISTS (SELECT 1 FROM runs r
                             WHERE r.task_name = t.name AND r.status = 'running') AS runs
        FROM tasks t
        WHERE origin = 'config' AND phase <> 'deleting' AND name {not in $1}",
    );
    let gone = gone.bind(&*names).all(c, |row| {
        let row = Fields::new(row, OPERATION, "tasks");
        Ok((row.text("name")?.to_owned(), row.flag("runs")?))
    });
    let gone = gone.await?;
    let all: Vec<&str> = gone.iter().map(|(name, _)| name.as_str()).collect();
    let ending = if all.is_empty() {
        Vec::new()
    } else {
        endings::begin(c, (endings::OF_TASKS, &all), endings::Reason::Withdrawn).await?
    };
    let of = |running: bool| {
        let runs = |(name, runs): &&(String, bool)| (*runs || ending.contains(name)) == running;
        let gone = gone.iter().filter(runs);
        gone.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    tasks::remove(c, &of(false)).await?;
    changes::begin_deletions(c, &of(true), None).await?;
    let forgotten = sql(
        OPERATION,
        "-- replace_config_tasks: those that were gone already
        DELETE FROM deleted_tasks WHERE name {not in $1}",
    );
    forgotten.bind(&*names).execute(c).await?;
    let deleting = sql(
        OPERATION,
        "-- replace_config_tasks: those of which something runs
        SELECT name FROM tasks
        WHERE origin = 'config' AND phase = 'deleting' AND destroy_run IS NULL AND name {not in $1}
        ORDER BY name",
    );
    let deleting = deleting.bind(&*names).all(c, configured::name).await?;
    // Tasks of the API come after those of the configuration, in their own order.
    let moved = sql(
        OPERATION,
        "-- replace_config_tasks: make room
        UPDATE tasks SET position = position + $1 WHERE origin = 'api'",
    );
    moved.bind(specs.len()).execute(c).await?;
    Ok(deleting)
}

/// Reads the declarations of all stored tasks, and of the tasks that the API deleted.
pub(crate) async fn declarations(c: &mut dyn Connection) -> Result<Declarations, StoreError> {
    let stored = sql(
        OPERATION,
        "-- replace_config_tasks: what is there
        SELECT name, origin, phase, configured, revision, spec FROM tasks",
    );
    let stored = stored.all(c, StoredDeclaration::read).await?;
    let deleted = sql(
        OPERATION,
        "-- replace_config_tasks: what the API has deleted
        SELECT name, configured FROM deleted_tasks",
    );
    let deleted = deleted.all(c, configured::deleted_declaration).await?;
    Ok(Declarations::new(stored, deleted))
}

/// Begins a reset: locks the tasks and cancels their queued runs.
pub async fn begin_reset(c: &mut dyn Connection) -> Result<(), StoreError> {
    lock_all(c).await?;
    endings::begin(c, (endings::ALL, &[]), endings::Reason::Withdrawn).await?;
    sql(
        "remove every task",
        "-- reset_tasks: what is queued
        UPDATE runs SET status = 'cancelled', finished_at = {now}, updated_at = {now}
        WHERE status = 'queued'",
    )
    .execute(c)
    .await?;
    Ok(())
}

/// Removes all tasks, and the ended runs if `with_runs`. Tasks with a running run stay and are being deleted from now
/// on.
pub async fn reset(
    c: &mut dyn Connection,
    with_runs: bool,
) -> Result<PendingDeletions, StoreError> {
    let runs = "-- reset_tasks: runs, with their events and logs\nDELETE FROM runs WHERE status <> 'running'";
    for statement in [
        "-- reset_tasks: requests\nDELETE FROM run_requests",
        "-- reset_tasks: ticks\nDELETE FROM tick_events",
        "-- reset_tasks: tasks; index runs_one_running
        DELETE FROM tasks WHERE NOT EXISTS (
            SELECT 1 FROM runs r WHERE r.task_name = tasks.name AND r.status = 'running')",
        "-- reset_tasks: and what was deleted\nDELETE FROM deleted_tasks",
    ]
    .into_iter()
    .chain(with_runs.then_some(runs))
    {
        sql("remove every task", statement).execute(c).await?;
    }
    let left = sql(
        "remove every task",
        "-- reset_tasks: what runs\nSELECT name FROM tasks ORDER BY name",
    );
    let deleting = left.all(c, configured::name).await?;
    let names: Vec<&str> = deleting.iter().map(TaskName::as_str).collect();
    changes::begin_deletions(c, &names, None).await?;
    Ok(PendingDeletions {
        deleting,
        postponed: Vec::new(),
    })
}
