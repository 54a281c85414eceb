//! States of tasks by their newest events.

use parking_lot::Mutex;
use std::sync::Arc;

use cts_core::{EVENTS_KEPT, EventConfig, TaskName, TaskStatus};
use cts_store::decode;
use cts_store::{StoreError, TaskState};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use crate::row::{Cell, by, failed_to};

#[expect(clippy::cast_possible_wrap, reason = "a handful")]
const EVENTS_SHOWN: i64 = EVENTS_KEPT as i64;

pub(crate) async fn all(
    connection: &mut PgConnection,
    status: Option<TaskStatus>,
) -> Result<Vec<TaskState>, StoreError> {
    let rows = sqlx::query(
        "-- task_states: each task once per event, without events once; index events_task
        SELECT t.name, t.enabled, t.event_config, t.held,
               e.id, e.task_name, e.run_id, e.success, e.start_time, e.end_time, e.error, e.config,
               e.summary
        FROM tasks t
        LEFT JOIN LATERAL (
            SELECT * FROM events n
            WHERE n.task_name = t.name AND n.incarnation = t.incarnation
            ORDER BY n.position DESC LIMIT $1) e ON TRUE
        WHERE t.phase IN ('ready', 'deleting')
        ORDER BY t.name, e.position DESC",
    )
    .bind(EVENTS_SHOWN)
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the states of tasks"))?;
    let mut states = fold(&rows)?;
    states.retain(|state| status.is_none_or(|status| state.status == status));
    Ok(states)
}

/// The version of the states, as it was read last. Cheap to clone; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Version(Arc<Mutex<Known>>);

#[derive(Debug, Clone, Default)]
struct Known {
    /// Snapshot of the visible transactions: another text after each transaction that has written.
    snapshot: String,
    version: String,
}

impl Version {
    /// A digest over the versions of all tasks, which is made only if something was written since.
    pub(crate) async fn read(&self, connection: &mut PgConnection) -> Result<String, StoreError> {
        let known = self.0.lock().clone();
        let (snapshot, version): (String, Option<String>) = sqlx::query_as(
            "-- version
            SELECT seen, CASE WHEN seen <> $1 THEN (
                SELECT concat(count(*), '.', sum(hashtextextended(task_name, version)))
                FROM task_versions) END
            FROM (SELECT pg_current_snapshot()::TEXT AS seen) AS now",
        )
        .bind(&known.snapshot)
        .fetch_one(connection)
        .await
        .map_err(failed_to("read the version of the states"))?;
        let Some(version) = version else {
            return Ok(known.version);
        };
        *self.0.lock() = Known {
            snapshot,
            version: version.clone(),
        };
        Ok(version)
    }
}

pub(crate) async fn one(
    connection: &mut PgConnection,
    name: &TaskName,
) -> Result<Option<TaskState>, StoreError> {
    let rows = sqlx::query(
        "-- task_state: once per event, without events once; index events_task
        SELECT t.name, t.enabled, t.event_config, t.held,
               e.id, e.task_name, e.run_id, e.success, e.start_time, e.end_time, e.error, e.config,
               e.summary
        FROM tasks t
        LEFT JOIN events e ON e.task_name = t.name AND e.incarnation = t.incarnation
        WHERE t.name = $1 AND t.phase IN ('ready', 'deleting')
        ORDER BY e.position DESC
        LIMIT $2",
    )
    .bind(name.as_str())
    .bind(EVENTS_SHOWN)
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the state of a task"))?;
    Ok(fold(&rows)?.pop())
}

fn fold(rows: &[PgRow]) -> Result<Vec<TaskState>, StoreError> {
    let read = failed_to("read the state of a task");
    let mut states: Vec<TaskState> = Vec::new();
    for row in rows {
        let name: &str = row.try_get("name").map_err(&read)?;
        if states
            .last()
            .is_none_or(|state| state.task.as_str() != name)
        {
            let cell = |column| Cell {
                table: "tasks",
                column,
                row: name,
            };
            let held: Option<&str> = row.try_get("held").map_err(&read)?;
            let config: &str = row.try_get("event_config").map_err(&read)?;
            let config: EventConfig = cell("event_config").json(config)?;
            states.push(TaskState {
                task: cell("name").parse(name)?,
                enabled: row.try_get("enabled").map_err(&read)?,
                providers: config.providers,
                status: TaskStatus::Unknown,
                events: Vec::new(),
                held: held.map(|held| cell("held").json(held)).transpose()?,
            });
        }
        let has_event = row
            .try_get::<Option<Uuid>, _>("id")
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
