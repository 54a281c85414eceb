//! A full disk, and a disk with space again.
//!
//! A limit on the size of files stands for the disk. The limit holds for the whole process, so the behaviours
//! run in a process of their own.

use std::fs;
use std::path::Path;
use std::process::Command;

use cts_store::{LeaderError, StoreError};
use cts_store_conformance::{Fixture as _, Scene};

use crate::fixture::SqliteFixture;

/// Runs an otherwise ignored test of this program in a process that survives a write beyond the limit: the
/// write fails, as on a full disk, instead of ending the process.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing else goes on in this test"
)]
fn in_own_process(test: &str) {
    let done = Command::new("/bin/sh")
        .args(["-c", r#"trap '' XFSZ; exec "$@""#, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", test])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    let complained = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success() && told.contains("1 passed"),
        "{told}{complained}"
    );
}

/// No file of this process grows beyond `bytes` from now on; `None` lifts the limit.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing else goes on in this process"
)]
fn limit_files(bytes: Option<u64>) {
    let soft = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
    let limited = Command::new("prlimit")
        .arg(format!("--pid={}", std::process::id()))
        .arg(format!("--fsize={soft}:"))
        .status();
    assert!(limited.unwrap().success());
}

fn largest_file(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap();
    let sizes = entries.map(|entry| entry.unwrap().metadata().unwrap().len());
    sizes.max().unwrap()
}

#[test]
fn a_commit_that_fails_leaves_a_store_that_writes_again() {
    in_own_process("full_disk::writes_before_during_and_after_a_full_disk");
}

#[tokio::test]
#[ignore = "a part of a_commit_that_fails_leaves_a_store_that_writes_again"]
async fn writes_before_during_and_after_a_full_disk() {
    let scene = Scene::<SqliteFixture>::new(&["a", "b"]).await;
    let lease = scene.leased("a", "1").await;
    let path = scene.fixture().path();
    limit_files(Some(largest_file(path.parent().unwrap())));
    for number in 0..5 {
        let request = scene.request("b", &format!("input {number}"));
        let refused = scene.store().enqueue(scene.leader(), vec![request]).await;
        let Err(LeaderError::Store(StoreError::Database { operation, .. })) = &refused else {
            panic!("{refused:?}");
        };
        assert_eq!(*operation, "commit a transaction");
    }
    limit_files(None);
    assert_eq!(scene.store().queue_depth().await.unwrap().queued, 0);
    let queued = scene.queue("b", "2").await;
    assert_eq!(scene.lease().await.run, queued);
    scene.applied(&lease).await;
}

#[test]
fn writes_of_every_kind_fail_and_work_again() {
    in_own_process("full_disk::every_kind_of_write_meets_a_full_disk");
}

#[tokio::test]
#[ignore = "a part of writes_of_every_kind_fail_and_work_again"]
async fn every_kind_of_write_meets_a_full_disk() {
    let scene = Scene::<SqliteFixture>::new(&["a", "b"]).await;
    let store = scene.fixture().store();
    let lease = scene.leased("a", "1").await;
    scene.queue("b", "1").await;
    let path = scene.fixture().path();
    limit_files(Some(largest_file(path.parent().unwrap())));
    let worker = cts_store_conformance::worker_record("w");
    for _ in 0..2 {
        let completion = scene.completion(&lease, cts_core::runs::AttemptOutcome::Applied);
        assert!(store.complete(completion).await.is_err());
        let claim = cts_store_conformance::claim();
        assert!(store.acquire(&claim).await.is_err());
        assert!(store.record_heartbeat(&worker, None).await.is_err());
        assert!(store.release_all().await.is_err());
        let member = cts_store_conformance::member("another");
        assert!(store.resign(&member).await.is_ok(), "changes nothing");
        let time_to_live = std::time::Duration::from_secs(15);
        assert!(store.lead(&member, None, time_to_live).await.is_err());
    }
    limit_files(None);
    assert!(store.record_heartbeat(&worker, None).await.is_ok());
    assert_eq!(scene.lease().await.task.as_str(), "b");
    scene.applied(&lease).await;
}
