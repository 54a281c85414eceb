//! Reads all rows of a file that move into a different store.

use std::borrow::Cow;
use std::path::Path;

use async_trait::async_trait;
use cts_store::StoreError;
use cts_store::schema::SchemaMismatch;
use cts_store_sql::Row;
use cts_store_sql::export::{SqlExport, Stream};
use cts_store_sql::schema::stored;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use crate::call::{Call, Cells, bound, shared};
use crate::pools::{OpenError, failed};
use crate::schema;

/// Why a file cannot be read. Found as the source of [`StoreError::Open`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file belongs to a different program, or is no database.
    #[error("it is no database of cts")]
    Foreign,
    /// An older program wrote the file.
    #[error(
        "it was written by an older cts: run `cts start` of this version once, which brings it up to date"
    )]
    Older,
    /// This program cannot work with its schema.
    #[error(transparent)]
    Mismatch(#[from] SchemaMismatch),
}

/// Opens a file to read it. The caller ensures that no process writes at the same time.
///
/// The file must exist and have the schema of this program; otherwise [`FileError`] is the source of the
/// [`StoreError::Open`]. `boot` as for [`open`](crate::open): in a file that may lack the last commits no input
/// counts as applied.
pub async fn export(path: &Path, boot: Option<&str>) -> Result<SqlExport, StoreError> {
    begin(path, boot).await.map_err(failed(path))
}

async fn begin(path: &Path, boot: Option<&str>) -> Result<SqlExport, OpenError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .disable_statement_logging();
    let mut connection = SqliteConnection::connect_with(&options).await?;
    check(&mut connection).await?;
    let complete: bool = sqlx::query_scalar(
        "-- export: how it was left
        SELECT NOT in_use OR coalesce(identity = ?, 0) FROM continuity",
    )
    .bind(boot)
    .fetch_one(&mut connection)
    .await?;
    sqlx::query("BEGIN").execute(&mut connection).await?;
    // Reading does not use the time.
    let connection = Call::new(Box::new(connection), 0);
    Ok(SqlExport::new(connection, !complete))
}

#[async_trait]
impl Stream for Call<Box<SqliteConnection>> {
    fn stream(&mut self, text: Cow<'static, str>) -> BoxStream<'_, Result<Row, sqlx::Error>> {
        let rows = bound(text, Vec::new()).fetch(&mut **self.connection());
        rows.map(|row| Ok(Row::new(Cells(row?)))).boxed()
    }

    async fn close(self: Box<Self>) -> Result<(), sqlx::Error> {
        self.into_connection().close().await
    }
}

/// Checks that the schema is exactly that of this program; fails with [`FileError`] otherwise.
pub(crate) async fn check(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let stored = stored(&mut shared(connection, 0)).await?;
    if stored.applied.is_empty() {
        return Err(FileError::Foreign.into());
    }
    let missing = schema::plan(&stored).map_err(FileError::from)?;
    if missing.is_empty() {
        Ok(())
    } else {
        Err(FileError::Older.into())
    }
}
