use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use cts_terraform::{CommandFailure, StopPolicy, Terraform};
use tokio_util::task::TaskTracker;

use crate::fixture::{KEEPS_SERVICES, Sandbox, TAKES_LONG, clean_environment, wait_for};

fn lock_file(sandbox: &Sandbox) -> PathBuf {
    sandbox
        .directory()
        .path()
        .join("terraform.tfstate.d/edge/.terraform.tfstate.lock.info")
}

#[tokio::test]
async fn a_cancelled_apply_ends_gently() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    let root = sandbox.write(Vec::new());
    let (attempt, mut lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();

    let cancel_when_started = async {
        wait_for(&mut lines, "(local-exec): started").await;
        assert!(lock_file(&sandbox).exists());
        attempt.cancel.cancel();
    };
    let (result, ()) = tokio::join!(sandbox.terraform.apply(&attempt), cancel_when_started);
    let error = result.unwrap_err();
    assert!(error.is_interrupted(), "{error}");
    // Terraform ended by itself, with an exit status, and left no lock.
    let CommandFailure::Exit { status, .. } = &error.failure else {
        panic!("{error}");
    };
    assert_eq!(status.code(), Some(1));
    assert!(!lock_file(&sandbox).exists());
    assert!(sandbox.state()["serial"].is_number());
}

#[tokio::test]
async fn a_cancelled_attempt_starts_nothing() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let root = sandbox.write(Vec::new());
    let (attempt, _lines) = sandbox.attempt();
    attempt.cancel.cancel();
    let error = sandbox
        .terraform
        .prepare(&attempt, &root)
        .await
        .unwrap_err();
    assert!(error.is_interrupted());
    assert!(matches!(error.failure, CommandFailure::Cancelled));
    assert!(!sandbox.directory().path().join(".terraform").exists());
}

#[tokio::test]
async fn a_dropped_apply_is_stopped_by_its_supervisor() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    let root = sandbox.write(Vec::new());
    let (attempt, mut lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    tokio::select! {
        result = sandbox.terraform.apply(&attempt) => panic!("{result:?}"),
        () = wait_for(&mut lines, "(local-exec): started") => {}
    }
    assert!(!attempt.cancel.is_cancelled());
    assert!(lock_file(&sandbox).exists());
    sandbox.supervisors.close();
    sandbox.supervisors.wait().await;
    assert!(!lock_file(&sandbox).exists());
}

#[tokio::test]
async fn the_next_command_waits_for_one_that_is_still_being_stopped() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    let root = sandbox.write(Vec::new());
    let (attempt, mut lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    tokio::select! {
        result = sandbox.terraform.apply(&attempt) => panic!("{result:?}"),
        () = wait_for(&mut lines, "(local-exec): started") => {}
    }
    // It would fail on the state lock, which the dropped apply still holds.
    sandbox.terraform.plan(&attempt).await.unwrap();
}

/// Stands in for a Terraform that does not listen; asked for its version, it answers.
const DEAF: &str = r#"#!/bin/sh
if [ "$1" = version ]; then echo '{"terraform_version": "1.11.4"}'; exit; fi
trap 'echo interrupted' INT
trap 'echo terminated' TERM
echo started
while :; do sleep 60 & wait; done
"#;

#[tokio::test]
async fn a_process_that_does_not_listen_is_killed_with_its_group() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.write(Vec::new());
    let file = sandbox.path().join("terraform");
    fs::write(&file, DEAF).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let environment = clean_environment(sandbox.path());
    let executable = cts_terraform::Executable::at(file, &environment, sandbox.path())
        .await
        .unwrap();
    let terraform = Terraform::new(executable, TaskTracker::new());

    let (mut attempt, mut lines) = sandbox.attempt();
    fs::create_dir(sandbox.directory().path().join(".terraform")).unwrap();
    attempt.stop = StopPolicy {
        interrupt_grace: Duration::from_millis(300),
        terminate_grace: Duration::from_millis(300),
    };
    let watch = async {
        wait_for(&mut lines, "started").await;
        attempt.cancel.cancel();
        wait_for(&mut lines, "interrupted").await;
        wait_for(&mut lines, "terminated").await;
    };
    let (result, ()) = tokio::join!(terraform.apply(&attempt), watch);
    let error = result.unwrap_err();
    assert!(error.is_interrupted());
    assert!(error.to_string().contains("ended by signal 9"), "{error}");
}
