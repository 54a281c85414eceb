//! Everything in a file, read to be moved.

use std::error::Error as _;
use std::fs;
use std::path::Path;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Creation, EventId, TaskName};
use cts_store::schema::SchemaMismatch;
use cts_store::{Deletion, NewTask, StoreError};
use cts_store_conformance::transfer::{Contents, richly_filled};
use cts_store_conformance::{Scene, spec, task};
use cts_store_sqlite::{FileError, export};

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
    let running = first
        .runs
        .iter()
        .filter(|run| run.status == RunStatus::Running);
    assert_eq!(running.count(), 0);
}

#[tokio::test]
async fn of_tasks_that_come_or_go_only_the_history_moves() {
    let scene = Scene::<SqliteFixture>::new(&["a", "gone"]).await;
    let stays = scene.apply("a", "1").await;
    let ended = scene.apply("gone", "1").await;
    let running = scene.leased("gone", "2").await.run;
    let store = scene.store();
    assert!(
        !store
            .delete_task(&task("gone"), Deletion::Retain)
            .await
            .unwrap()
    );
    let new = NewTask {
        spec: spec("new"),
        creation: Creation::Keep,
        run: scene.run_id(),
        kind: RunKind::Check,
    };
    store.create_task(&new).await.unwrap();
    scene.fixture().close().await;
    let moving = contents(&scene.fixture().path()).await;
    let names: Vec<_> = moving.tasks.iter().map(|row| row.spec.name()).collect();
    assert_eq!(names, [&task("a")]);
    let deleted: Vec<TaskName> = moving
        .deleted_tasks
        .into_iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(deleted, [task("gone")]);
    let runs: Vec<_> = moving.runs.iter().map(|row| (row.id, row.status)).collect();
    let (succeeded, cancelled) = (RunStatus::Succeeded, RunStatus::Cancelled);
    assert_eq!(
        runs,
        [(stays, succeeded), (ended, succeeded), (running, cancelled)]
    );
    let events: Vec<_> = moving.events.iter().map(|row| row.event.run_id).collect();
    assert_eq!(events, [stays, ended].map(Some));
}

/// Otherwise the new database would run the cancelled input again.
#[tokio::test]
async fn the_input_of_a_run_that_is_being_cancelled_stays_withheld() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let event = EventId::from_uuid(scene.run_id().as_uuid());
    let cancelled = scene.store().cancel_run(lease.run, false, event).await;
    cancelled.unwrap();
    let path = scene.fixture().path();
    scene.fixture().close().await;
    let moving = contents(&path).await;
    assert_eq!(moving.runs[0].status, RunStatus::Cancelled);
    assert_eq!(moving.tasks[0].cancelled_input, Some(lease.input));
}

#[tokio::test]
async fn what_a_crash_has_left_beside_the_file_is_read() {
    let scene = richly_filled::<SqliteFixture>().await;
    let path = scene.fixture().path();
    // As after SIGKILL: the file and its log, without a process.
    let copy = tempfile::tempdir().unwrap();
    for name in ["cts.db", "cts.db-wal"] {
        fs::copy(path.with_file_name(name), copy.path().join(name)).unwrap();
    }
    let left = contents(&copy.path().join("cts.db")).await;
    assert!(!left.runs.is_empty());
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
            "DELETE FROM _sqlx_migrations WHERE version > 20261203000000;
             UPDATE _sqlx_migrations SET version = 20261202000000",
            FileError::Older,
        ),
        (
            "UPDATE _sqlx_migrations SET version = 20261203000000, checksum = x'00';
             UPDATE schema_compatibility SET oldest = 20261203000000",
            FileError::Mismatch(SchemaMismatch::Changed {
                version: 20_261_203_000_000,
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
    scene.apply("a", "1").await;
    scene.fixture().tamper("UPDATE runs SET epoch = -1").await;
    let mut export = export(&scene.fixture().path(), Some(BOOT)).await.unwrap();
    let rows: Result<Vec<_>, _> = {
        use cts_store::transfer::Export as _;
        use futures::TryStreamExt as _;
        export.runs().try_collect().await
    };
    let error = rows.unwrap_err();
    assert!(error.source().is_some());
    let StoreError::CorruptRow { table, column, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!((table, column), ("runs", "epoch"));
}
