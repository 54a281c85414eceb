//! Between columns and values.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_store::StoreError;
pub(crate) use cts_store::cell::{Cell, encoded, encoded_details, encoded_plan, span_micros};
use cts_store::fields::{ColumnError, Columns, StoredId};
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

/// A row for the decoders that all stores share.
struct Cells<'r>(&'r SqliteRow);

impl Columns for Cells<'_> {
    fn text(&self, column: &str) -> Result<Option<&str>, ColumnError> {
        Ok(self.0.try_get(column)?)
    }

    fn id(&self, column: &str) -> Result<Option<StoredId<'_>>, ColumnError> {
        Ok(self
            .0
            .try_get::<Option<&str>, _>(column)?
            .map(StoredId::Text))
    }

    fn integer(&self, column: &str) -> Result<Option<i64>, ColumnError> {
        Ok(self.0.try_get(column)?)
    }

    fn flag(&self, column: &str) -> Result<Option<bool>, ColumnError> {
        Ok(self.0.try_get(column)?)
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, ColumnError> {
        Ok(self.0.try_get(column)?)
    }
}

/// A decoder of [`cts_store::decode`] for rows of this database.
pub(crate) fn by<T>(
    decode: fn(&dyn Columns) -> Result<T, StoreError>,
) -> impl Fn(&SqliteRow) -> Result<T, StoreError> {
    move |row| decode(&Cells(row))
}
