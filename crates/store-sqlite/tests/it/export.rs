//! Everything in a file, read to be moved.

use std::error::Error as _;
use std::fs;
use std::path::Path;

use cts_store::StoreError;
use cts_store::schema::SchemaMismatch;
use cts_store_conformance::Scene;
use cts_store_conformance::transfer::{Contents, richly_filled};
use cts_store_sql::tables::{LOG_LINES, TASKS};
use cts_store_sqlite::{FileError, export};
use futures::TryStreamExt as _;
use sqlx::AssertSqlSafe;

use crate::fixture::{BOOT, SqliteFixture, file_in};

async fn refused(path: &Path) -> (String, Option<FileError>) {
    match export(path, Some(BOOT)).await.map(drop) {
        Err(StoreError::Open { location, source }) => {
            (location, source.downcast_ref::<FileError>().cloned())
        }
        other => panic!("{other:?}"),
    }
}

async fn contents(path: &Path) -> Contents {
    let mut export = export(path, Some(BOOT)).await.unwrap();
    let contents = Contents::of(&mut export).await;
    export.close().await.unwrap();
    contents
}

#[tokio::test]
async fn reading_everything_changes_nothing() {
    let scene = richly_filled::<SqliteFixture>().await;
    let path = scene.fixture().path();
    scene.fixture().close().await;
    let before = fs::read(&path).unwrap();
    let first = contents(&path).await;
    assert_eq!(contents(&path).await, first);
    assert!(fs::read(&path).unwrap() == before, "the file was changed");
}

#[tokio::test]
async fn reads_the_write_ahead_log_left_by_a_crash() {
    let scene = richly_filled::<SqliteFixture>().await;
    let path = scene.fixture().path();
    // As after SIGKILL: the file and its log, without a process.
    let copy = tempfile::tempdir().unwrap();
    for name in ["cts.db", "cts.db-wal"] {
        fs::copy(path.with_file_name(name), copy.path().join(name)).unwrap();
    }
    let left = contents(&copy.path().join("cts.db")).await;
    assert!(left.tables().all(|(_table, rows)| !rows.is_empty()));
    scene.fixture().close().await;
    assert_eq!(contents(&path).await, left);
}

#[tokio::test]
async fn files_of_other_versions_are_refused() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let path = scene.fixture().path();
    scene.fixture().close().await;
    let location = path.display().to_string();
    let cases = [
        (
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (29990101000000, 'future', 1, x'00', 0);
             UPDATE schema_compatibility SET oldest = 29990101000000",
            FileError::Mismatch(SchemaMismatch::Newer {
                version: 29_990_101_000_000,
                oldest: 29_990_101_000_000,
            }),
        ),
        (
            "DELETE FROM _sqlx_migrations WHERE version > 20270401000000;
             UPDATE _sqlx_migrations SET version = 20261203000000",
            FileError::Mismatch(SchemaMismatch::Unreleased),
        ),
        (
            "UPDATE _sqlx_migrations SET version = 20270401000000, checksum = x'00';
             UPDATE schema_compatibility SET oldest = 20270401000000",
            FileError::Mismatch(SchemaMismatch::Changed {
                version: 20_270_401_000_000,
            }),
        ),
        (
            "ALTER TABLE _sqlx_migrations RENAME TO others",
            FileError::Foreign,
        ),
    ];
    for (change, expected) in cases {
        if change.starts_with("ALTER") {
            // Changes no row.
            let mut connection = crate::fixture::raw(&path).await;
            sqlx::Executor::execute(&mut connection, change)
                .await
                .unwrap();
        } else {
            scene.fixture().tamper(change).await;
        }
        let told = refused(&path).await;
        assert_eq!(told, (location.clone(), Some(expected)));
    }
}

#[tokio::test]
async fn a_file_that_is_missing_or_no_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(directory.path());
    assert_eq!(refused(&path).await.1, None);
    assert!(!path.parent().unwrap().exists(), "nothing is made");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, b"something else ".repeat(1000)).unwrap();
    assert_eq!(refused(&path).await.1, None);
    fs::write(&path, b"").unwrap();
    assert_eq!(refused(&path).await.1, Some(FileError::Foreign));
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_told() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let tampered = "UPDATE tasks SET delivery_run = 'x'";
    scene.fixture().tamper(tampered).await;
    let mut export = export(&scene.fixture().path(), Some(BOOT)).await.unwrap();
    let pages: Result<Vec<_>, _> = export.pages(&TASKS).try_collect().await;
    let error = pages.unwrap_err();
    assert!(error.source().is_some());
    let StoreError::CorruptRow {
        table, column, row, ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!((table, column, &*row), ("tasks", "delivery_run", "a"));
}

#[tokio::test]
async fn pages_are_bounded_by_rows_and_by_bytes() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let run = scene.apply("a", "1").await;
    let path = scene.fixture().path();
    let mib = 1024 * 1024;
    for (lengths, expected) in [
        (vec![], vec![]),
        (vec![1; 4500], vec![2000, 2000, 500]),
        (vec![2 * mib, 2 * mib, 2 * mib, 9 * mib, 1], vec![2, 2, 1]),
    ] {
        let lengths = serde_json::json!(lengths);
        let mut connection = crate::fixture::raw(&path).await;
        let lines = format!(
            "DELETE FROM log_lines;
             INSERT INTO log_lines (run_id, position, stream, line)
             SELECT '{run}', key + 1, 'stdout', printf('%.*c', value, 'x') FROM json_each('{lengths}')"
        );
        let lines = sqlx::raw_sql(AssertSqlSafe(lines)).execute(&mut connection);
        lines.await.unwrap();
        let mut export = export(&path, Some(BOOT)).await.unwrap();
        let pages: Vec<_> = export.pages(&LOG_LINES).try_collect().await.unwrap();
        let rows: Vec<usize> = pages.iter().map(|page| page.rows).collect();
        assert_eq!(rows, expected);
    }
}
