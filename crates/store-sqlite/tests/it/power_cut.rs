//! Files as a power cut, or a copy, leaves them: older than the last commits.

use std::fs;
use std::path::{Path, PathBuf};

use cts_core::LeaderEpoch;
use cts_core::runs::{EnqueueDecision, RunKind};
use cts_store::{EnqueueRequest, Store as _, Unchanged};
use cts_store_conformance::{Scene, input, member, spec, task};
use cts_store_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::fixture::{BOOT, SqliteFixture, file_in};

const NEXT_BOOT: &str = "another boot of the machine";

/// The file and its log as they are now, elsewhere.
fn copied(path: &Path) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let copy = file_in(directory.path());
    fs::create_dir(copy.parent().unwrap()).unwrap();
    for suffix in ["", "-wal"] {
        let with = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        if with(path).exists() {
            fs::copy(with(path), with(&copy)).unwrap();
        }
    }
    (directory, copy)
}

/// "1" is applied, the file is copied, and then "2" is applied.
async fn applied_behind_a_copy() -> (Scene<SqliteFixture>, TempDir, PathBuf) {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let (directory, copy) = copied(&scene.fixture().path());
    scene.apply("a", "2").await;
    (scene, directory, copy)
}

async fn opened(scene: &Scene<SqliteFixture>, path: &Path, boot: Option<&str>) -> SqliteStore {
    let store = cts_store_sqlite::open(path, scene.fixture().clock(), boot).await;
    let store = store.unwrap();
    store.release_all().await.unwrap();
    store
}

async fn leader(store: &SqliteStore) -> LeaderEpoch {
    let minute = std::time::Duration::from_mins(1);
    let leadership = store.lead(&member("a"), None, minute).await.unwrap();
    let specs = [spec("a")];
    store
        .replace_config_tasks(leadership.epoch, &specs)
        .await
        .unwrap();
    leadership.epoch
}

/// Returns the decision about an input after a new start that is equal to an applied one.
async fn decided(store: &SqliteStore, text: &str) -> EnqueueDecision {
    let request = EnqueueRequest {
        task: task("a"),
        input: input(text),
        run: "00000000-0000-7000-8000-000000000007".parse().unwrap(),
        kind: RunKind::Apply,
        unchanged: Unchanged::Skip,
        guarded: None,
        tick: None,
        check_key: None,
        trace: None,
        cause: None,
        causes: Vec::new(),
        fails: None,
    };
    let leader = leader(store).await;
    let enqueued = store.enqueue(leader, vec![request]).await.unwrap();
    enqueued[0].decision.unwrap()
}

const SKIPPED: EnqueueDecision = EnqueueDecision::Skip {
    cancel_queued: false,
};

#[tokio::test]
async fn input_applied_before_a_lost_apply_is_applied_again() {
    for boot in [Some(NEXT_BOOT), None] {
        let (scene, _directory, copy) = applied_behind_a_copy().await;
        let store = opened(&scene, &copy, boot).await;
        // The second apply is lost there, and Consul shows the input that was applied before it again.
        assert_eq!(decided(&store, "1").await, EnqueueDecision::Enqueue);
        store.close().await;
    }
}

#[tokio::test]
async fn a_killed_process_forgets_nothing() {
    let (scene, _directory, copy) = applied_behind_a_copy().await;
    // The copy stands for a file whose process was killed at that moment.
    let store = opened(&scene, &copy, Some(BOOT)).await;
    assert_eq!(decided(&store, "1").await, SKIPPED);
}

#[tokio::test]
async fn a_restart_of_the_machine_in_order_forgets_nothing() {
    let (scene, _directory, copy) = applied_behind_a_copy().await;
    opened(&scene, &copy, Some(BOOT)).await.close().await;
    let store = opened(&scene, &copy, Some(NEXT_BOOT)).await;
    assert_eq!(decided(&store, "1").await, SKIPPED);
}

#[tokio::test]
async fn a_second_power_cut_before_the_first_run_forgets_again() {
    let (scene, _directory, copy) = applied_behind_a_copy().await;
    // Opened, and cut off before anything was done.
    let store = opened(&scene, &copy, Some(NEXT_BOOT)).await;
    let (_directory, again) = copied(&copy);
    store.close().await;
    let store = opened(&scene, &again, Some("a third boot")).await;
    assert_eq!(decided(&store, "1").await, EnqueueDecision::Enqueue);
}
