//! Conversion between columns and values.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_store::StoreError;
pub(crate) use cts_store::cell::{Cell, encoded, encoded_details, encoded_plan, span_micros};
use cts_store::fields::Columns;
pub(crate) use cts_store_sql::failed_to;
use sqlx::sqlite::SqliteRow;

use crate::call::Cells;

/// Microseconds since 1970.
pub(crate) fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// Time between two times in microseconds since 1970; zero if `to` is earlier than `from`.
pub(crate) fn between(from: i64, to: i64) -> Duration {
    Duration::from_micros(u64::try_from(to.saturating_sub(from)).unwrap_or_default())
}

/// A decoder of [`cts_store::decode`] for rows of this database.
pub(crate) fn by<T>(
    decode: fn(&dyn Columns) -> Result<T, StoreError>,
) -> impl Fn(&SqliteRow) -> Result<T, StoreError> {
    move |row| decode(&Cells(row))
}
