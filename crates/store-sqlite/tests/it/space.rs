//! Sizes of the file and its log of changes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cts_store::{LogLine, LogStream, Retention};
use cts_store_conformance::Scene;

use crate::fixture::{BOOT, ManualClock, SqliteFixture, file_in, raw};

const MIB: u64 = 1024 * 1024;

/// Sizes of the file and of its log.
fn sizes(path: &Path) -> (u64, u64) {
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    (size(path), size(&path.with_extension("db-wal")))
}

/// Runs with this many MiB of logs are made and forgotten; returns the sizes before and after they are
/// forgotten.
async fn come_and_go(scene: &Scene<SqliteFixture>, mebibytes: u64) -> ((u64, u64), (u64, u64)) {
    let path = scene.fixture().path();
    let line = LogLine {
        stream: LogStream::Stdout.into(),
        text: "x".repeat(1024),
    };
    let store = scene.store();
    let lease = scene.leased("a", "long").await;
    for _ in 0..mebibytes {
        let lines = vec![line.clone(); 1024];
        let (holder, epoch) = (&lease.holder, lease.epoch);
        let appended = store.append_log(lease.run, holder, epoch, lines);
        appended.await.unwrap();
    }
    scene.applied(&lease).await;
    let before = sizes(&path);
    store.prune(Retention::of_any_age(0)).await.unwrap();
    (before, sizes(&path))
}

#[tokio::test]
async fn the_file_and_its_log_shrink_when_runs_are_forgotten() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let (before, after) = come_and_go(&scene, 40).await;
    assert!(before.0 + before.1 > 40 * MIB, "{before:?}");
    assert!(after.0 < 5 * MIB, "{before:?} {after:?}");
    assert_eq!(after.1, 0, "{before:?} {after:?}");
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_made_one_that_shrinks() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(directory.path());
    let open =
        async || cts_store_sqlite::open(&path, Arc::new(ManualClock::new()), Some(BOOT)).await;
    open().await.unwrap().close().await;
    let mut file = raw(&path).await;
    sqlx::raw_sql("PRAGMA auto_vacuum = NONE; VACUUM")
        .execute(&mut file)
        .await
        .unwrap();
    let mode = async |file: &mut _| -> i64 {
        let mode = sqlx::query_scalar("PRAGMA auto_vacuum").fetch_one(file);
        mode.await.unwrap()
    };
    assert_eq!(mode(&mut file).await, 0);
    drop(file);
    open().await.unwrap().close().await;
    assert_eq!(mode(&mut raw(&path).await).await, 2);
}
