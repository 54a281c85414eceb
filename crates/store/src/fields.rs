//! Typed access to the columns of a row by name, identical for every database.

use std::borrow::Cow;
use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{Plan, RunKind, RunStatus};
use cts_core::{TaskOrigin, TaskPhase};
use cts_proto::log::v1::LogStream;
use cts_proto::run::v1::RunDetails;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::cell::Cell;
use crate::destruction::kind_of_run;
use crate::details::join;
use crate::error::StoreError;

/// Why the driver cannot read a column.
pub type ColumnError = Box<dyn Error + Send + Sync>;

/// An id as stored by the database.
#[derive(Debug, Clone, Copy)]
pub enum StoredId<'r> {
    /// In the database's type for UUIDs.
    Uuid(Uuid),
    /// As a text, which may not be a valid id.
    Text(&'r str),
}

/// A row of a database. `None` is `NULL`.
pub trait Columns {
    /// A text.
    fn text(&self, column: &str) -> Result<Option<&str>, ColumnError>;
    /// An id.
    fn id(&self, column: &str) -> Result<Option<StoredId<'_>>, ColumnError>;
    /// A whole number of any width.
    fn integer(&self, column: &str) -> Result<Option<i64>, ColumnError>;
    /// A truth value.
    fn flag(&self, column: &str) -> Result<Option<bool>, ColumnError>;
    /// Bytes.
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, ColumnError>;
}

/// The typed fields of one row; an error names the cell.
#[expect(
    missing_debug_implementations,
    reason = "a row shows nothing of itself"
)]
pub struct Fields<'r> {
    row: &'r dyn Columns,
    operation: &'static str,
    table: &'static str,
    key: Cow<'r, str>,
}

impl<'r> Fields<'r> {
    /// Fields of a row without a key.
    pub fn new(row: &'r dyn Columns, operation: &'static str, table: &'static str) -> Self {
        Self {
            row,
            operation,
            table,
            key: Cow::Borrowed(""),
        }
    }

    /// Sets a text column as the key.
    pub fn keyed(self, column: &'static str) -> Result<Self, StoreError> {
        let key = Cow::Borrowed(self.text(column)?);
        Ok(Self { key, ..self })
    }

    /// Sets an id column as the key.
    pub fn keyed_by_id(self, column: &'static str) -> Result<Self, StoreError> {
        let key = match self.there(column, self.row.id(column))? {
            StoredId::Uuid(id) => Cow::Owned(id.to_string()),
            StoredId::Text(text) => Cow::Borrowed(text),
        };
        Ok(Self { key, ..self })
    }

    /// Sets a number column as the key.
    pub fn keyed_by_number(self, column: &'static str) -> Result<Self, StoreError> {
        let key = Cow::Owned(self.integer(column)?.to_string());
        Ok(Self { key, ..self })
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The cell of a column, for errors.
    pub fn cell(&self, column: &'static str) -> Cell<'_> {
        Cell {
            table: self.table,
            column,
            row: &self.key,
        }
    }

    fn read<T>(&self, value: Result<T, ColumnError>) -> Result<T, StoreError> {
        value.map_err(|source| StoreError::Database {
            operation: self.operation,
            source,
        })
    }

    fn there<T>(
        &self,
        column: &'static str,
        value: Result<Option<T>, ColumnError>,
    ) -> Result<T, StoreError> {
        self.read(value)?.ok_or_else(|| StoreError::Database {
            operation: self.operation,
            source: format!("column {column} is NULL").into(),
        })
    }

    /// A text.
    pub fn text(&self, column: &'static str) -> Result<&'r str, StoreError> {
        self.there(column, self.row.text(column))
    }

    /// A text, or `None` for NULL.
    pub fn text_if_any(&self, column: &'static str) -> Result<Option<&'r str>, StoreError> {
        self.read(self.row.text(column))
    }

    /// A whole number.
    pub fn integer(&self, column: &'static str) -> Result<i64, StoreError> {
        self.there(column, self.row.integer(column))
    }

    /// A whole number, or `None` for NULL.
    pub fn integer_if_any(&self, column: &'static str) -> Result<Option<i64>, StoreError> {
        self.read(self.row.integer(column))
    }

    /// A truth value.
    pub fn flag(&self, column: &'static str) -> Result<bool, StoreError> {
        self.there(column, self.row.flag(column))
    }

    /// A truth value, or `None` for NULL.
    pub fn flag_if_any(&self, column: &'static str) -> Result<Option<bool>, StoreError> {
        self.read(self.row.flag(column))
    }

    /// Bytes.
    pub fn bytes(&self, column: &'static str) -> Result<Vec<u8>, StoreError> {
        self.there(column, self.row.bytes(column))
    }

    /// An id.
    pub fn id<T>(&self, column: &'static str) -> Result<T, StoreError>
    where
        T: From<Uuid> + FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        let id = self.id_under(column, column)?;
        self.there(column, Ok(id))
    }

    /// An id, or `None` for NULL; the column is named `alias` in the result.
    pub fn id_under<T>(
        &self,
        alias: &'static str,
        column: &'static str,
    ) -> Result<Option<T>, StoreError>
    where
        T: From<Uuid> + FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        let id = self.read(self.row.id(alias))?;
        id.map(|id| match id {
            StoredId::Uuid(id) => Ok(T::from(id)),
            StoredId::Text(text) => self.cell(column).parse(text),
        })
        .transpose()
    }

    /// Whether the column holds an id.
    pub fn has_id(&self, column: &'static str) -> Result<bool, StoreError> {
        Ok(self.read(self.row.id(column))?.is_some())
    }

    /// Parses a text that this program has written.
    pub fn parse<T>(&self, column: &'static str) -> Result<T, StoreError>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        self.cell(column).parse(self.text(column)?)
    }

    /// Parses a text, or returns `None` for NULL.
    pub fn parse_if_any<T>(&self, column: &'static str) -> Result<Option<T>, StoreError>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        self.parse_under(column, column)
    }

    /// Parses a text, or returns `None` for NULL; the column is named `alias` in the result.
    pub fn parse_under<T>(
        &self,
        alias: &'static str,
        column: &'static str,
    ) -> Result<Option<T>, StoreError>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        let text = self.text_if_any(alias)?;
        text.map(|text| self.cell(column).parse(text)).transpose()
    }

    /// The value of a JSON text.
    pub fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T, StoreError> {
        self.cell(column).json(self.text(column)?)
    }

    /// A value as JSON, or `None` for NULL.
    pub fn json_if_any<T: DeserializeOwned>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, StoreError> {
        let text = self.text_if_any(column)?;
        text.map(|text| self.cell(column).json(text)).transpose()
    }

    /// A whole number, which must fit into the type.
    pub fn number<T: TryFrom<i64>>(&self, column: &'static str) -> Result<T, StoreError>
    where
        T::Error: std::fmt::Display,
    {
        self.cell(column).number(self.integer(column)?)
    }

    /// The moment of microseconds since 1970.
    pub fn time(&self, column: &'static str) -> Result<DateTime<Utc>, StoreError> {
        self.cell(column).time(self.integer(column)?)
    }

    /// The moment of microseconds since 1970, or `None` for NULL.
    pub fn time_if_any(&self, column: &'static str) -> Result<Option<DateTime<Utc>>, StoreError> {
        let micros = self.integer_if_any(column)?;
        micros
            .map(|micros| self.cell(column).time(micros))
            .transpose()
    }

    /// A duration in microseconds; zero if it is negative.
    pub fn span(&self, column: &'static str) -> Result<Duration, StoreError> {
        Ok(self.span_if_any(column)?.unwrap_or_default())
    }

    /// A duration in microseconds, or `None` for NULL; zero if it is negative.
    pub fn span_if_any(&self, column: &'static str) -> Result<Option<Duration>, StoreError> {
        let micros = self.integer_if_any(column)?;
        Ok(micros.map(|micros| Duration::from_micros(u64::try_from(micros).unwrap_or_default())))
    }

    /// Origin of a task.
    pub fn origin(&self, column: &'static str) -> Result<TaskOrigin, StoreError> {
        self.cell(column).origin(self.text(column)?)
    }

    /// Phase of a task between creation and deletion.
    pub fn phase(&self, column: &'static str) -> Result<TaskPhase, StoreError> {
        self.cell(column).phase(self.text(column)?)
    }

    /// The kind of a requested run.
    pub fn run_kind(&self, column: &'static str) -> Result<RunKind, StoreError> {
        self.cell(column).run_kind(self.text(column)?)
    }

    /// The kind of a run, from its two columns.
    pub fn kind_of_run(&self) -> Result<RunKind, StoreError> {
        let (kind, destroys) = (self.text("kind")?, self.text_if_any("destroys")?);
        kind_of_run(self.cell("kind"), kind, destroys)
    }

    /// A run's status.
    pub fn run_status(&self, column: &'static str) -> Result<RunStatus, StoreError> {
        self.cell(column).run_status(self.text(column)?)
    }

    /// The stream of a log line.
    pub fn log_stream(&self, column: &'static str) -> Result<LogStream, StoreError> {
        self.cell(column).log_stream(self.text(column)?)
    }

    /// The plan of a run, from its three columns.
    pub fn plan(&self) -> Result<Option<Plan>, StoreError> {
        self.cell("plan").plan(
            self.read(self.row.flag("changes_present"))?,
            self.text_if_any("plan_encoding")?,
            self.read(self.row.bytes("plan"))?,
        )
    }

    /// Details of an attempt, from its two columns. Lists do not select the second column.
    pub fn details(&self) -> Result<Option<RunDetails>, StoreError> {
        let Some(summary) = self.text_if_any("summary")? else {
            return Ok(None);
        };
        let findings = self.text_if_any("findings")?;
        let findings = findings.map(|text| self.cell("findings").json(text));
        let summary = self.cell("summary").json(summary)?;
        Ok(Some(join(
            summary,
            findings.transpose()?.unwrap_or_default(),
        )))
    }
}
