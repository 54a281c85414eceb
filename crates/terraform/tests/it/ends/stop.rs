use std::path::PathBuf;
use std::time::Duration;

use cts_terraform::{CommandFailure, StopPolicy, StopSignal, Terraform};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::fixture::{KEEPS_SERVICES, Sandbox, TAKES_LONG, clean_environment, wait_for};
use crate::script::{LATE, Life, deaf_terraform};

fn lock_file(sandbox: &Sandbox) -> PathBuf {
    sandbox
        .directory()
        .path()
        .join("terraform.tfstate.d/edge/.terraform.tfstate.lock.info")
}

#[tokio::test]
async fn a_cancelled_apply_ends_gently() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    let (attempt, mut lines) = sandbox.prepared(Vec::new()).await;

    let cancel_when_started = async {
        wait_for(&mut lines, "(local-exec): started").await;
        assert!(lock_file(&sandbox).exists());
        attempt.stop.cancel();
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
    attempt.stop.cancel();
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
    let (attempt, mut lines) = sandbox.prepared(Vec::new()).await;
    tokio::select! {
        result = sandbox.terraform.apply(&attempt) => panic!("{result:?}"),
        () = wait_for(&mut lines, "(local-exec): started") => {}
    }
    assert!(!attempt.stop.is_cancelled());
    assert!(lock_file(&sandbox).exists());
    sandbox.supervisors.close();
    sandbox.supervisors.wait().await;
    assert!(!lock_file(&sandbox).exists());
}

#[tokio::test]
async fn the_next_command_waits_for_one_that_is_still_being_stopped() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    let (attempt, mut lines) = sandbox.prepared(Vec::new()).await;
    tokio::select! {
        result = sandbox.terraform.apply(&attempt) => panic!("{result:?}"),
        () = wait_for(&mut lines, "(local-exec): started") => {}
    }
    // Without waiting, the plan would fail on the state lock, which the dropped apply still holds.
    sandbox.terraform.plan(&attempt).await.unwrap();
}

/// An apply of a Terraform that ignores signals.
async fn with_a_deaf_terraform<T>(
    policy: StopPolicy,
    stop: impl AsyncFnOnce(&StopSignal, &mut Life) -> T,
) -> T {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.write(Vec::new());
    let file = deaf_terraform(sandbox.path());
    let environment = clean_environment(sandbox.path());
    let executable = cts_terraform::Executable::at(
        cts_core::EngineKind::Terraform,
        file,
        &environment,
        sandbox.path(),
    )
    .await
    .unwrap();
    let terraform = Terraform::new(executable, TaskTracker::new());
    let mut life = Life::watch(sandbox.directory().path());
    let (mut attempt, _lines) = sandbox.attempt();
    attempt.stop = StopSignal::new(policy);
    let order = attempt.stop.clone();
    let watch = async {
        life.hear("started").await;
        stop(&order, &mut life).await
    };
    let (result, stopped) = tokio::join!(terraform.apply(&attempt), watch);
    let error = result.unwrap_err();
    assert!(error.is_interrupted());
    assert!(error.to_string().contains("ended by signal 9"), "{error}");
    stopped
}

#[tokio::test]
async fn a_process_that_does_not_listen_is_killed_with_its_group() {
    let policy = StopPolicy {
        interrupt_grace: Duration::from_millis(300),
        terminate_grace: Duration::from_millis(300),
    };
    with_a_deaf_terraform(policy, async |order: &StopSignal, life: &mut Life| {
        order.cancel();
        life.hear_its_stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_process_is_gone_by_the_moment_that_its_order_names() {
    let policy = StopPolicy::default();
    with_a_deaf_terraform(policy, async |order: &StopSignal, life: &mut Life| {
        let now = Instant::now();
        order.kill_by(now + Duration::from_secs(6));
        let interrupted = life.hear("interrupted").await;
        let terminated = life.hear("terminated").await;
        assert!(terminated > interrupted + Duration::from_secs(3));
        assert!(life.hear("gone").await < now + Duration::from_secs(6) + LATE);
    })
    .await;
}

#[tokio::test]
async fn a_moment_that_is_named_in_the_middle_of_a_stop_shortens_it() {
    let policy = StopPolicy::default();
    with_a_deaf_terraform(policy, async |order: &StopSignal, life: &mut Life| {
        order.cancel();
        life.hear("interrupted").await;
        let now = Instant::now();
        order.kill_by(now + Duration::from_secs(20));
        order.kill_by(now + Duration::from_secs(1));
        order.kill_by(now + Duration::from_secs(30));
        assert!(life.hear_its_end().await < now + Duration::from_secs(1) + LATE);
    })
    .await;
}

#[tokio::test]
async fn a_moment_in_the_past_is_a_kill_at_once() {
    let policy = StopPolicy::default();
    with_a_deaf_terraform(policy, async |order: &StopSignal, life: &mut Life| {
        let now = Instant::now();
        order.kill_by(now);
        assert!(life.hear("gone").await < now + Duration::from_secs(1) + LATE);
    })
    .await;
}
