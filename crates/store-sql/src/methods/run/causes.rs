//! Causes: their rows, and the runs that they led to. The row of a run names its newest causes in the column `cause`.

use std::collections::BTreeMap;
use std::sync::Arc;

use cts_core::runs::{self, RunCause, add_causes};
use cts_core::{CauseId, RunId, TaskName};
use cts_proto::json::Word as _;
use cts_proto::run::v1::{Cause, CauseState, CauseTasks};
use cts_proto::time::timestamp_to_wire;
use cts_store::StoreError;
use cts_store::cell::encoded;
use cts_store::enqueue::stored_cause;
use cts_store::fields::{Columns, Fields};
use serde_json::{Value, json};

use crate::{Connection, sql};

const OPERATION: &str = "store causes";

/// The runs that causes led to, as rows of `cause_runs`.
pub(crate) fn links(run: RunId, cause: Option<&RunCause>) -> impl Iterator<Item = Value> {
    let causes = cause.into_iter().flat_map(|cause| &cause.causes);
    causes.map(move |cause| json!({"run": run.to_string(), "cause": cause.to_string()}))
}

/// Stores causes and the runs that they led to. Further changes may have joined a stored cause.
pub(crate) async fn store(
    c: &mut dyn Connection,
    causes: &BTreeMap<CauseId, &Arc<runs::Cause>>,
    links: Vec<Value>,
) -> Result<(), StoreError> {
    let rows = causes.iter().map(|(id, cause)| {
        let lines = encoded(OPERATION, &cause.lines())?;
        let begun = cause.at.timestamp_micros();
        Ok::<_, StoreError>(json!({"id": id.to_string(), "begun": begun, "lines": lines}))
    });
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let stored = "-- enqueue: causes
        INSERT INTO causes (id, begun_at, lines)
        SELECT n.id, n.begun, n.lines FROM {rows $1 n: id UUID, begun BIGINT, lines TEXT} WHERE TRUE
        ON CONFLICT (id) DO UPDATE SET lines = excluded.lines WHERE causes.lines <> excluded.lines";
    let linked = "-- enqueue, complete: runs of causes
        INSERT INTO cause_runs (run_id, cause_id)
        SELECT n.run, n.cause FROM {rows $1 n: run UUID, cause UUID} WHERE TRUE ON CONFLICT DO NOTHING";
    for (rows, text) in [(rows, stored), (links, linked)] {
        if !rows.is_empty() {
            let stored = sql(OPERATION, text).bind(Value::from(rows).to_string());
            stored.execute(c).await?;
        }
    }
    Ok(())
}

/// Adds the causes of an apply that has ended without success to the queued apply of its task: a retry, or a newer input.
/// The caller has locked the task.
pub(crate) async fn pass_on(c: &mut dyn Connection, ended: RunId) -> Result<(), StoreError> {
    let queued = sql(
        OPERATION,
        "-- complete: causes that are not applied; indexes runs_pkey, runs_one_queued
        SELECT r.cause AS ended, q.id, q.cause
        FROM runs r
        JOIN runs q ON q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply'
        WHERE r.id = $1 AND r.cause LIKE '%\"causes\":%'",
    );
    let queued = queued.bind(ended).optional(c, |row| {
        let row = Fields::new(row, OPERATION, "runs").keyed_by_id("id")?;
        let ended: RunCause = row.json("ended")?;
        let mut cause: RunCause = row.json_if_any("cause")?.unwrap_or_default();
        add_causes(&mut cause.causes, ended.causes);
        Ok((row.id::<RunId>("id")?, cause))
    });
    let Some((run, cause)) = queued.await? else {
        return Ok(());
    };
    let text = "-- complete: the causes of the queued run
        UPDATE runs SET cause = $2 WHERE id = $1 AND status IS NOT DISTINCT FROM 'queued'";
    let noted = sql(OPERATION, text).bind(run);
    noted.bind(stored_cause(Some(&cause))?).execute(c).await?;
    store(c, &BTreeMap::new(), links(run, Some(&cause)).collect()).await
}

/// Causes from this one on, newest first, with the states of all tasks or only of these. A block has no run: the task
/// names its causes.
pub(crate) async fn list(
    c: &mut dyn Connection,
    from: Option<CauseId>,
    tasks: Option<&[TaskName]>,
    limit: u32,
) -> Result<Vec<Cause>, StoreError> {
    let which = from.map_or("$1 IS NULL", |_| "id <= $1");
    let of_held = tasks.map_or("", |_| "AND t.name {in $3}");
    let of_runs = tasks.map_or("", |_| "WHERE s.task_name {in $3}");
    let runs = c.dialect().pick(
        "JOIN cause_states s ON s.cause_id = p.id",
        "CROSS JOIN LATERAL (SELECT * FROM cause_states WHERE cause_id = p.id OFFSET 0) s",
    );
    let text = format!(
        "-- causes; indexes causes_pkey, cause_runs_cause, runs_pkey, runs_task
        WITH page AS (
            SELECT id, begun_at, lines, '%' || CAST(id AS TEXT) || '%' AS pattern
            FROM causes WHERE {which} ORDER BY id DESC LIMIT $2
        ), carried AS (
            SELECT p.id, s.task_name, s.state, coalesce(s.held LIKE p.pattern, FALSE) AS is_held,
                   row_number() OVER (PARTITION BY p.id, s.task_name ORDER BY s.run_id DESC) AS place
            FROM page p {runs} {of_runs}
        ), states AS (
            SELECT id, task_name, state FROM carried WHERE place = 1 AND NOT is_held
            UNION ALL
            SELECT p.id, t.name, 'blocked' FROM page p JOIN tasks t ON t.held LIKE p.pattern
            WHERE t.held IS NOT NULL {of_held}
        ), named AS (
            SELECT id, state, task_name, count(*) OVER (PARTITION BY id, state) AS tasks,
                   row_number() OVER (PARTITION BY id, state ORDER BY task_name) AS place
            FROM states
        ), listed AS (
            SELECT id, state, max(tasks) AS tasks, {{list task_name by task_name}} AS names
            FROM named WHERE place <= 10 GROUP BY id, state
        )
        SELECT p.id, p.begun_at, p.lines, l.state, l.tasks, l.names
        FROM page p LEFT JOIN listed l ON l.id = p.id
        ORDER BY p.id DESC, l.state"
    );
    let rows = sql("list causes", text).bind(from).bind(limit);
    let rows = match tasks {
        Some(tasks) => rows.bind(tasks),
        None => rows,
    };
    let mut causes: Vec<Cause> = Vec::new();
    for row in rows.all(c, cause_in_state).await? {
        match causes.last_mut() {
            Some(last) if last.id == row.id => last.tasks.extend(row.tasks),
            _ => causes.push(row),
        }
    }
    Ok(causes)
}

/// A cause with its tasks in one state, if there are any.
fn cause_in_state(row: &dyn Columns) -> Result<Cause, StoreError> {
    let row = Fields::new(row, "list causes", "causes").keyed_by_id("id")?;
    let tasks = row.text_if_any("state")?.map(|state| {
        let state = format!("CAUSE_STATE_{}", state.to_ascii_uppercase());
        Ok::<_, StoreError>(CauseTasks {
            state: CauseState::from_name(&state).unwrap_or_default().into(),
            count: row.number("tasks")?,
            names: row.json("names")?,
        })
    });
    Ok(Cause {
        id: row.key().to_owned(),
        at: Some(timestamp_to_wire(row.time("begun_at")?)),
        lines: row.json("lines")?,
        tasks: tasks.transpose()?.into_iter().collect(),
    })
}
