//! Between columns and values.

use std::time::Duration;

use cts_core::{Event, EventConfig, EventId, RunId};
use cts_store::StoreError;
pub(crate) use cts_store::cell::{Cell, InputEncoding, encoded, encoded_plan, span_micros};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

/// A column of microseconds as a duration; zero if it is negative.
pub(crate) fn span(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

/// Makes an error of the driver one of the store.
pub(crate) fn failed_to(operation: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| StoreError::Database {
        operation,
        source: Box::new(source),
    }
}

/// An event from a row with the columns of the table.
pub(crate) fn event(row: &PgRow) -> Result<Event, StoreError> {
    let read = failed_to("read an event");
    let id: Uuid = row.try_get("id").map_err(&read)?;
    let key = id.to_string();
    let cell = |column| Cell {
        table: "events",
        column,
        row: &key,
    };
    let task_name: String = row.try_get("task_name").map_err(&read)?;
    let config: String = row.try_get("config").map_err(&read)?;
    let config: EventConfig = cell("config").json(&config)?;
    Ok(Event {
        id: EventId::from_uuid(id),
        task_name: cell("task_name").parse(&task_name)?,
        run_id: RunId::from_uuid(row.try_get("run_id").map_err(&read)?),
        success: row.try_get("success").map_err(&read)?,
        start_time: cell("start_time").time(row.try_get("start_time").map_err(&read)?)?,
        end_time: cell("end_time").time(row.try_get("end_time").map_err(&read)?)?,
        error: row.try_get("error").map_err(&read)?,
        config,
    })
}
