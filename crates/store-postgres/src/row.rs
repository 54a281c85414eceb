//! Conversion between columns and values.

use std::time::Duration;

use cts_store::StoreError;
pub(crate) use cts_store::cell::{Cell, encoded, encoded_details, span_micros};
use cts_store::fields::Columns;
pub(crate) use cts_store_sql::failed_to;
use sqlx::postgres::PgRow;

use crate::call::Cells;

/// A column of microseconds as a duration; zero if it is negative.
pub(crate) fn span(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

/// A decoder of [`cts_store::decode`] for rows of this database.
pub(crate) fn by<T>(
    decode: fn(&dyn Columns) -> Result<T, StoreError>,
) -> impl Fn(&PgRow) -> Result<T, StoreError> {
    move |row| decode(&Cells(row))
}
