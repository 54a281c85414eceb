//! The brake of the fleet: losses of many tasks at the same time.

mod requests;
mod views;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cts_core::brake::FleetMaxShrink;
use cts_core::runs::RunKind;
use cts_core::{Clock, ServiceInstance, TaskName, TaskSpec};
use cts_proto::cluster::v1 as cluster;
use cts_proto::run::v1 as run;
use cts_proto::task::v1 as proto;
use cts_runtime::SystemClock;
use cts_scheduler::{Mode, Options};
use cts_store::BrakeStore as _;
use cts_store_sqlite::SqliteStore;
use cts_testkit::{ManualClock, eventually, fixtures};
use tonic::Code;

use crate::setup::{Setup, member, store_in};

const SHORT: Duration = Duration::from_millis(500);

/// Number of tasks; each has the instances of a service of its own.
const TASKS: usize = 10;

const BRAKE: FleetMaxShrink = FleetMaxShrink {
    share: 20,
    within: Duration::from_mins(10),
    at_least: 5,
};

fn name(number: usize) -> String {
    format!("t{number}")
}

fn tasks() -> Vec<TaskSpec> {
    let task = |number| fixtures::task(&name(number), &[&name(number)]);
    (0..TASKS).map(task).collect()
}

fn instances(number: usize, ids: std::ops::Range<usize>) -> (String, Vec<ServiceInstance>) {
    let service = name(number);
    let instances = ids.map(|id| fixtures::instance(&service, &format!("{service}-{id}"), 1));
    let instances = instances.collect();
    (service, instances)
}

/// A scheduler whose brake is set if more than a fifth of the instances is lost.
struct Fleet {
    setup: Setup,
    clock: Arc<ManualClock>,
}

impl Fleet {
    async fn over(store: &Arc<SqliteStore>, mode: Mode, tasks: Vec<TaskSpec>) -> Self {
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        Self::with(clock, store, tasks, |options| options.mode = mode).await
    }

    async fn with(
        clock: Arc<ManualClock>,
        store: &Arc<SqliteStore>,
        tasks: Vec<TaskSpec>,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let mut options = Options {
            fleet_max_shrink: Some(BRAKE),
            ..Options::alone(tasks, member())
        };
        change(&mut options);
        let wall = Arc::clone(&clock) as Arc<dyn Clock>;
        let setup = Setup::prepared_by(wall, Arc::clone(store), options).await;
        Self {
            setup: setup.unwrap(),
            clock,
        }
    }

    fn show(&self, shown: impl IntoIterator<Item = (usize, usize)>) {
        let shown = shown.into_iter();
        let shown = shown.map(|(number, count)| instances(number, 0..count));
        self.setup.watcher.show_services(shown.collect());
    }

    /// Shows ten instances of each task.
    fn show_all(&self) {
        self.show((0..TASKS).map(|number| (number, 10)));
    }

    /// Applies all runs that are due; returns their tasks.
    async fn apply_due(&self) -> BTreeSet<String> {
        let mut applied = BTreeSet::new();
        while let Some(lease) = self.setup.acquire(SHORT).await {
            self.setup.applied(&lease).await;
            applied.insert(lease.task_name);
        }
        applied
    }

    /// Applies all runs that are due until these tasks have run; returns the tasks that have.
    async fn apply_until(&self, tasks: &BTreeSet<String>) -> BTreeSet<String> {
        let mut applied = BTreeSet::new();
        while !applied.is_superset(tasks) {
            applied.extend(self.apply_due().await);
        }
        applied
    }

    async fn brake(&self) -> cluster::Brake {
        let mut client = self.setup.cluster.clone();
        let brake = client.get_brake(cluster::GetBrakeRequest {}).await;
        brake.unwrap().into_inner().brake.unwrap()
    }

    async fn is_set(&self, expected: bool) -> cluster::Brake {
        let brake = async || {
            let brake = self.brake().await;
            if brake.set == expected {
                Ok(brake)
            } else {
                Err(format!("{brake:?}"))
            }
        };
        eventually(Duration::from_secs(20), brake).await
    }

    async fn release(
        &self,
        seen: Option<(u64, u64)>,
    ) -> Result<cluster::ReleaseBrakeResponse, tonic::Status> {
        let seen = seen.map(|(lost, of)| cluster::SeenBrake { lost, of });
        let mut client = self.setup.cluster.clone();
        let released = client
            .release_brake(cluster::ReleaseBrakeRequest { seen })
            .await?;
        Ok(released.into_inner())
    }
}

/// A fleet of ten instances for each task, all applied.
async fn applied(store: &Arc<SqliteStore>) -> Fleet {
    let fleet = Fleet::over(store, Mode::Daemon, tasks()).await;
    fleet.show_all();
    fleet.apply_until(&(0..TASKS).map(name).collect()).await;
    fleet
}

fn names(tasks: &[usize]) -> BTreeSet<String> {
    tasks.iter().map(|number| name(*number)).collect()
}

#[tokio::test]
async fn nothing_that_loses_instances_runs_after_many_are_lost_whatever_the_time() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    assert!(fleet.brake().await.configured);
    fleet.show([(0, 0), (1, 0)]);
    assert_eq!(fleet.apply_due().await, names(&[0, 1]), "a fifth may go");
    fleet.show([(2, 9), (3, 8), (4, 11)]);
    let brake = fleet.is_set(true).await;
    assert_eq!(fleet.apply_due().await, names(&[4]), "others go on");
    for _ in 0..6 {
        fleet.clock.advance(Duration::from_mins(10));
        fleet.show([(4, 12)]);
        assert_eq!(fleet.apply_due().await, names(&[4]));
        fleet.show([(4, 11)]);
        assert_eq!(fleet.apply_due().await, names(&[4]));
    }
    assert_eq!((brake.of, brake.limit), (101, 20));
    let lost = fleet.brake().await;
    assert_eq!((lost.lost, lost.of, lost.held), (23, 101, 2));
    let largest = &lost.losses[0];
    assert_eq!((largest.before, largest.now), (10, 0));
}

#[tokio::test]
async fn a_release_lets_everything_run_if_no_more_is_lost_than_was_seen() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    let follow = run::FollowRunsRequest {
        include_brake: true,
        ..run::FollowRunsRequest::default()
    };
    let changes = fleet.setup.runs.clone().follow_runs(follow).await;
    let mut changes = changes.unwrap().into_inner();
    fleet.show((0..5).map(|number| (number, 0)));
    fleet.is_set(true).await;
    assert!(changes.message().await.unwrap().unwrap().brake, "it is set");
    assert_eq!(fleet.apply_due().await, names(&[]));
    let refused = fleet.release(Some((49, 100))).await.unwrap_err();
    assert_eq!(refused.code(), Code::Aborted);
    assert!(refused.message().contains("50 of 100"), "{refused}");
    let released = fleet.release(Some((50, 100))).await.unwrap();
    assert_eq!(released.released.unwrap().held, 5);
    while !changes.message().await.unwrap().unwrap().brake {}
    let all = names(&[0, 1, 2, 3, 4]);
    let mut run = BTreeSet::new();
    while run != all {
        run.extend(fleet.apply_due().await);
    }
    let again = fleet.release(None).await.unwrap();
    assert_eq!(again.released, None);
    // The reference is what is left.
    fleet.show([(5, 0)]);
    assert_eq!(fleet.apply_due().await, names(&[5]));
    fleet.show([(6, 9)]);
    fleet.is_set(true).await;
}

#[tokio::test]
async fn the_brake_ends_when_enough_instances_are_back() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    fleet.show((0..3).map(|number| (number, 0)));
    fleet.is_set(true).await;
    fleet.show([(0, 10)]);
    assert_eq!(fleet.apply_due().await, names(&[]));
    fleet.show([(1, 10)]);
    fleet.is_set(false).await;
    let mut run = BTreeSet::new();
    while run.is_empty() {
        run.extend(fleet.apply_due().await);
    }
    assert_eq!(run, names(&[2]), "what came back is applied already");
}

#[tokio::test]
async fn deployments_disabled_tasks_silence_and_starts_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    let deployed = (0..TASKS).map(|number| instances(number, 20..30));
    fleet.setup.watcher.show_services(deployed.collect());
    let mut run = BTreeSet::new();
    while run.len() < TASKS {
        run.extend(fleet.apply_due().await);
    }
    assert!(!fleet.brake().await.set);
    // A watcher that is restarted, and views that it cannot read.
    fleet.setup.watcher.fail("t0", "refused");
    fleet.setup.watcher.restart();
    for number in 5..TASKS {
        let request = proto::UpdateTaskRequest {
            name: name(number),
            enabled: Some(false),
            ..proto::UpdateTaskRequest::default()
        };
        fleet
            .setup
            .tasks
            .clone()
            .update_task(request)
            .await
            .unwrap();
    }
    assert_eq!(fleet.apply_due().await, names(&[]));
    let brake = fleet.brake().await;
    assert!(!brake.set && brake.lost == 0, "{brake:?}");
    drop(fleet);
    let mut half = tasks();
    half.truncate(5);
    let fleet = Fleet::over(&store, Mode::Daemon, half).await;
    fleet.setup.watcher.hide("t0");
    let deployed = (0..5).map(|number| instances(number, 20..30));
    fleet.setup.watcher.show_services(deployed.collect());
    assert_eq!(fleet.apply_due().await, names(&[]));
    let brake = fleet.brake().await;
    assert!(!brake.set && brake.lost == 0, "{brake:?}");
}

#[tokio::test]
async fn a_new_leader_compares_with_what_was_applied_and_keeps_a_brake_that_is_set() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    drop(applied(&store).await);
    let fleet = Fleet::over(&store, Mode::Daemon, tasks()).await;
    fleet.show((0..TASKS).map(|number| (number, 7)));
    fleet.is_set(true).await;
    let run = fleet.apply_due().await;
    assert!(run.len() <= 6, "at most a fifth may go: {run:?}");
    let lost = fleet.brake().await.lost;
    assert_eq!(lost, 30);
    drop(fleet);
    let fleet = Fleet::over(&store, Mode::Daemon, tasks()).await;
    assert!(fleet.brake().await.set);
    fleet.show((0..TASKS).map(|number| (number, 7)));
    assert_eq!(fleet.apply_due().await, names(&[]));
    let brake = fleet.brake().await;
    assert_eq!((brake.set, brake.lost, brake.of), (true, 30, 100));
    fleet.release(Some((30, 100))).await.unwrap();
    let mut run = BTreeSet::new();
    while run.len() < TASKS - 6 {
        run.extend(fleet.apply_due().await);
    }
    assert!(!fleet.brake().await.set);
}

#[tokio::test]
async fn numbers_count_until_some_time_after_they_were_applied() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    // The clock stood still during the first applies.
    fleet.clock.advance(Duration::from_mins(1));
    fleet.show([(0, 0), (1, 0)]);
    let first = fleet.setup.acquired().await;
    fleet.clock.advance(Duration::from_hours(1));
    // One of them is not applied yet, so its instances still count as lost.
    let second = fleet.setup.acquired().await;
    fleet.show([(2, 0), (3, 9)]);
    fleet.is_set(true).await;
    fleet.setup.applied(&first).await;
    fleet.setup.applied(&second).await;
    assert_eq!(fleet.apply_due().await, names(&[]));
}

#[tokio::test]
async fn a_persons_run_passes_and_a_pass_of_all_tasks_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    fleet.show((0..3).map(|number| (number, 0)));
    fleet.is_set(true).await;
    let request = proto::UpdateTaskRequest {
        name: name(1),
        run_mode: proto::RunMode::Now.into(),
        ..proto::UpdateTaskRequest::default()
    };
    let mut client = fleet.setup.tasks.clone();
    let work = async {
        let lease = fleet.setup.acquired().await;
        assert_eq!(lease.task_name, name(1));
        fleet.setup.applied(&lease).await;
    };
    let (asked, ()) = tokio::join!(client.update_task(request), work);
    asked.unwrap();
    assert_eq!(fleet.apply_due().await, names(&[]));
    drop(fleet);
    let fleet = Fleet::over(&store, Mode::OnRequest, tasks()).await;
    for task in tasks() {
        let name: &TaskName = task.name();
        fleet
            .setup
            .requests
            .request(name, RunKind::Apply)
            .await
            .unwrap();
    }
    fleet.show((0..TASKS).map(|number| (number, if number < 3 { 0 } else { 10 })));
    let mut run = BTreeSet::new();
    while run.len() < TASKS - 2 {
        run.extend(fleet.apply_due().await);
    }
    let mut held = names(&[0, 2]);
    held.retain(|task| run.contains(task));
    assert_eq!(held, names(&[]));
    assert!(store.brake().await.unwrap().fleet.is_set());
}

#[tokio::test]
async fn a_fleet_that_vanishes_while_the_leader_dies_loses_at_most_the_share() {
    const FLEET: usize = 500;
    const STEP: usize = 25;
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let tasks = || {
        let task = |number| fixtures::task(&name(number), &[&name(number)]);
        (0..FLEET).map(task).collect::<Vec<_>>()
    };
    let mut fleet = Fleet::over(&store, Mode::Daemon, tasks()).await;
    fleet.show((0..FLEET).map(|number| (number, 1)));
    let mut before = BTreeSet::new();
    while before.len() < FLEET {
        before.extend(fleet.apply_due().await);
    }
    let mut lost = BTreeSet::new();
    for step in 0..FLEET / STEP {
        fleet.show((step * STEP..(step + 1) * STEP).map(|number| (number, 0)));
        for _ in 0..16 {
            if let Some(lease) = fleet.setup.acquire(Duration::from_millis(3)).await {
                fleet.setup.applied(&lease).await;
                lost.insert(lease.task_name);
            }
        }
        if step == 2 {
            drop(fleet);
            fleet = Fleet::over(&store, Mode::Daemon, tasks()).await;
            fleet.show((0..FLEET).map(|number| (number, usize::from(number >= 3 * STEP))));
        }
    }
    let brake = fleet.is_set(true).await;
    lost.extend(fleet.apply_due().await);
    assert!(
        lost.len() <= FLEET / 5,
        "{} of {FLEET} were lost",
        lost.len()
    );
    fleet.clock.advance(Duration::from_hours(1));
    assert_eq!(fleet.apply_due().await, names(&[]));
    assert_eq!(brake.limit, u64::try_from(FLEET / 5).unwrap());
}
