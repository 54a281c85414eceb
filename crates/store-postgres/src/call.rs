//! The calls that all databases share, on a connection to Postgres.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::ops::DerefMut;

use async_trait::async_trait;
use cts_core::{Digest, FrozenInput};
use cts_store::EncodedContents;
use cts_store::enqueue::EnqueueError;
use cts_store::fields::{ColumnError, Columns, StoredId};
use cts_store_sql::{Connection, Dialect, Row, Value};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Column as _, PgConnection, Postgres, Row as _, TypeInfo as _};
use uuid::Uuid;

use crate::inputs;

/// A connection during one call.
#[derive(Debug)]
pub(crate) struct Call<C>(pub(crate) C);

/// Makes the calls that all databases share.
pub(crate) fn shared(connection: &mut PgConnection) -> Call<&mut PgConnection> {
    Call(connection)
}

#[async_trait]
impl<C: DerefMut<Target = PgConnection> + Send> Connection for Call<C> {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn now(&self) -> Option<i64> {
        None
    }

    async fn execute(
        &mut self,
        text: Cow<'static, str>,
        values: Vec<Value<'_>>,
    ) -> Result<u64, sqlx::Error> {
        let done = bound(text, values).execute(&mut *self.0).await?;
        Ok(done.rows_affected())
    }

    async fn fetch(
        &mut self,
        text: Cow<'static, str>,
        values: Vec<Value<'_>>,
        only_first: bool,
    ) -> Result<Vec<Row>, sqlx::Error> {
        let statement = bound(text, values);
        let rows = if only_first {
            let row = statement.fetch_optional(&mut *self.0).await?;
            row.into_iter().collect()
        } else {
            statement.fetch_all(&mut *self.0).await?
        };
        Ok(rows.into_iter().map(|row| Row::new(Cells(row))).collect())
    }

    async fn store_inputs(
        &mut self,
        new: &BTreeMap<Digest, &FrozenInput>,
        encoded: &EncodedContents,
        now: i64,
    ) -> Result<(), EnqueueError> {
        inputs::store(&mut self.0, new, encoded, now).await
    }
}

pub(crate) fn bound(
    text: Cow<'static, str>,
    values: Vec<Value<'_>>,
) -> Query<'static, Postgres, PgArguments> {
    let mut statement = match text {
        Cow::Borrowed(text) => sqlx::query(text),
        Cow::Owned(text) => sqlx::query(AssertSqlSafe(text)),
    };
    for value in values {
        statement = match value {
            Value::Text(text) => statement.bind(text.map(storable)),
            Value::Integer(number) => statement.bind(number),
            Value::Flag(flag) => statement.bind(flag),
            Value::Bytes(bytes) => statement.bind(bytes.map(Cow::into_owned)),
            Value::Id(id) => statement.bind(id),
            Value::Texts(texts) => {
                statement.bind(texts.into_iter().map(storable).collect::<Vec<_>>())
            }
            Value::Integers(numbers) => statement.bind(numbers),
            Value::Ids(ids) => statement.bind(ids),
        };
    }
    statement
}

/// Replaces the character NUL, which Postgres cannot store in texts.
pub(crate) fn storable(text: Cow<'_, str>) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{FFFD}")
    } else {
        text.into_owned()
    }
}

/// A row for the decoders that all stores share.
pub(crate) struct Cells<R>(pub(crate) R);

impl<R: Borrow<PgRow>> Columns for Cells<R> {
    fn text(&self, column: &str) -> Result<Option<&str>, ColumnError> {
        Ok(self.0.borrow().try_get(column)?)
    }

    fn id(&self, column: &str) -> Result<Option<StoredId<'_>>, ColumnError> {
        let id: Option<Uuid> = self.0.borrow().try_get(column)?;
        Ok(id.map(StoredId::Uuid))
    }

    fn integer(&self, column: &str) -> Result<Option<i64>, ColumnError> {
        Ok(
            match self.0.borrow().try_column(column)?.type_info().name() {
                "INT2" => self
                    .0
                    .borrow()
                    .try_get::<Option<i16>, _>(column)?
                    .map(i64::from),
                "INT4" => self
                    .0
                    .borrow()
                    .try_get::<Option<i32>, _>(column)?
                    .map(i64::from),
                _ => self.0.borrow().try_get(column)?,
            },
        )
    }

    fn flag(&self, column: &str) -> Result<Option<bool>, ColumnError> {
        Ok(self.0.borrow().try_get(column)?)
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, ColumnError> {
        Ok(self.0.borrow().try_get(column)?)
    }
}
