//! Requests about tasks that the brake holds, and new leaders.

use std::sync::Arc;

use cts_core::{ApprovalDefaults, Clock as _, TaskSpec};
use cts_proto::run::v1 as run;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use cts_runtime::SystemClock;
use cts_store::Unchanged;
use cts_testkit::ManualClock;

use super::{BRAKE, Fleet, TASKS, applied, name, names, tasks};
use crate::calls::on_services;
use crate::setup::store_in;

const LOST: [usize; 3] = [0, 1, 2];

/// Takes all instances of three tasks away, and waits until the brake is set.
async fn lose(fleet: &Fleet) {
    fleet.show(LOST.map(|number| (number, 0)));
    let brake = fleet.is_set(true).await;
    assert_eq!((brake.lost, brake.of), (30, 100), "{brake:?}");
    assert_eq!(fleet.apply_due().await, names(&[]));
}

#[tokio::test]
async fn another_declaration_of_a_held_task_is_held_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    lose(&fleet).await;
    let mut other = on_services("t1", &["t1"]);
    other.description = "another one".to_owned();
    let replaced = fleet.setup.replace("t1", other, 0, RunMode::Now).await;
    let replaced = replaced.unwrap();
    assert!(replaced.held.contains("t1"), "{replaced:?}");
    assert_eq!(fleet.apply_due().await, names(&[]));
    let hold = fleet.setup.state("t1").await.hold.unwrap();
    assert!(hold.by_brake, "{hold:?}");
    let obstacles = fleet.setup.explained("t1").await.obstacles;
    let kinds: Vec<_> = obstacles.iter().map(proto::Obstacle::kind).collect();
    assert!(kinds.contains(&proto::ObstacleKind::Brake), "{kinds:?}");
    // The declaration runs when the task is released.
    let request = proto::ReleaseTaskRequest {
        name: "t1".into(),
        ..proto::ReleaseTaskRequest::default()
    };
    fleet
        .setup
        .tasks
        .clone()
        .release_task(request)
        .await
        .unwrap();
    assert_eq!(fleet.apply_until(&names(&[1])).await, names(&[1]));
}

#[tokio::test]
async fn a_task_that_a_person_enables_runs_and_the_others_wait() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    lose(&fleet).await;
    fleet
        .setup
        .update("t0", Some(false), RunMode::Unspecified)
        .await
        .unwrap();
    assert_eq!(fleet.apply_due().await, names(&[]));
    let enabled = fleet.setup.update("t0", Some(true), RunMode::Now);
    let first = names(&[0]);
    let (enabled, run) = tokio::join!(enabled, fleet.apply_until(&first));
    enabled.unwrap();
    assert_eq!(run, names(&[0]));
    let brake = fleet.brake().await;
    assert!(brake.set && brake.held == 2, "{brake:?}");
}

#[tokio::test]
async fn a_held_run_that_is_cancelled_stays_away_when_the_brake_is_released() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    // Queued before the brake.
    fleet.show([(0, 0)]);
    fleet
        .setup
        .until_so(async |setup| setup.queue().await.queued == 1)
        .await;
    fleet.show([(1, 0), (2, 0)]);
    fleet.is_set(true).await;
    assert_eq!(fleet.apply_due().await, names(&[]));
    let list = run::ListRunsRequest {
        task_name: "t0".into(),
        status: run::RunStatus::Queued.into(),
        ..run::ListRunsRequest::default()
    };
    let runs = fleet.setup.runs.clone().list_runs(list).await;
    let runs = runs.unwrap().into_inner().runs;
    let cancel = run::CancelRunRequest {
        run_id: runs[0].id.clone(),
        ..run::CancelRunRequest::default()
    };
    fleet.setup.runs.clone().cancel_run(cancel).await.unwrap();
    fleet.release(Some((30, 100))).await.unwrap();
    assert_eq!(fleet.apply_until(&names(&[1, 2])).await, names(&[1, 2]));
    assert_eq!(fleet.apply_due().await, names(&[]));
}

#[tokio::test]
async fn another_configuration_in_force_holds_the_tasks_that_lose() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    lose(&fleet).await;
    let other = |mut task: TaskSpec| {
        task.definition.description = "another one".to_owned();
        task
    };
    let other: Vec<TaskSpec> = tasks().into_iter().map(other).collect();
    let files = &fleet.setup.files;
    let registered = files
        .register(&other, (Some(BRAKE), ApprovalDefaults::default()))
        .await
        .unwrap();
    assert!(registered.is_some());
    let whole: Vec<usize> = (LOST.len()..TASKS).collect();
    let run = fleet.apply_until(&names(&whole)).await;
    assert_eq!(run, names(&whole));
    assert_eq!(fleet.apply_due().await, names(&[]));
    assert_eq!(fleet.brake().await.held, 3);
    // Without the block the brake is off, and holds nothing.
    let registered = fleet
        .setup
        .files
        .register(&other, (None, ApprovalDefaults::default()))
        .await
        .unwrap();
    assert!(registered.is_some());
    assert_eq!(fleet.apply_until(&names(&LOST)).await, names(&LOST));
    let brake = fleet.brake().await;
    assert!(!brake.configured && !brake.set, "{brake:?}");
}

#[tokio::test]
async fn a_takeover_that_runs_all_tasks_does_not_pass() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    lose(&fleet).await;
    drop(fleet);
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let fleet = Fleet::with(clock, &store, tasks(), |options| {
        options.first_pass = Unchanged::Run;
    })
    .await;
    let shown = |number| (number, if LOST.contains(&number) { 0 } else { 10 });
    fleet.show((0..TASKS).map(shown));
    let whole: Vec<usize> = (LOST.len()..TASKS).collect();
    assert_eq!(fleet.apply_until(&names(&whole)).await, names(&whole));
    assert_eq!(fleet.apply_due().await, names(&[]));
    let held = LOST.map(name);
    for task in held {
        assert!(fleet.setup.state(&task).await.hold.unwrap().by_brake);
    }
}
