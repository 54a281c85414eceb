//! Files that other versions of this program have written.

use std::path::Path;
use std::sync::Arc;

use cts_store::schema::{FIRST, SchemaMismatch};
use cts_store::{Store as _, StoreError};
use cts_store_conformance::{member, spec};
use cts_store_sqlite::SqliteStore;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _};

use crate::fixture::{ManualClock, file_in};

const FUTURE: i64 = 29_990_101_000_000;

async fn connected(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    SqliteConnection::connect_with(&options).await.unwrap()
}

async fn execute(path: &Path, statements: String) {
    let mut connection = connected(path).await;
    let done = sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection);
    done.await.unwrap();
    connection.close().await.unwrap();
}

async fn opened(path: &Path) -> Result<SqliteStore, StoreError> {
    cts_store_sqlite::open(path, Arc::new(ManualClock::new()), None).await
}

async fn mismatch(path: &Path) -> SchemaMismatch {
    let error = opened(path).await.unwrap_err();
    let StoreError::Open { source, .. } = &error else {
        panic!("{error:?}");
    };
    let mismatch = source.downcast_ref::<SchemaMismatch>();
    mismatch.unwrap_or_else(|| panic!("{error:?}")).clone()
}

#[tokio::test]
async fn a_file_from_before_the_first_release_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(directory.path());
    drop(opened(&path).await.unwrap());
    let earlier = format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({}, 'earlier', 1, x'00', 0)",
        FIRST - 1
    );
    execute(&path, earlier).await;
    assert_eq!(mismatch(&path).await, SchemaMismatch::Unreleased);
}

#[tokio::test]
async fn a_newer_file_that_still_fits_is_used_and_another_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(directory.path());
    drop(opened(&path).await.unwrap());
    let newer = format!(
        "ALTER TABLE tasks ADD COLUMN colour TEXT;
         CREATE TABLE later (id INTEGER);
         INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({FUTURE}, 'future', 1, x'00', 0)"
    );
    execute(&path, newer).await;
    let store = opened(&path).await.unwrap();
    let minute = std::time::Duration::from_mins(1);
    let epoch = store.lead(&member("a"), None, minute).await.unwrap().epoch;
    store
        .replace_config_tasks(epoch, &[spec("a")])
        .await
        .unwrap();
    assert_eq!(store.tasks().await.unwrap().len(), 1);
    drop(store);
    let raised = format!("UPDATE schema_compatibility SET oldest = {FUTURE}");
    execute(&path, raised).await;
    let (version, oldest) = (FUTURE, FUTURE);
    let expected = SchemaMismatch::Newer { version, oldest };
    assert_eq!(mismatch(&path).await, expected);
}
