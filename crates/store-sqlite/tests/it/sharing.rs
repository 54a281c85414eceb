//! Two stores on one file, and rows that the trait cannot make.

use cts_core::callers::{AuditAction, AuditRecord, Caller};
use cts_core::runs::RunStatus;
use cts_store::{AccessStore as _, Store as _};
use cts_store_conformance::{Scene, bytes_of, claim, input, stored_input};

use crate::fixture::{BOOT, SqliteFixture};

/// The lock of the working directory forbids it; if it happens nevertheless, nothing may be lost.
#[tokio::test]
async fn a_second_open_loses_nothing() {
    let mut scene = Scene::<SqliteFixture>::new(&["a", "b"]).await;
    let last_applied = scene.apply("a", "1").await;
    let fixture = scene.fixture();
    let second = cts_store_sqlite::open(&fixture.path(), fixture.clock(), Some(BOOT))
        .await
        .unwrap();
    let queued = scene.queue("b", "2").await;
    assert!(second.run(last_applied).await.unwrap().is_some());
    let lease = second.acquire(&claim()).await.unwrap().unwrap();
    assert_eq!(lease.run, queued);
    assert_eq!(scene.acquire().await, None);
    second.close().await;
    assert_eq!(scene.applied(&lease).await.status, RunStatus::Succeeded);
    scene.restart().await;
    assert_eq!(scene.run(last_applied).await.status, RunStatus::Succeeded);
    assert_eq!(scene.run(queued).await.status, RunStatus::Succeeded);
}

#[tokio::test]
async fn only_writes_of_other_processes_change_the_foreign_version() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let version = async |scene: &Scene<SqliteFixture>| loop {
        // The connection of a transaction is free a moment after its end.
        if let Some(version) = scene.store().foreign_version().await.unwrap() {
            break version;
        }
        tokio::task::yield_now().await;
    };
    let before = version(&scene).await;
    scene.apply("a", "1").await;
    assert_eq!(version(&scene).await, before);
    let fixture = scene.fixture();
    let command = cts_store_sqlite::attach(&fixture.path(), fixture.clock()).await;
    let command = command.unwrap();
    assert_eq!(version(&scene).await, before);
    for text in ["2", "3"] {
        let before = version(&scene).await;
        let caller = Caller::anonymous(None);
        let record = AuditRecord::new(caller, AuditAction::RevokeToken, "ci");
        command.audit(&[record]).await.unwrap();
        let after = version(&scene).await;
        assert_ne!(after, before);
        scene.apply("a", text).await;
        assert_eq!(version(&scene).await, after);
    }
    command.close().await;
}

#[tokio::test]
async fn equal_inputs_are_stored_once_and_compressed() {
    let scene = Scene::<SqliteFixture>::new(&["a", "b"]).await;
    let text = "text ".repeat(10_000);
    scene.queue("a", &text).await;
    scene.queue("b", &text).await;
    let fixture = scene.fixture();
    assert_eq!(fixture.number("SELECT count(*) FROM inputs").await, 1);
    let stored = fixture
        .number("SELECT sum(length(content)) FROM contents")
        .await;
    assert!(stored < 1000, "{stored} bytes");
    assert_eq!(fixture.number("SELECT count(*) FROM contents").await, 2);
    let input = input(&text);
    let stored = stored_input(&*scene.store(), input.hash).await;
    assert_eq!(stored, Some(bytes_of(&input)));
}

#[tokio::test]
async fn skips_are_counted() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    scene.apply("a", "1").await;
    scene.enqueue("a", "1").await;
    scene.enqueue("a", "1").await;
    assert_eq!(scene.fixture().number("SELECT skipped FROM tasks").await, 2);
}

/// A file has one process, which needs no hints of others.
#[tokio::test]
async fn file_store_listens_to_no_hints() {
    let scene = Scene::<SqliteFixture>::new(&[]).await;
    assert!(scene.store().listen().await.unwrap().is_none());
}
