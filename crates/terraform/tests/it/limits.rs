//! Commands that take too long, and processes that outlive their Terraform.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_core::{EngineKind, StepTimeouts};
use cts_terraform::{CommandFailure, Executable, StopPolicy, StopSignal, Terraform};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::fixture::{KEEPS_SERVICES, Sandbox, TAKES_LONG, clean_environment};
use crate::script::{
    Life, deaf_terraform, killed_terraform, terraform_that_leaves_something_behind,
};

const QUICK: StopPolicy = StopPolicy {
    interrupt_grace: Duration::from_millis(300),
    terminate_grace: Duration::from_millis(300),
};

/// A script in place of Terraform.
async fn played(sandbox: &Sandbox, script: impl Fn(&Path) -> PathBuf) -> Terraform {
    let environment = clean_environment(sandbox.path());
    let executable = Executable::at(
        EngineKind::Terraform,
        script(sandbox.path()),
        &environment,
        sandbox.path(),
    );
    Terraform::new(executable.await.unwrap(), TaskTracker::new())
}

#[tokio::test]
async fn an_apply_that_takes_longer_than_it_may_is_stopped_gently_and_has_failed() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    let root = sandbox.write(Vec::new());
    let (mut attempt, _lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    attempt.timeouts.apply = Duration::from_secs(2);
    let error = sandbox.terraform.apply(&attempt).await.unwrap_err();
    assert!(!error.is_interrupted() && !attempt.stop.is_cancelled());
    let text = error.to_string();
    let beginning = "error tf-apply for 'edge': stopped because it took longer than 2s, which is its `apply_timeout`";
    assert!(text.starts_with(beginning), "{text}");
    // Terraform ended by itself and left no lock.
    let lock = "terraform.tfstate.d/edge/.terraform.tfstate.lock.info";
    assert!(!sandbox.directory().path().join(lock).exists());
}

#[tokio::test]
async fn a_command_that_does_not_listen_is_killed_when_its_time_is_over() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.write(Vec::new());
    let terraform = played(&sandbox, deaf_terraform).await;
    let mut life = Life::watch(sandbox.directory().path());
    let (mut attempt, _lines) = sandbox.attempt();
    attempt.stop = StopSignal::new(QUICK);
    attempt.timeouts.init = Duration::from_millis(500);
    let error = terraform.init(&attempt, None).await.unwrap_err();
    assert!(error.to_string().contains("`init_timeout`"), "{error}");
    life.hear("started").await;
    life.hear_its_stop().await;
}

#[tokio::test]
async fn the_wait_for_a_shared_plugin_cache_is_bounded_and_can_be_stopped() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let cache = sandbox.path().join("cache").to_str().unwrap().to_owned();
    sandbox.extra_environment = vec![("TF_PLUGIN_CACHE_DIR".to_owned(), cache)];
    sandbox.write(Vec::new());
    let terraform = played(&sandbox, deaf_terraform).await;
    let mut life = Life::watch(sandbox.directory().path());
    let (mut hanging, _lines) = sandbox.attempt();
    hanging.stop = StopSignal::new(QUICK);
    let (mut waiting, _lines) = sandbox.attempt();
    waiting.timeouts.init = Duration::from_millis(200);
    let (stopped, _lines) = sandbox.attempt();
    let wait = async {
        life.hear("started").await;
        let error = terraform.init(&waiting, None).await.unwrap_err();
        let failure = error.failure;
        assert!(
            matches!(
                failure,
                CommandFailure::CacheInUse {
                    key: "init_timeout",
                    ..
                }
            ),
            "{failure}"
        );
        let stop = async { stopped.stop.cancel() };
        let (result, ()) = tokio::join!(terraform.init(&stopped, None), stop);
        assert!(result.unwrap_err().is_interrupted());
        hanging.stop.cancel();
    };
    let (result, ()) = tokio::join!(terraform.init(&hanging, None), wait);
    assert!(result.unwrap_err().is_interrupted());
}

#[tokio::test]
async fn workers_of_one_machine_use_a_shared_plugin_cache_one_after_the_other() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    fs::create_dir(sandbox.path().join("cache")).unwrap();
    // The home directory of the tests' processes.
    let configuration = "plugin_cache_dir = \"$HOME/cache\"\n";
    fs::write(sandbox.path().join(".terraformrc"), configuration).unwrap();
    sandbox.write(Vec::new());
    let one = played(&sandbox, deaf_terraform).await;
    let mut life = Life::watch(sandbox.directory().path());
    let (mut hanging, _lines) = sandbox.attempt();
    hanging.stop = StopSignal::new(QUICK);
    sandbox.definition.working_dir = "sync-tasks/other".into();
    sandbox.write(Vec::new());
    let another_place = |directory: &Path| {
        let directory = directory.join("other");
        fs::create_dir(&directory).unwrap();
        terraform_that_leaves_something_behind(&directory)
    };
    let other = played(&sandbox, another_place).await;
    let mut other_life = Life::watch(sandbox.directory().path());
    let (mut waiting, _lines) = sandbox.attempt();
    let wait = async {
        life.hear("started").await;
        waiting.timeouts.init = Duration::from_millis(300);
        let failure = other.init(&waiting, None).await.unwrap_err().failure;
        assert!(
            matches!(failure, CommandFailure::CacheInUse { .. }),
            "{failure}"
        );
        hanging.stop.cancel();
        waiting.timeouts.init = Duration::from_secs(30);
        other.init(&waiting, None).await.unwrap();
        other_life.hear("started").await;
    };
    let (result, ()) = tokio::join!(one.init(&hanging, None), wait);
    assert!(result.unwrap_err().is_interrupted());
}

#[tokio::test]
async fn processes_left_by_a_killed_terraform_are_stopped() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.write(Vec::new());
    let terraform = played(&sandbox, killed_terraform).await;
    let mut life = Life::watch(sandbox.directory().path());
    let (mut attempt, _lines) = sandbox.attempt();
    attempt.stop = StopSignal::new(QUICK);
    let error = terraform.apply(&attempt).await.unwrap_err();
    assert!(error.to_string().contains("ended by signal 9"), "{error}");
    life.hear("started").await;
    // The apply has not ended before its group.
    let ended = Instant::now();
    assert!(life.hear("gone").await < ended + Duration::from_secs(5));
}

#[tokio::test]
async fn processes_left_by_a_successful_terraform_live_on() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.write(Vec::new());
    let terraform = played(&sandbox, terraform_that_leaves_something_behind).await;
    let mut life = Life::watch(sandbox.directory().path());
    let (attempt, _lines) = sandbox.attempt();
    assert_eq!(attempt.timeouts, StepTimeouts::default());
    terraform.apply(&attempt).await.unwrap();
    life.hear("started").await;
    assert!(life.is_quiet());
}
