//! A connection to the database of either kind.

use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, FromRow, PgConnection, SqliteConnection,
};

use super::postgres;
use super::triggers::Dialect;
use crate::database::Database;

#[derive(Debug)]
pub(super) enum Connection {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

impl Connection {
    pub(super) async fn open(database: &Database) -> Result<Self, sqlx::Error> {
        match database {
            Database::Postgres { url, .. } => postgres::connect(url).await.map(Self::Postgres),
            Database::Sqlite { path, .. } => {
                let options = SqliteConnectOptions::new()
                    .filename(path)
                    .busy_timeout(Duration::from_secs(10));
                let connection = SqliteConnection::connect_with(&options).await;
                connection.map(Self::Sqlite)
            }
        }
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Postgres(connection) => connection.close().await,
            Self::Sqlite(connection) => connection.close().await,
        }
    }

    /// Makes the tables and triggers of the audit.
    pub(super) async fn install(mut self, brake: bool) -> Result<(), sqlx::Error> {
        let statements =
            |dialect: Dialect| sqlx::raw_sql(AssertSqlSafe(dialect.installation(brake)));
        match &mut self {
            Self::Postgres(connection) => {
                connection.execute(postgres::SCHEMA).await?;
                connection.execute(statements(Dialect::Postgres)).await?;
            }
            Self::Sqlite(connection) => {
                connection.execute(statements(Dialect::Sqlite)).await?;
            }
        }
        self.close().await
    }

    /// The rows of a statement that is written for Postgres.
    pub(super) async fn all<T>(&mut self, statement: &str) -> Result<Vec<T>, sqlx::Error>
    where
        T: Send + Unpin + for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow>,
    {
        match self {
            Self::Postgres(connection) => {
                let statement = AssertSqlSafe(Dialect::Postgres.adapt(statement));
                sqlx::query_as(statement).fetch_all(connection).await
            }
            Self::Sqlite(connection) => {
                let statement = AssertSqlSafe(Dialect::Sqlite.adapt(statement));
                sqlx::query_as(statement).fetch_all(connection).await
            }
        }
    }

    /// The only number of the only row of such a statement.
    pub(super) async fn one(&mut self, statement: &str) -> Result<i64, sqlx::Error> {
        let rows: Vec<(i64,)> = self.all(statement).await?;
        let first = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        Ok(first.0)
    }
}
