//! A database of its own for every test, with a time that tests move.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cts_store::Store;
use cts_store_conformance::Fixture;
use cts_store_postgres::{PostgresStore, Settings, migrate};
use cts_testkit::Postgres;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// A database with the schema, to be copied.
static TEMPLATE: OnceCell<Template> = OnceCell::const_new();

struct Template {
    database: String,
    data_directory: PathBuf,
}

impl Template {
    async fn make() -> Self {
        let postgres = Postgres::shared().await;
        let url = postgres.create_database().await;
        migrate(&settings(&url)).await.unwrap();
        let mut connection = PgConnection::connect(&postgres.url("postgres"))
            .await
            .unwrap();
        let directory: String = sqlx::query_scalar("SHOW data_directory")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        Self {
            database: url.rsplit_once('/').unwrap().1.to_owned(),
            data_directory: directory.into(),
        }
    }
}

pub(crate) fn settings(url: &str) -> Settings {
    Settings {
        url: url.into(),
        max_connections: 8,
        ca_cert: None,
    }
}

/// The address of a fresh database with the schema, and with the real time.
pub(crate) async fn migrated() -> String {
    let template = TEMPLATE.get_or_init(Template::make).await;
    let postgres = Postgres::shared().await;
    postgres.create_database_from(&template.database).await
}

pub(crate) async fn execute(url: &str, statement: &str) -> u64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let done = sqlx::query(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    done.rows_affected()
}

/// The first column of the first row.
pub(crate) async fn number(url: &str, query: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let row = sqlx::query(AssertSqlSafe(query))
        .fetch_one(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    row.get(0)
}

/// A time that the database reads from a file.
#[derive(Debug)]
struct ManualTime {
    file: PathBuf,
    micros: Mutex<i64>,
}

impl ManualTime {
    async fn set_up(url: &str, data_directory: &Path) -> Self {
        let name = format!("time-{}", Uuid::new_v4());
        let time = Self {
            file: data_directory.join(&name),
            micros: Mutex::new(1_800_000_000_123_456),
        };
        time.advance(Duration::ZERO);
        let function = format!(
            "CREATE OR REPLACE FUNCTION cts_now() RETURNS BIGINT LANGUAGE sql STABLE
             AS $$ SELECT pg_read_file('{name}')::BIGINT $$"
        );
        execute(url, &function).await;
        time
    }

    fn advance(&self, by: Duration) {
        self.shift(i64::try_from(by.as_micros()).unwrap());
    }

    fn shift(&self, by: i64) {
        let mut micros = self.micros.lock().unwrap();
        *micros += by;
        let new = self.file.with_extension("new");
        std::fs::write(&new, micros.to_string()).unwrap();
        std::fs::rename(&new, &self.file).unwrap();
    }
}

#[derive(Debug)]
pub(crate) struct PostgresFixture {
    url: String,
    time: ManualTime,
    store: PostgresStore,
}

impl PostgresFixture {
    /// Another store on the same database.
    pub(crate) async fn another(&self) -> PostgresStore {
        cts_store_postgres::connect(&settings(&self.url))
            .await
            .unwrap()
    }

    /// Changes the database directly, without the store.
    pub(crate) async fn tamper(&self, statement: &str) {
        assert_ne!(execute(&self.url, statement).await, 0, "{statement}");
    }

    pub(crate) async fn number(&self, query: &str) -> i64 {
        number(&self.url, query).await
    }
}

#[async_trait]
impl Fixture for PostgresFixture {
    async fn new() -> Self {
        let url = migrated().await;
        let template = TEMPLATE.get().unwrap();
        Self {
            time: ManualTime::set_up(&url, &template.data_directory).await,
            store: cts_store_postgres::connect(&settings(&url)).await.unwrap(),
            url,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn advance(&self, by: Duration) {
        self.time.advance(by);
    }

    fn set_back(&self, by: Duration) {
        self.time.shift(-i64::try_from(by.as_micros()).unwrap());
    }

    async fn restart(&mut self) {
        self.store.close().await;
        self.store = self.another().await;
    }
}
