//! The file: modes, migrations, refusals.

use cts_core::runs::RunKind;
use std::error::Error as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use cts_store::{Refused, RefusedCode, Store as _, StoreError, TaskChange};
use cts_store_conformance::{Fixture, Scene, held_run, input, kept_rules, revoked_sessions, task};
use cts_store_sqlite::SqliteStore;

use crate::fixture::{BOOT, ManualClock, SqliteFixture, file_in};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    cts_store_sqlite::open(path, Arc::new(ManualClock::new()), Some(BOOT)).await
}

#[tokio::test]
async fn only_the_owner_can_read_the_file() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let path = scene.fixture().path();
    let directory = path.parent().unwrap();
    assert_eq!(mode(directory), 0o750);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["cts.db", "cts.db-shm", "cts.db-wal"]);
}

#[tokio::test]
async fn a_file_that_is_open_to_others_is_closed_to_them() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    scene.fixture().close().await;
    let path = scene.fixture().path();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o646)).unwrap();
    let store = open(&path).await.unwrap();
    assert_eq!(mode(&path), 0o640);
    drop(store);
}

#[tokio::test]
async fn closing_leaves_one_file() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    scene.apply("a", "1").await;
    scene.fixture().close().await;
    let directory = scene.fixture().path();
    let entries = fs::read_dir(directory.parent().unwrap()).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["cts.db"]);
}

#[tokio::test]
async fn statements_of_earlier_programs_leave_held_runs_in_the_queue() {
    let scene = held_run::held::<SqliteFixture>().await;
    for statement in held_run::EARLIER_STATEMENTS {
        scene.fixture().tamper(statement).await;
        assert_eq!(scene.acquire().await, None, "{statement}");
    }
    scene.store().release_brake(None).await.unwrap();
    scene.lease().await;
}

#[tokio::test]
async fn statements_of_earlier_programs_leave_rules_of_consent_in_force() {
    let scene = kept_rules::ruled_by_both::<SqliteFixture>().await;
    let change = kept_rules::EARLIER_CHANGE;
    scene.fixture().tamper(change).await;
    kept_rules::keeps_its_rules(&scene).await;
    let scene = kept_rules::ruled_by_both::<SqliteFixture>().await;
    let deletion = kept_rules::EARLIER_DELETION;
    scene.fixture().tamper(deletion).await;
    kept_rules::keeps_its_deleted_rule(&scene).await;
}

#[tokio::test]
async fn a_token_that_an_earlier_program_revokes_takes_its_sessions_along() {
    let scene = revoked_sessions::with_a_token::<SqliteFixture>().await;
    let fixture = scene.fixture();
    fixture.tamper(revoked_sessions::EARLIER_REVOCATION).await;
    let rows = async || fixture.number("SELECT count(*) FROM sessions").await;
    revoked_sessions::ends_with_its_token(&scene, rows).await;
}

#[tokio::test]
async fn a_file_that_does_not_fit_any_more_is_refused_unharmed() {
    let mut scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let run = scene.apply("a", "1").await;
    scene.fixture().close().await;
    let path = scene.fixture().path();
    scene
        .fixture()
        .tamper(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (29990101000000, 'future', 1, x'00', 0);
             UPDATE schema_compatibility SET oldest = 29990101000000",
        )
        .await;
    let before = fs::read(&path).unwrap();

    let refused = open(&path).await.unwrap_err();
    let StoreError::Open { location, .. } = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(location, &path.display().to_string());
    assert!(
        refused
            .source()
            .unwrap()
            .to_string()
            .contains("29990101000000")
    );
    assert!(fs::read(&path).unwrap() == before, "the file was changed");

    let forget = "DELETE FROM _sqlx_migrations WHERE version = 29990101000000;
                  UPDATE schema_compatibility SET oldest = 20270401000000";
    scene.fixture().tamper(forget).await;
    scene.restart().await;
    assert_eq!(scene.run(run).await.input, input("1").hash);
}

/// The version before knew no codes.
#[tokio::test]
async fn a_refusal_of_an_older_program_is_read() {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let run = scene.run_id();
    let change = TaskChange {
        request: Some((run, RunKind::Plan)),
        ..TaskChange::default()
    };
    let changed = scene.store().change_task(&task("a"), &change).await;
    changed.unwrap();
    let older = "UPDATE run_requests SET refused = 'no', refused_at = 1";
    scene.fixture().tamper(older).await;
    let request = scene.store().request(run).await.unwrap().unwrap();
    let expected = Refused {
        code: RefusedCode::Withdrawn,
        reason: "no".to_owned(),
    };
    assert_eq!(request.refused, Some(expected));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_unharmed() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(directory.path());
    fs::create_dir(path.parent().unwrap()).unwrap();
    let content = b"something else ".repeat(1000);
    fs::write(&path, &content).unwrap();
    let refused = open(&path).await.unwrap_err();
    assert!(matches!(refused, StoreError::Open { .. }), "{refused:?}");
    assert!(fs::read(&path).unwrap() == content);
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("state");
    fs::write(&file, "in the way").unwrap();
    let refused = open(&file_in(directory.path())).await.unwrap_err();
    assert!(matches!(refused, StoreError::Open { .. }), "{refused:?}");
    assert!(refused.source().is_some());
}

#[tokio::test]
async fn a_closed_store_fails_instead_of_hanging() {
    let fixture = SqliteFixture::new().await;
    fixture.close().await;
    let store = fixture.store();
    let read = store.tasks().await.unwrap_err();
    assert!(matches!(read, StoreError::Database { .. }), "{read:?}");
    let write = store.release_all().await.unwrap_err();
    assert!(matches!(write, StoreError::Database { .. }), "{write:?}");
}

#[tokio::test]
async fn an_odd_path_is_only_a_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a b?mode=memory#%41é").join("cts.db");
    let store = open(&path).await.unwrap();
    assert_eq!(store.tasks().await.unwrap(), []);
    store.close().await;
    assert!(fs::metadata(&path).unwrap().len() > 0);
}
