//! Conversion between columns and values.

use chrono::{DateTime, Utc};
use cts_store::StoreError;
pub(crate) use cts_store::cell::{Cell, span_micros};
use cts_store::fields::Columns;
use sqlx::sqlite::SqliteRow;

use crate::call::Cells;

/// Microseconds since 1970.
pub(crate) fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// A decoder of [`cts_store::decode`] for rows of this database.
pub(crate) fn by<T>(
    decode: fn(&dyn Columns) -> Result<T, StoreError>,
) -> impl Fn(&SqliteRow) -> Result<T, StoreError> {
    move |row| decode(&Cells(row))
}
