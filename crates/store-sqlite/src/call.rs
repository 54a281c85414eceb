//! The calls that all databases share, on a connection to SQLite.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::ops::DerefMut;

use async_trait::async_trait;
use cts_core::{Digest, FrozenInput};
use cts_store::enqueue::EnqueueError;
use cts_store::fields::{ColumnError, Columns, StoredId};
use cts_store::{EncodedContents, StoreError};
use cts_store_sql::{Connection, Dialect, Outcome, Row, Session, Value};
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _, Sqlite, SqliteConnection};

use crate::inputs;
use crate::writer::Write;

/// A connection of any kind during one call, with the time of the call.
#[derive(Debug)]
pub(crate) struct Call<C> {
    connection: C,
    now: i64,
}

/// A connection that only reads.
pub(crate) type Reading = Call<PoolConnection<Sqlite>>;

pub(crate) type Writing = Call<Write>;

/// Makes the calls that all databases share at this time.
pub(crate) fn shared(connection: &mut SqliteConnection, now: i64) -> Call<&mut SqliteConnection> {
    Call { connection, now }
}

impl<C> Call<C> {
    pub(crate) fn new(connection: C, now: i64) -> Self {
        Self { connection, now }
    }

    pub(crate) fn into_connection(self) -> C {
        self.connection
    }

    pub(crate) fn connection(&mut self) -> &mut C {
        &mut self.connection
    }
}

#[async_trait]
impl<C: DerefMut<Target = SqliteConnection> + Send> Connection for Call<C> {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn now(&self) -> Option<i64> {
        Some(self.now)
    }

    async fn execute(
        &mut self,
        text: Cow<'static, str>,
        values: Vec<Value<'_>>,
    ) -> Result<u64, sqlx::Error> {
        let done = bound(text, values).execute(&mut *self.connection).await?;
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
            let row = statement.fetch_optional(&mut *self.connection).await?;
            row.into_iter().collect()
        } else {
            statement.fetch_all(&mut *self.connection).await?
        };
        Ok(rows.into_iter().map(|row| Row::new(Cells(row))).collect())
    }

    async fn store_inputs(
        &mut self,
        new: &BTreeMap<Digest, &FrozenInput>,
        encoded: &EncodedContents,
        now: i64,
    ) -> Result<(), EnqueueError> {
        for input in new.values() {
            inputs::store(&mut self.connection, input, encoded, now).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Session for Reading {
    async fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn end(self: Box<Self>, _outcome: Outcome) {}
}

#[async_trait]
impl Session for Writing {
    async fn commit(&mut self) -> Result<(), StoreError> {
        self.connection.commit().await
    }

    async fn end(self: Box<Self>, _outcome: Outcome) {}
}

pub(crate) fn bound(
    text: Cow<'static, str>,
    values: Vec<Value<'_>>,
) -> Query<'static, Sqlite, SqliteArguments> {
    let mut statement = match text {
        Cow::Borrowed(text) => sqlx::query(text),
        Cow::Owned(text) => sqlx::query(AssertSqlSafe(text)),
    };
    for value in values {
        statement = match value {
            Value::Text(text) => statement.bind(text.map(Cow::into_owned)),
            Value::Integer(number) => statement.bind(number),
            Value::Flag(flag) => statement.bind(flag),
            Value::Bytes(bytes) => statement.bind(bytes.map(Cow::into_owned)),
            Value::Id(id) => statement.bind(id.map(|id| id.to_string())),
            Value::Texts(texts) => statement.bind(serde_json::json!(texts).to_string()),
            Value::Integers(numbers) => statement.bind(serde_json::json!(numbers).to_string()),
            Value::Ids(ids) => {
                let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
                statement.bind(serde_json::json!(ids).to_string())
            }
        };
    }
    statement
}

/// A row for the decoders that all stores share.
pub(crate) struct Cells<R>(pub(crate) R);

impl<R: Borrow<SqliteRow>> Columns for Cells<R> {
    fn text(&self, column: &str) -> Result<Option<&str>, ColumnError> {
        Ok(self.0.borrow().try_get(column)?)
    }

    fn id(&self, column: &str) -> Result<Option<StoredId<'_>>, ColumnError> {
        let id = self.0.borrow().try_get::<Option<&str>, _>(column)?;
        Ok(id.map(StoredId::Text))
    }

    fn integer(&self, column: &str) -> Result<Option<i64>, ColumnError> {
        Ok(self.0.borrow().try_get(column)?)
    }

    fn flag(&self, column: &str) -> Result<Option<bool>, ColumnError> {
        Ok(self.0.borrow().try_get(column)?)
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, ColumnError> {
        Ok(self.0.borrow().try_get(column)?)
    }
}
