use std::time::Duration;

use cts_terraform::guard::{Guard, GuardKeeper};
use cts_terraform::{StopPolicy, StopSignal, TaskDirectory, stop_orphans};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::ends::guard_process::{
    WorkerProcess, guards_of, processes_with, run_marked, start_guard,
};
use crate::fixture::{Sandbox, TAKES_LONG, terraform_path};
use crate::script::{LATE, Life, deaf_terraform};

const SECOND: Duration = Duration::from_secs(1);

/// An id that no other test, and no test in another process, has for its worker.
fn worker_id(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// Waits until a worker has one guard, which is not in `not_these`.
async fn new_guard(id: &str, not_these: &[Pid]) -> Pid {
    let look = async {
        loop {
            if let [guard] = guards_of(id)[..]
                && !not_these.contains(&guard)
            {
                return guard;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(30 * SECOND, look).await.unwrap()
}

/// Does `work` while a keeper runs, then ends the keeper.
async fn kept<T>(keeper: GuardKeeper, work: impl Future<Output = T>) -> T {
    let end = CancellationToken::new();
    let work = async {
        let result = work.await;
        end.cancel();
        result
    };
    let (result, ()) = tokio::join!(work, keeper.keep(end.clone()));
    result
}

#[tokio::test]
async fn the_terraform_of_a_killed_worker_is_stopped_in_time() {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let directory = root.path().join("a task");
    let mut life = Life::watch(&directory);
    let worker = WorkerProcess::start(
        &worker_id("killed"),
        &directory,
        &terraform,
        [60 * SECOND, 8 * SECOND],
    );
    let started = life.hear("started").await;
    let said = worker.kill_and_outlive_guard().await;
    let interrupted = life.hear("interrupted").await;
    assert!(interrupted < started + 3 * SECOND, "at once");
    let terminated = life.hear("terminated").await;
    assert!(terminated > interrupted + 4 * SECOND, "most of the time");
    assert!(life.hear("gone").await < started + 8 * SECOND + LATE);
    assert!(said.contains("the worker has died"), "{said}");
    assert!(said.contains("SIGKILL"), "{said}");
}

#[tokio::test]
async fn nothing_is_left_of_a_worker_that_is_killed_while_it_starts_terraform() {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let mut workers = JoinSet::new();
    for number in 0..10_u32 {
        let id = worker_id(&format!("starting-{number}"));
        let directory = root.path().join(&id);
        let life = Life::watch(&directory);
        let mut worker = WorkerProcess::start(&id, &directory, &terraform, [60 * SECOND, SECOND]);
        workers.spawn(async move {
            worker.print("starting").await;
            sleep(number * SECOND / 4000).await;
            worker.kill_and_outlive_guard().await;
            assert_eq!(processes_with(&format!("CTS_WORKER={id}")), []);
            drop(life);
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn the_terraform_of_a_worker_that_stands_still_is_stopped_in_time() {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let mut life = Life::watch(root.path());
    let worker = WorkerProcess::start(
        &worker_id("still"),
        root.path(),
        &terraform,
        [2 * SECOND, 5 * SECOND],
    );
    let started = life.hear("started").await;
    worker.signal(Signal::SIGSTOP);
    let interrupted = life.hear("interrupted").await;
    assert!(interrupted > started + SECOND, "not before its time");
    assert!(life.hear_its_end().await < started + 5 * SECOND + LATE);
    worker.kill_and_outlive_guard().await;
}

#[tokio::test]
async fn a_guard_leaves_the_terraform_of_other_workers_alone() {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let [first, second] = ["first", "second"].map(|name| root.path().join(name));
    let mut first_life = Life::watch(&first);
    let mut second_life = Life::watch(&second);
    let start = |name, directory, gone_in| {
        let times = [60 * SECOND, gone_in];
        WorkerProcess::start(&worker_id(name), directory, &terraform, times)
    };
    let first = start("first", &first, 2 * SECOND);
    let second = start("second", &second, 8 * SECOND);
    first_life.hear("started").await;
    second_life.hear("started").await;
    first.kill_and_outlive_guard().await;
    first_life.hear_its_stop().await;
    assert!(second_life.is_quiet());
    second.kill_and_outlive_guard().await;
    second_life.hear("interrupted").await;
}

#[tokio::test]
async fn a_released_directory_is_not_touched() {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let [released, held] = ["released", "held"].map(|name| TaskDirectory::new(name, root.path()));
    let mut released_life = Life::watch(released.path());
    let mut held_life = Life::watch(held.path());
    let id = worker_id("releasing");
    let _left = run_marked(&id, &released, &terraform);
    let _stopped = run_marked(&id, &held, &terraform);
    released_life.hear("started").await;
    held_life.hear("started").await;
    let (guard, keeper) = start_guard(&id);
    let work = async {
        let now = Instant::now();
        guard.allow(&released, now + SECOND / 4, now + SECOND / 2);
        guard.release(&released);
        guard.allow(&held, now + SECOND / 2, now + 2 * SECOND);
        held_life.hear_its_stop().await;
    };
    kept(keeper, work).await;
    // Nor at the end of the worker.
    assert_eq!(guards_of(&id), []);
    assert!(released_life.is_quiet());
}

#[tokio::test]
async fn a_hold_that_is_renewed_lets_terraform_run() {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let directory = TaskDirectory::new("", root.path());
    let mut life = Life::watch(directory.path());
    let id = worker_id("renewing");
    let _terraform = run_marked(&id, &directory, &terraform);
    life.hear("started").await;
    let (guard, keeper) = start_guard(&id);
    let renew_twice_and_stop = async {
        for _ in 0..2 {
            let now = Instant::now();
            guard.allow(&directory, now + SECOND, now + 2 * SECOND);
            sleep(SECOND / 2).await;
        }
        assert!(life.is_quiet());
        let expiry = Instant::now() + SECOND / 2;
        assert!(life.hear("interrupted").await > expiry - SECOND / 10);
        guard.release(&directory);
    };
    kept(keeper, renew_twice_and_stop).await;
}

/// Loses a guard by `lose`; its successor must stop the process that the lost guard had to stop.
async fn outlive_guard(name: &str, lose: impl AsyncFnOnce(&Guard, Pid)) {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let directory = TaskDirectory::new("task", root.path());
    let mut life = Life::watch(directory.path());
    let id = worker_id(name);
    let _terraform = run_marked(&id, &directory, &terraform);
    life.hear("started").await;
    let (guard, keeper) = start_guard(&id);
    let work = async {
        let now = Instant::now();
        guard.allow(&directory, now + 5 * SECOND, now + 8 * SECOND);
        let first = new_guard(&id, &[]).await;
        lose(&guard, first).await;
        let second = new_guard(&id, &[first]).await;
        assert!(life.is_quiet());
        assert!(life.hear_its_stop().await < now + 8 * SECOND + LATE);
        assert_eq!(guards_of(&id), [second]);
        assert!(guard.is_standing());
    };
    kept(keeper, work).await;
}

#[tokio::test]
async fn a_killed_guard_has_a_successor_that_knows_all_holds() {
    outlive_guard("successor", async |_guard: &Guard, process| {
        kill(process, Signal::SIGKILL).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_guard_that_does_not_listen_has_a_successor() {
    outlive_guard("deaf", async |guard: &Guard, process| {
        kill(process, Signal::SIGSTOP).unwrap();
        let far = Instant::now() + 3600 * SECOND;
        let begun = Instant::now();
        let parent = std::path::Path::new("/a/directory/with/a/name/of/some/length");
        for number in 0..5_000 {
            let directory = TaskDirectory::new(number.to_string(), parent);
            guard.allow(&directory, far, far);
        }
        assert!(begun.elapsed() < SECOND, "nobody waits for the guard");
        assert!(!guard.is_standing());
    })
    .await;
}

#[tokio::test]
async fn signals_to_the_group_of_a_guard_do_not_end_it() {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let directory = TaskDirectory::new("", root.path());
    let mut life = Life::watch(directory.path());
    let id = worker_id("signalled");
    let _terraform = run_marked(&id, &directory, &terraform);
    life.hear("started").await;
    let (guard, keeper) = start_guard(&id);
    let work = async {
        let now = Instant::now();
        guard.allow(&directory, now + SECOND / 4, now + 20 * SECOND);
        let process = new_guard(&id, &[]).await;
        // The guard is at work, so it has blocked the signals.
        life.hear("interrupted").await;
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            kill(process, signal).unwrap();
        }
        let now = Instant::now();
        guard.allow(&directory, now, now + SECOND);
        life.hear_its_end().await;
        assert_eq!(guards_of(&id), [process]);
    };
    kept(keeper, work).await;
}

#[tokio::test]
async fn an_apply_of_a_killed_worker_ends_gently_where_it_has_time() {
    let sandbox = Sandbox::new(TAKES_LONG).await;
    let _prepared = sandbox.prepared(Vec::new()).await;
    let lock = sandbox
        .directory()
        .path()
        .join("terraform.tfstate.d/edge/.terraform.tfstate.lock.info");
    let mut worker = WorkerProcess::start(
        &worker_id("gentle"),
        sandbox.directory().path(),
        &terraform_path(),
        [15 * SECOND, 29 * SECOND],
    );
    worker.print("(local-exec): started").await;
    assert!(lock.exists());
    let said = worker.kill_and_outlive_guard().await;
    assert!(!lock.exists());
    assert!(sandbox.state()["serial"].is_number());
    assert!(said.contains("SIGINT"), "{said}");
    assert!(!said.contains("SIGTERM"), "{said}");
}

#[tokio::test]
async fn orphans_that_a_guard_is_stopping_are_not_interrupted_twice() {
    let root = TempDir::new().unwrap();
    let terraform = deaf_terraform(root.path());
    let directory = TaskDirectory::new("", root.path());
    let mut life = Life::watch(directory.path());
    let worker = WorkerProcess::start(
        &worker_id("orphans"),
        directory.path(),
        &terraform,
        [60 * SECOND, 3 * SECOND],
    );
    life.hear("started").await;
    let order = StopSignal::new(StopPolicy::default());
    let (_said, orphans) = tokio::join!(
        worker.kill_and_outlive_guard(),
        stop_orphans(&directory, &order)
    );
    assert_eq!(orphans.unwrap().len(), 1);
    life.hear_its_stop().await;
}
