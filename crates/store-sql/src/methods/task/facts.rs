//! Reads the shown facts of the tasks that have changed (docs/rest.md#overview).

use std::collections::HashMap;

use cts_core::{TaskName, TaskPhase};
use cts_store::fields::Fields;
use cts_store::{ChangedTasks, ShownRun, StoreError, TaskFacts, decode};

use crate::{Connection, events, sql};

/// Reads the tasks that may have changed after a position, or all of them.
pub async fn changed(
    c: &mut dyn Connection,
    after: Option<&str>,
) -> Result<ChangedTasks, StoreError> {
    // Each row has the position and the number of tasks; without a changed task, a single row has only these two. A
    // database that was restored on a different server may have transactions of the future, which would count as
    // changes in each call.
    let text = c.dialect().pick(
        "-- changed_tasks
        SELECT now.position, now.tasks, v.task_name
        FROM (SELECT CAST(coalesce(max(number), 0) AS TEXT) AS position, count(*) AS tasks
              FROM task_changes) now
        LEFT JOIN task_changes v ON v.number > CAST(coalesce($1, '0') AS INTEGER)",
        "-- changed_tasks: those whose newest change that snapshot does not show
        SELECT now.position, now.tasks, v.task_name
        FROM (SELECT pg_current_snapshot()::TEXT AS position, count(*) AS tasks FROM task_versions) now
        LEFT JOIN task_versions v
            ON $1::TEXT IS NULL OR NOT pg_visible_in_snapshot(v.changed_in, $1::TEXT::pg_snapshot)
              AND v.changed_in < pg_snapshot_xmax(pg_current_snapshot())",
    );
    let rows = sql("read which tasks have changed", text).bind(after);
    let rows = rows.all(c, |row| {
        let row = Fields::new(row, "read which tasks have changed", "tasks");
        let name = match row.text_if_any("task_name")? {
            Some(_) => Some(row.parse::<TaskName>("task_name")?),
            None => None,
        };
        let tasks: u64 = row.number("tasks")?;
        Ok((row.text("position")?.to_owned(), tasks, name))
    });
    let mut changed = ChangedTasks::default();
    for (position, tasks, name) in rows.await? {
        changed.position = position;
        changed.tasks = usize::try_from(tasks).unwrap_or(usize::MAX);
        changed.names.extend(name);
    }
    Ok(changed)
}

/// Reads the facts of these tasks.
pub async fn of(c: &mut dyn Connection, names: &[TaskName]) -> Result<Vec<TaskFacts>, StoreError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let noted = sql(
        "read what is noted of tasks",
        "-- task_facts
        SELECT name, phase, explanation FROM tasks
        WHERE name {in $1} AND phase IN ('ready', 'deleting')",
    );
    let noted = noted.bind(names).all(c, |row| {
        let row = Fields::new(row, "read what is noted of tasks", "tasks").keyed("name")?;
        let name: TaskName = row.parse("name")?;
        let explanation = row.text_if_any("explanation")?.map(str::to_owned);
        Ok((name, (row.phase("phase")?, explanation)))
    });
    let mut noted: HashMap<_, _> = noted.await?.into_iter().collect();
    let states = events::states_of(c, names).await?.into_iter();
    let facts = states.filter_map(|state| {
        let (phase, explanation) = noted.remove(&state.task)?;
        Some(TaskFacts {
            state,
            deleting: phase == TaskPhase::Deleting,
            explanation,
        })
    });
    Ok(facts.collect())
}

/// Reads the runs that have not ended.
pub async fn runs(c: &mut dyn Connection) -> Result<Vec<ShownRun>, StoreError> {
    let of_status = |status| {
        format!(
            "SELECT id, task_name, kind, destroys, status, attempts, errors, waiting_for, awaits, due_at, started_at, holder, remote_run,
                   CASE WHEN leased_epoch = epoch THEN run_phase END AS run_phase, run_phase_since
            FROM runs WHERE status = '{status}'"
        )
    };
    let (queued, running) = (of_status("queued"), of_status("running"));
    let text = format!(
        "-- shown_runs; indexes runs_one_queued, runs_one_running\n{queued}\nUNION ALL\n{running}"
    );
    sql("read the open runs", text)
        .all(c, decode::shown_run)
        .await
}
