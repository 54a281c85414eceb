use std::fs;
use std::process::Stdio;
use std::time::Duration;

use cts_terraform::{StopPolicy, StopSignal, stop_orphans};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::Instant;

use crate::fixture::{KEEPS_SERVICES, Sandbox, TAKES_LONG, terraform_path, wait_for};
use crate::script::{LATE, Life, deaf_terraform, killed_terraform};

/// An apply in the sandbox's directory without a supervisor, as a killed cts leaves it.
async fn abandoned_apply(sandbox: &Sandbox) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(terraform_path())
        .args(["apply", "-no-color", "-auto-approve", "-input=false"])
        .current_dir(sandbox.directory().path())
        .env_clear()
        .envs(sandbox.environment().variables())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    loop {
        let line = lines
            .next_line()
            .await
            .unwrap()
            .expect("the apply ended early");
        if line.contains("(local-exec): started") {
            break;
        }
    }
    (child, lines)
}

#[tokio::test]
async fn an_abandoned_apply_is_stopped_and_its_lock_released() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    let _prepared = sandbox.prepared(Vec::new()).await;
    let (mut orphan, _lines) = abandoned_apply(&sandbox).await;
    let id = i32::try_from(orphan.id().unwrap()).unwrap();
    let lock = sandbox
        .directory()
        .path()
        .join("terraform.tfstate.d/edge/.terraform.tfstate.lock.info");
    assert!(lock.exists());

    let found = stop_orphans(
        &sandbox.directory(),
        &StopSignal::new(StopPolicy::default()),
    )
    .await
    .unwrap();
    assert_eq!(
        found.iter().map(|orphan| orphan.group).collect::<Vec<_>>(),
        [id]
    );
    assert!(found[0].processes.contains(&id));
    assert_eq!(orphan.wait().await.unwrap().code(), Some(1));
    assert!(!lock.exists());

    let again = stop_orphans(
        &sandbox.directory(),
        &StopSignal::new(StopPolicy::default()),
    )
    .await
    .unwrap();
    assert_eq!(again, []);
}

#[test]
fn an_apply_survives_the_end_of_its_supervisor_and_can_still_stop_gently() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let supervising = runtime();
    let here = runtime();
    let sandbox = here.block_on(Sandbox::new(TAKES_LONG));
    let directory = sandbox.directory();
    let lock = directory
        .path()
        .join("terraform.tfstate.d/edge/.terraform.tfstate.lock.info");
    let root = sandbox.write(Vec::new());
    let (attempt, mut lines) = sandbox.attempt();
    // The directory stays here, until the end of the test.
    let terraform = sandbox.terraform;
    supervising.spawn(async move {
        terraform.prepare(&attempt, &root).await.unwrap();
        terraform.apply(&attempt).await.unwrap();
    });
    here.block_on(wait_for(&mut lines, "(local-exec): started"));
    assert!(lock.exists());
    // Like a kill of cts: nothing waits for the process or reads its output.
    supervising.shutdown_background();
    let found = here
        .block_on(stop_orphans(
            &directory,
            &StopSignal::new(StopPolicy::default()),
        ))
        .unwrap();
    assert_eq!(found.len(), 1);
    assert!(!lock.exists());
}

#[tokio::test]
async fn processes_of_others_are_left_alone() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    sandbox.write(Vec::new());
    let sibling = sandbox.path().join("sync-tasks/sibling");
    fs::create_dir(&sibling).unwrap();
    let marked = sandbox.environment();
    let spawn = |directory: &std::path::Path, marker: bool| {
        let mut command = Command::new("sleep");
        command
            .arg("60")
            .current_dir(directory)
            .process_group(0)
            .kill_on_drop(true);
        if marker {
            command.envs(marked.variables());
        }
        command.spawn().unwrap()
    };
    // A shell of a person in the directory, and the Terraform of another task.
    let mut person = spawn(sandbox.directory().path(), false);
    let mut other_task = spawn(&sibling, true);
    let found = stop_orphans(
        &sandbox.directory(),
        &StopSignal::new(StopPolicy::default()),
    )
    .await
    .unwrap();
    assert_eq!(found, []);
    assert_eq!(person.try_wait().unwrap(), None);
    assert_eq!(other_task.try_wait().unwrap(), None);
}

/// A script in the sandbox's directory without a supervisor.
fn abandoned_script(sandbox: &Sandbox, script: &std::path::Path) -> (Child, Life) {
    sandbox.write(Vec::new());
    let life = Life::watch(sandbox.directory().path());
    let child = Command::new(script)
        .arg("apply")
        .current_dir(sandbox.directory().path())
        .envs(sandbox.environment().variables())
        .process_group(0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, life)
}

#[tokio::test]
async fn an_orphan_is_gone_by_the_moment_that_the_order_names() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let script = deaf_terraform(sandbox.path());
    let (mut orphan, mut life) = abandoned_script(&sandbox, &script);
    life.hear("started").await;
    let order = StopSignal::new(StopPolicy::default());
    let given = order.clone();
    let watch = async {
        life.hear("interrupted").await;
        // In the middle of a stop that could take half a minute.
        let now = Instant::now();
        given.kill_by(now + Duration::from_secs(2));
        assert!(life.hear_its_end().await < now + Duration::from_secs(2) + LATE);
    };
    let directory = sandbox.directory();
    let (found, ()) = tokio::join!(stop_orphans(&directory, &order), watch);
    assert_eq!(found.unwrap().len(), 1);
    orphan.wait().await.unwrap();
}

#[tokio::test]
async fn an_orphan_whose_leader_has_died_is_stopped() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let script = killed_terraform(sandbox.path());
    let (mut leader, mut life) = abandoned_script(&sandbox, &script);
    life.hear("started").await;
    let group = i32::try_from(leader.id().unwrap()).unwrap();
    leader.wait().await.unwrap();
    let order = StopSignal::new(StopPolicy {
        interrupt_grace: Duration::from_millis(200),
        terminate_grace: Duration::from_millis(200),
    });
    let found = stop_orphans(&sandbox.directory(), &order).await.unwrap();
    assert_eq!(found.iter().map(|it| it.group).collect::<Vec<_>>(), [group]);
    life.hear("gone").await;
}
