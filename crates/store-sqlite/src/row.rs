//! Between columns and values.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::RunStatus;
use cts_core::{Event, EventConfig, TaskOrigin};
use cts_store::{LogStream, StoreError};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

/// Microseconds since 1970.
pub(crate) fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// A duration in microseconds; one too long for the column becomes the longest there is.
pub(crate) fn span_micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 2)
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

/// The JSON of a value.
pub(crate) fn encoded(
    operation: &'static str,
    value: &impl serde::Serialize,
) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database {
        operation,
        source: Box::new(error),
    })
}

/// Which cell a value was read from, for errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
    pub(crate) row: &'a str,
}

impl Cell<'_> {
    pub(crate) fn corrupt(
        self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> StoreError {
        let Self { table, column, row } = self;
        StoreError::CorruptRow {
            table,
            column,
            row: row.to_owned(),
            source: source.into(),
        }
    }

    pub(crate) fn parse<T>(self, text: &str) -> Result<T, StoreError>
    where
        T: FromStr,
        T::Err: std::error::Error + Send + Sync + 'static,
    {
        text.parse().map_err(|error| self.corrupt(Box::new(error)))
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.corrupt(error))
    }

    pub(crate) fn time(self, micros: i64) -> Result<DateTime<Utc>, StoreError> {
        DateTime::from_timestamp_micros(micros)
            .ok_or_else(|| self.corrupt(format!("{micros} is out of range")))
    }

    pub(crate) fn number<T: TryFrom<i64>>(self, number: i64) -> Result<T, StoreError>
    where
        T::Error: Display,
    {
        T::try_from(number).map_err(|error| self.corrupt(format!("{number}: {error}")))
    }

    fn unknown(self, text: &str) -> StoreError {
        self.corrupt(format!("{text:?} is unknown"))
    }

    pub(crate) fn origin(self, text: &str) -> Result<TaskOrigin, StoreError> {
        [TaskOrigin::Config, TaskOrigin::Api]
            .into_iter()
            .find(|origin| origin.as_str() == text)
            .ok_or_else(|| self.unknown(text))
    }

    pub(crate) fn run_status(self, text: &str) -> Result<RunStatus, StoreError> {
        use RunStatus::{Cancelled, Failed, Queued, Running, Succeeded};
        [Queued, Running, Succeeded, Failed, Cancelled]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| self.unknown(text))
    }

    pub(crate) fn input_encoding(self, text: &str) -> Result<InputEncoding, StoreError> {
        [InputEncoding::Plain, InputEncoding::Zstd]
            .into_iter()
            .find(|encoding| encoding.as_str() == text)
            .ok_or_else(|| self.unknown(text))
    }

    pub(crate) fn log_stream(self, text: &str) -> Result<LogStream, StoreError> {
        [LogStream::Stdout, LogStream::Stderr]
            .into_iter()
            .find(|stream| stream.as_str() == text)
            .ok_or_else(|| self.unknown(text))
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

/// How the bytes of an input are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputEncoding {
    /// As they are.
    Plain,
    /// Compressed.
    Zstd,
}

impl InputEncoding {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Zstd => "zstd",
        }
    }

    /// The bytes that were stored as `content`.
    pub(crate) fn decode(self, content: Vec<u8>) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(content),
            Self::Zstd => zstd::decode_all(content.as_slice()),
        }
    }
}
