//! Moves rows out of a database.

use std::borrow::Cow;

use async_trait::async_trait;
use cts_store::StoreError;
use cts_store_sql::Row;
use cts_store_sql::export::{SqlExport, Stream};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use sqlx::{Connection as _, PgConnection};

use crate::call::{Call, Cells, bound};
use crate::connection::{Settings, Target};
use crate::schema;

/// Connects, and refuses a schema that does not fit this program, as [`connect`](crate::connect) does.
pub async fn export(settings: &Settings) -> Result<SqlExport, StoreError> {
    let target = Target::new(settings)?;
    schema::check(&target).await?;
    let mut connection = target.single().await?;
    sqlx::query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        .execute(&mut connection)
        .await
        .map_err(|error| target.open_error(error))?;
    Ok(SqlExport::new(Call(Box::new(connection)), false))
}

#[async_trait]
impl Stream for Call<Box<PgConnection>> {
    fn stream(&mut self, text: Cow<'static, str>) -> BoxStream<'_, Result<Row, sqlx::Error>> {
        let rows = bound(text, Vec::new()).fetch(&mut *self.0);
        rows.map(|row| Ok(Row::new(Cells(row?)))).boxed()
    }

    async fn close(self: Box<Self>) -> Result<(), sqlx::Error> {
        self.0.close().await
    }
}
