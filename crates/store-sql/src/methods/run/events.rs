//! Events, and the states of tasks that result from the newest events.

use cts_core::{EVENTS_KEPT, EventConfig, TaskCheck, TaskName, TaskStatus};
use cts_store::cell::encoded;
use cts_store::fields::{Columns, Fields};
use cts_store::{Event, StoreError, TaskState, decode};

use crate::tick_events::{self, TickEvent};
use crate::{Connection, sql};

/// Stores the event of a run.
pub async fn store(c: &mut dyn Connection, event: &Event) -> Result<(), StoreError> {
    sql(
        "store an event",
        "-- complete, cancel_run: the event
        INSERT INTO events (id, task_name, run_id, success, start_time, end_time, error, config,
                            incarnation, summary, requested_by, cause)
        SELECT $1, $2, id, $4, $5, $6, $7, $8, incarnation, summary, requested_by, cause
        FROM runs WHERE id = $3",
    )
    .bind(event.id)
    .bind(&event.task_name)
    .bind(event.run_id)
    .bind(event.success)
    .bind(event.start_time.timestamp_micros())
    .bind(event.end_time.timestamp_micros())
    .bind(event.error.as_ref())
    .bind(encoded("store an event", &event.config)?)
    .execute(c)
    .await?;
    Ok(())
}

/// The states of all visible tasks by name, or only of the tasks with this status.
pub async fn states(
    c: &mut dyn Connection,
    status: Option<TaskStatus>,
) -> Result<Vec<TaskState>, StoreError> {
    let mut states = read(c, None).await?;
    states.retain(|state| status.is_none_or(|status| state.status == status));
    Ok(states)
}

/// The states of the visible tasks with these names, by name.
pub async fn states_of(
    c: &mut dyn Connection,
    names: &[TaskName],
) -> Result<Vec<TaskState>, StoreError> {
    read(c, Some(names)).await
}

async fn read(
    c: &mut dyn Connection,
    names: Option<&[TaskName]>,
) -> Result<Vec<TaskState>, StoreError> {
    let which = names.map_or("", |_| "AND t.name {in $2}");
    let events = c.dialect().pick(
        "events e ON e.position IN (
            SELECT position FROM events n
            WHERE n.task_name = t.name AND n.incarnation = t.incarnation
            ORDER BY n.position DESC LIMIT $1)",
        "LATERAL (
            SELECT * FROM events n
            WHERE n.task_name = t.name AND n.incarnation = t.incarnation
            ORDER BY n.position DESC LIMIT $1) e ON TRUE",
    );
    let rows = sql(
        "read the states of tasks",
        format!(
            "-- task_states, task_facts: each task once per event, without events once; index events_task
        SELECT t.name, t.enabled, t.event_config, t.held, t.owes_run, t.last_check, t.state_conflict,
               t.state_conflict_at, t.state_keep,
               e.id, e.position, e.task_name, e.run_id, e.success, e.start_time, e.end_time, e.error,
               e.config, e.summary, e.requested_by, e.cause
        FROM tasks t
        LEFT JOIN {events}
        WHERE t.phase IN ('ready', 'deleting') {which}
        ORDER BY t.name, e.position DESC"
        ),
    );
    let rows = match names {
        Some(names) => rows.bind(EVENTS_KEPT).bind(names),
        None => rows.bind(EVENTS_KEPT),
    };
    let rows = rows.all(c, state_with_event).await?;
    Ok(folded(rows, tick_events::all(c, names).await?))
}

/// The state of one visible task.
pub async fn state(
    c: &mut dyn Connection,
    name: &TaskName,
) -> Result<Option<TaskState>, StoreError> {
    let rows = sql(
        "read the state of a task",
        "-- task_state: once per event, without events once; index events_task
        SELECT t.name, t.enabled, t.event_config, t.held, t.owes_run, t.last_check, t.state_conflict,
               t.state_conflict_at, t.state_keep,
               e.id, e.position, e.task_name, e.run_id, e.success, e.start_time, e.end_time, e.error,
               e.config, e.summary, e.requested_by, e.cause
        FROM tasks t
        LEFT JOIN events e ON e.task_name = t.name AND e.incarnation = t.incarnation
        WHERE t.name = $1 AND t.phase IN ('ready', 'deleting')
        ORDER BY e.position DESC
        LIMIT $2",
    );
    let rows = rows
        .bind(name)
        .bind(EVENTS_KEPT)
        .all(c, state_with_event)
        .await?;
    let ticks = tick_events::all(c, Some(std::slice::from_ref(name))).await?;
    Ok(folded(rows, ticks).pop())
}

/// A task, and one event of its runs with the position of the event.
type StateRow = (TaskState, Option<(i64, Event)>);

fn state_with_event(row: &dyn Columns) -> Result<StateRow, StoreError> {
    let task = Fields::new(row, "read the state of a task", "tasks").keyed("name")?;
    let config: EventConfig = task.json("event_config")?;
    let event = if task.has_id("id")? {
        Some((task.integer("position")?, decode::event(row)?))
    } else {
        None
    };
    let state = TaskState {
        task: task.parse("name")?,
        enabled: task.flag("enabled")?,
        providers: config.providers,
        services: config.services,
        status: TaskStatus::Unknown,
        events: Vec::new(),
        held: task.json_if_any("held")?,
        owes_run: decode::occasion(&task)?,
        check_error: check_error(&task)?,
        conflict: decode::undecided_conflict(row)?,
    };
    Ok((state, event))
}

/// Error of the newest check. Ignored once a task is enabled.
fn check_error(task: &Fields<'_>) -> Result<Option<String>, StoreError> {
    if task.flag("enabled")? {
        return Ok(None);
    }
    let check: Option<TaskCheck> = task.json_if_any("last_check")?;
    Ok(check.and_then(|check| check.error().map(str::to_owned)))
}

/// Combines the rows of each task, which are consecutive; both lists are sorted by task.
fn folded(rows: Vec<StateRow>, ticks: Vec<TickEvent>) -> Vec<TaskState> {
    let mut states: Vec<(TaskState, Vec<(i64, Event)>)> = Vec::new();
    for (state, event) in rows {
        match states
            .last_mut()
            .filter(|(last, _)| last.task == state.task)
        {
            Some((_state, events)) => events.extend(event),
            None => states.push((state, Vec::from_iter(event))),
        }
    }
    let mut ticks = ticks.into_iter().peekable();
    let states = states.into_iter().map(|(mut state, events)| {
        while ticks
            .next_if(|tick| tick.event.task_name < state.task)
            .is_some()
        {}
        let own = std::iter::from_fn(|| ticks.next_if(|tick| tick.event.task_name == state.task));
        state.events = tick_events::merged(events, own.collect());
        state.status = TaskStatus::derive(state.events.iter().map(|event| event.success));
        state
    });
    states.collect()
}
