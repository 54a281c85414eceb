//! A file to move from.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::Clock;
use cts_store::Store;
use cts_store_conformance::Fixture;
use cts_store_sqlite::SqliteStore;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _};
use tempfile::TempDir;

/// The boot of the machine that a fixture is on.
pub(super) const BOOT: &str = "one boot of the machine";

#[derive(Debug)]
struct ManualClock(Mutex<DateTime<Utc>>);

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

#[derive(Debug)]
pub(crate) struct FileFixture {
    directory: TempDir,
    clock: Arc<ManualClock>,
    store: SqliteStore,
}

impl FileFixture {
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("cts.db")
    }

    /// Changes the file directly, without the store.
    pub(super) async fn tamper(&self, statements: &str) {
        let options = SqliteConnectOptions::new().filename(self.path());
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        let statements = AssertSqlSafe(statements.to_owned());
        let changed = sqlx::raw_sql(statements).execute(&mut connection).await;
        assert_ne!(changed.unwrap().rows_affected(), 0);
        connection.close().await.unwrap();
    }

    /// Adds this many runs of the task `a·b`, each with an event and two log lines.
    pub(super) async fn multiply(&self, runs: u32) {
        self.tamper(&format!(
            "BEGIN;
             CREATE TEMP TABLE added AS
             WITH RECURSIVE numbers (n) AS (
                 SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {runs})
             SELECT n, printf('%08x-0000-7000-8000-000000000000', n + 4000000) AS id FROM numbers;
             INSERT INTO runs (id, task_name, input_hash, status, attempts, epoch, due_at, started_at,
                               finished_at, created_at, updated_at)
             SELECT id, 'a·b', (SELECT max(hash) FROM inputs), 'succeeded', 1, 1, n, n, n + 1, n, n
             FROM added;
             INSERT INTO events (id, task_name, run_id, success, start_time, end_time, config)
             SELECT id, 'a·b', id, 1, n, n + 1, (SELECT max(config) FROM events) FROM added;
             INSERT INTO log_lines (run_id, position, stream, line)
             SELECT added.id, position.value, 'stdout', 'Apply complete! Resources: 0 added, 1 changed.'
             FROM added, json_each('[1, 2]') position;
             COMMIT;"
        ))
        .await;
    }
}

#[async_trait]
impl Fixture for FileFixture {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let start = DateTime::from_timestamp(1_800_000_000, 123_456_000).unwrap();
        let clock = Arc::new(ManualClock(Mutex::new(start)));
        let path = directory.path().join("cts.db");
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
        let store = cts_store_sqlite::open(
            &self.path(),
            Arc::<ManualClock>::clone(&self.clock),
            Some(BOOT),
        )
        .await;
        self.store = store.unwrap();
    }
}
