//! Between columns and values.

use std::time::Duration;

use cts_store::StoreError;
pub(crate) use cts_store::cell::{
    Cell, InputEncoding, encoded, encoded_details, encoded_plan, span_micros,
};
use cts_store::fields::{ColumnError, Columns, StoredId};
use sqlx::postgres::PgRow;
use sqlx::{Column as _, Row as _, TypeInfo as _};
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

/// A row for the decoders that all stores share.
struct Cells<'r>(&'r PgRow);

impl Columns for Cells<'_> {
    fn text(&self, column: &str) -> Result<Option<&str>, ColumnError> {
        Ok(self.0.try_get(column)?)
    }

    fn id(&self, column: &str) -> Result<Option<StoredId<'_>>, ColumnError> {
        let id: Option<Uuid> = self.0.try_get(column)?;
        Ok(id.map(StoredId::Uuid))
    }

    fn integer(&self, column: &str) -> Result<Option<i64>, ColumnError> {
        Ok(match self.0.try_column(column)?.type_info().name() {
            "INT2" => self.0.try_get::<Option<i16>, _>(column)?.map(i64::from),
            "INT4" => self.0.try_get::<Option<i32>, _>(column)?.map(i64::from),
            _ => self.0.try_get(column)?,
        })
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
) -> impl Fn(&PgRow) -> Result<T, StoreError> {
    move |row| decode(&Cells(row))
}
