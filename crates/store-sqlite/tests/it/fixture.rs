//! A file in a directory of its own, and a clock that tests move.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::Clock;
use cts_store::Store;
use cts_store_conformance::Fixture;
use cts_store_sqlite::SqliteStore;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tempfile::TempDir;

/// The boot of the machine that a fixture is on.
pub(crate) const BOOT: &str = "one boot of the machine";

#[derive(Debug)]
pub(crate) struct ManualClock(Mutex<DateTime<Utc>>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        let start = DateTime::from_timestamp(1_800_000_000, 123_456_789).unwrap();
        Self(Mutex::new(start))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

#[derive(Debug)]
pub(crate) struct SqliteFixture {
    directory: TempDir,
    clock: Arc<ManualClock>,
    store: SqliteStore,
}

impl SqliteFixture {
    pub(crate) fn path(&self) -> PathBuf {
        file_in(self.directory.path())
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::<ManualClock>::clone(&self.clock)
    }

    pub(crate) async fn close(&self) {
        self.store.close().await;
    }

    /// Changes the file directly, without the store and its checks.
    pub(crate) async fn tamper(&self, statement: &str) {
        let mut connection = raw(&self.path()).await;
        let changed = sqlx::query(AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .unwrap();
        assert_ne!(changed.rows_affected(), 0, "{statement}");
        connection.close().await.unwrap();
    }

    /// The first column of the first row.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        let mut connection = raw(&self.path()).await;
        let row = sqlx::query(AssertSqlSafe(query))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        row.get(0)
    }
}

pub(crate) fn file_in(directory: &Path) -> PathBuf {
    directory.join("state/cts.db")
}

/// A connection without foreign keys and `CHECK`s.
pub(crate) async fn raw(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(false)
        .pragma("ignore_check_constraints", "ON");
    SqliteConnection::connect_with(&options).await.unwrap()
}

#[async_trait]
impl Fixture for SqliteFixture {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new());
        let path = file_in(directory.path());
        let store =
            cts_store_sqlite::open(&path, Arc::<ManualClock>::clone(&clock), Some(BOOT)).await;
        Self {
            store: store.unwrap(),
            directory,
            clock,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn advance(&self, by: Duration) {
        *self.clock.0.lock().unwrap() += by;
    }

    fn set_back(&self, by: Duration) {
        *self.clock.0.lock().unwrap() -= by;
    }

    async fn restart(&mut self) {
        self.store.close().await;
        let store = cts_store_sqlite::open(&self.path(), self.clock(), Some(BOOT)).await;
        self.store = store.unwrap();
    }
}
