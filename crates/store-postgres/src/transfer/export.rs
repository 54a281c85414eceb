//! Out of a database.

use async_trait::async_trait;
use cts_store::StoreError;
use cts_store::decode;
use cts_store::transfer::{
    BundleRow, ConfigurationRow, ContentRow, Counts, DeletedTaskRow, EventRow, Export, InputRow,
    LogLineRow, Rows, RunRow, Table, TaskRow,
};
use cts_store_sql::Dialect;
use cts_store_sql::export::{self as rows, OPERATION};
use futures::StreamExt as _;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::connection::{Settings, Target};
use crate::row::{by, failed_to};
use crate::schema;

/// Reads one state of a database, however long it takes, and changes nothing.
#[derive(Debug)]
pub struct PostgresExport {
    connection: PgConnection,
}

impl PostgresExport {
    /// Connects, and refuses a schema that does not fit this program, as
    /// [`connect`](crate::connect) does.
    pub async fn begin(settings: &Settings) -> Result<Self, StoreError> {
        let target = Target::new(settings)?;
        schema::check(&target).await?;
        let mut connection = target.single().await?;
        sqlx::query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            .execute(&mut connection)
            .await
            .map_err(|error| target.open_error(error))?;
        Ok(Self { connection })
    }

    fn rows<T: Send + 'static>(
        &mut self,
        query: &'static str,
        read: impl Fn(&PgRow) -> Result<T, StoreError> + Send + 'static,
    ) -> Rows<'_, T> {
        let rows = sqlx::query(AssertSqlSafe(
            Dialect::Postgres.statement(query).into_owned(),
        ))
        .fetch(&mut self.connection);
        rows.map(move |row| read(&row.map_err(failed_to(OPERATION))?))
            .boxed()
    }
}

#[async_trait]
impl Export for PostgresExport {
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
        self.rows(rows::TASKS, by(decode::task_row))
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
