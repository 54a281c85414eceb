//! Between columns and values.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::{Event, EventConfig};
use cts_store::StoreError;
pub(crate) use cts_store::cell::{Cell, encoded, encoded_plan, span_micros};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

/// Microseconds since 1970.
pub(crate) fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// Time from one moment to another, both in microseconds since 1970; zero if the other is earlier.
pub(crate) fn between(from: i64, to: i64) -> Duration {
    Duration::from_micros(u64::try_from(to.saturating_sub(from)).unwrap_or_default())
}

/// Makes an error of the driver one of the store.
pub(crate) fn failed_to(operation: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| StoreError::Database {
        operation,
        source: Box::new(source),
    }
}

/// An event from a row with the columns of the table.
pub(crate) fn event(row: &SqliteRow) -> Result<Event, StoreError> {
    let read = failed_to("read an event");
    let id: String = row.try_get("id").map_err(&read)?;
    let cell = |column| Cell {
        table: "events",
        column,
        row: &id,
    };
    let task_name: String = row.try_get("task_name").map_err(&read)?;
    let run_id: String = row.try_get("run_id").map_err(&read)?;
    let config: String = row.try_get("config").map_err(&read)?;
    let config: EventConfig = cell("config").json(&config)?;
    Ok(Event {
        id: cell("id").parse(&id)?,
        task_name: cell("task_name").parse(&task_name)?,
        run_id: cell("run_id").parse(&run_id)?,
        success: row.try_get("success").map_err(&read)?,
        start_time: cell("start_time").time(row.try_get("start_time").map_err(&read)?)?,
        end_time: cell("end_time").time(row.try_get("end_time").map_err(&read)?)?,
        error: row.try_get("error").map_err(&read)?,
        config,
    })
}
