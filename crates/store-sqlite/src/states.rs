//! States of tasks by their newest events.

use cts_core::{EVENTS_KEPT, EventConfig, TaskName, TaskStatus};
use cts_store::decode;
use cts_store::{StoreError, TaskState};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::row::{Cell, by, failed_to};

pub(crate) async fn all(
    pool: &SqlitePool,
    status: Option<TaskStatus>,
) -> Result<Vec<TaskState>, StoreError> {
    let rows = sqlx::query(
        "-- task_states: each task once per event, without events once; index events_task
        SELECT t.name, t.enabled, t.event_config, t.held,
               e.id, e.task_name, e.run_id, e.success, e.start_time, e.end_time, e.error, e.config,
               e.summary
        FROM tasks t
        LEFT JOIN events e ON e.position IN (
            SELECT position FROM events n
            WHERE n.task_name = t.name AND n.incarnation = t.incarnation
            ORDER BY n.position DESC LIMIT ?)
        WHERE t.phase IN ('ready', 'deleting')
        ORDER BY t.name, e.position DESC",
    )
    .bind(i64::try_from(EVENTS_KEPT).unwrap_or(i64::MAX))
    .fetch_all(pool)
    .await
    .map_err(failed_to("read the states of tasks"))?;
    let mut states = fold(&rows)?;
    states.retain(|state| status.is_none_or(|status| state.status == status));
    Ok(states)
}

pub(crate) async fn one(
    pool: &SqlitePool,
    name: &TaskName,
) -> Result<Option<TaskState>, StoreError> {
    let rows = sqlx::query(
        "-- task_state: once per event, without events once; index events_task
        SELECT t.name, t.enabled, t.event_config, t.held,
               e.id, e.task_name, e.run_id, e.success, e.start_time, e.end_time, e.error, e.config,
               e.summary
        FROM tasks t
        LEFT JOIN events e ON e.task_name = t.name AND e.incarnation = t.incarnation
        WHERE t.name = ? AND t.phase IN ('ready', 'deleting')
        ORDER BY e.position DESC
        LIMIT ?",
    )
    .bind(name.as_str())
    .bind(i64::try_from(EVENTS_KEPT).unwrap_or(i64::MAX))
    .fetch_all(pool)
    .await
    .map_err(failed_to("read the state of a task"))?;
    Ok(fold(&rows)?.pop())
}

fn fold(rows: &[SqliteRow]) -> Result<Vec<TaskState>, StoreError> {
    let read = failed_to("read the state of a task");
    let mut states: Vec<TaskState> = Vec::new();
    for row in rows {
        let name: String = row.try_get("name").map_err(&read)?;
        if states
            .last()
            .is_none_or(|state| state.task.as_str() != name)
        {
            let cell = |column| Cell {
                table: "tasks",
                column,
                row: &name,
            };
            let held: Option<&str> = row.try_get("held").map_err(&read)?;
            let config: String = row.try_get("event_config").map_err(&read)?;
            let config: EventConfig = cell("event_config").json(&config)?;
            states.push(TaskState {
                task: cell("name").parse(&name)?,
                enabled: row.try_get("enabled").map_err(&read)?,
                providers: config.providers,
                status: TaskStatus::Unknown,
                events: Vec::new(),
                held: held.map(|held| cell("held").json(held)).transpose()?,
            });
        }
        let has_event = row
            .try_get::<Option<&str>, _>("id")
            .map_err(&read)?
            .is_some();
        if let Some(state) = states.last_mut().filter(|_| has_event) {
            state.events.push(by(decode::event)(row)?);
        }
    }
    for state in &mut states {
        state.status = TaskStatus::derive(state.events.iter().map(|event| event.success));
    }
    Ok(states)
}
