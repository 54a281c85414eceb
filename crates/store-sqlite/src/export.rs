//! Everything in a file, to be moved into another store.

use std::path::Path;

use async_trait::async_trait;
use cts_core::ArchiveId;
use cts_store::decode;
use cts_store::schema::{SchemaMismatch, StoredSchema};
use cts_store::transfer::{
    BundleRow, ConfigurationRow, ContentRow, Counts, DeletedTaskRow, EventRow, Export, InputRow,
    LogLineRow, Rows, RunRow, Table, TaskRow,
};
use cts_store::{Archive, ArchivedRow, StoreError};
use cts_store_sql::export as rows;
use cts_store_sql::{Dialect, archive};
use futures::{StreamExt as _, TryStreamExt as _};
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, SqliteConnection};

use crate::call::shared;
use crate::row::{by, failed_to};
use crate::schema;

const OPERATION: &str = "read the file";

/// Why a file cannot be read as it is. Found as the source of [`StoreError::Open`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file is a database of another program, or no database.
    #[error("it is no database of cts")]
    Foreign,
    /// The file was written by an older program.
    #[error(
        "it was written by an older cts: run `cts start` of this version once, which brings it up to date"
    )]
    Older,
    /// This program cannot work with its schema.
    #[error(transparent)]
    Mismatch(#[from] SchemaMismatch),
}

/// Reads one file and changes nothing in it. The caller makes sure that nothing writes at the same time.
#[derive(Debug)]
pub struct SqliteExport {
    connection: SqliteConnection,
    /// The last commits may be missing in the file.
    incomplete: bool,
}

impl SqliteExport {
    /// Opens the file, which must exist and have the schema of this program: [`FileError`] is otherwise the
    /// source of the [`StoreError::Open`].
    ///
    /// `boot` as for [`SqliteStore::open`](crate::SqliteStore::open): in a file that may lack the last
    /// commits no input counts as applied.
    pub async fn open(path: &Path, boot: Option<&str>) -> Result<Self, StoreError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Open {
            location: path.display().to_string(),
            source,
        };
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .disable_statement_logging();
        let mut connection = SqliteConnection::connect_with(&options)
            .await
            .map_err(|error| failed(error.into()))?;
        let stored = schema::stored(&mut connection).await;
        let stored = stored.map_err(|error| failed(error.into()))?;
        check(&stored).map_err(|error| failed(error.into()))?;
        let complete: bool = sqlx::query_scalar(
            "-- export: how it was left
            SELECT NOT in_use OR coalesce(identity = ?, 0) FROM continuity",
        )
        .bind(boot)
        .fetch_one(&mut connection)
        .await
        .map_err(|error| failed(error.into()))?;
        sqlx::query("BEGIN")
            .execute(&mut connection)
            .await
            .map_err(|error| failed(error.into()))?;
        Ok(Self {
            connection,
            incomplete: !complete,
        })
    }

    /// As [`Store::archives`](cts_store::Store::archives); also during writes.
    pub async fn archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        archive::all(&mut shared(&mut self.connection, 0)).await
    }

    /// As [`Store::archived_rows`](cts_store::Store::archived_rows); also during writes.
    pub async fn archived_rows(
        &mut self,
        archive: ArchiveId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ArchivedRow>, StoreError> {
        archive::rows(&mut shared(&mut self.connection, 0), archive, after, limit).await
    }

    /// Closes the file.
    pub async fn close(self) -> Result<(), StoreError> {
        self.connection.close().await.map_err(failed_to(OPERATION))
    }

    fn rows<T: Send + 'static>(
        &mut self,
        query: &'static str,
        read: impl Fn(&SqliteRow) -> Result<T, StoreError> + Send + 'static,
    ) -> Rows<'_, T> {
        let rows = sqlx::query(AssertSqlSafe(Dialect::Sqlite.statement(query).into_owned()))
            .fetch(&mut self.connection);
        rows.map(move |row| read(&row.map_err(failed_to(OPERATION))?))
            .boxed()
    }
}

/// Checks that the schema is exactly that of this program.
pub(crate) fn check(stored: &StoredSchema) -> Result<(), FileError> {
    if stored.applied.is_empty() {
        return Err(FileError::Foreign);
    }
    if schema::plan(stored)?.missing.is_empty() {
        Ok(())
    } else {
        Err(FileError::Older)
    }
}

#[async_trait]
impl Export for SqliteExport {
    async fn counts(&mut self) -> Result<Counts, StoreError> {
        let numbers: (i64, i64, i64, i64, i64, i64, i64, i64, i64) = sqlx::query_as(rows::COUNTS)
            .fetch_one(&mut self.connection)
            .await
            .map_err(failed_to(OPERATION))?;
        let mut counts = Counts::default();
        let numbers: [i64; 9] = numbers.into();
        for (table, number) in Table::ALL.into_iter().zip(numbers) {
            counts.add(table, number.unsigned_abs());
        }
        Ok(counts)
    }

    fn tasks(&mut self) -> Rows<'_, TaskRow> {
        let incomplete = self.incomplete;
        let tasks = self.rows(rows::TASKS, by(decode::task_row));
        let tasks = tasks.map_ok(move |row| TaskRow {
            last_applied: row.last_applied.filter(|_| !incomplete),
            ..row
        });
        tasks.boxed()
    }

    fn deleted_tasks(&mut self) -> Rows<'_, DeletedTaskRow> {
        self.rows(rows::DELETED_TASKS, by(decode::deleted_task_row))
    }

    fn configurations(&mut self) -> Rows<'_, ConfigurationRow> {
        self.rows(rows::CONFIGURATIONS, by(decode::configuration_row))
    }

    fn contents(&mut self) -> Rows<'_, ContentRow> {
        self.rows(rows::CONTENTS, by(rows::content))
    }

    fn inputs(&mut self) -> Rows<'_, InputRow> {
        self.rows(rows::INPUTS, by(rows::input))
    }

    fn runs(&mut self) -> Rows<'_, RunRow> {
        self.rows(rows::RUNS, by(decode::run_row))
    }

    fn events(&mut self) -> Rows<'_, EventRow> {
        self.rows(rows::EVENTS, by(decode::event_row))
    }

    fn log_lines(&mut self) -> Rows<'_, LogLineRow> {
        self.rows(rows::LOG_LINES, by(decode::log_line_row))
    }

    fn bundles(&mut self) -> Rows<'_, BundleRow> {
        self.rows(rows::BUNDLES, by(decode::bundle_row))
    }
}
