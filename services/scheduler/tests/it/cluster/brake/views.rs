//! Views that come and go: outages of Consul, filters, and nodes that flap.

use std::sync::Arc;
use std::time::Duration;

use cts_core::{Condition, TaskName, TaskSpec, ViewId};
use cts_scheduler::Mode;
use cts_store::BrakeStore as _;
use cts_store_sqlite::SqliteStore;
use cts_testkit::{ManualClock, fixtures};

use super::{Fleet, TASKS, applied, instances, name, names, tasks};
use crate::setup::store_in;

#[tokio::test]
async fn an_outage_of_consul_of_twenty_minutes_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = applied(&store).await;
    fleet.setup.watcher.begin_outage();
    for number in 0..TASKS - 1 {
        fleet.setup.watcher.fail(&name(number), "no cluster leader");
    }
    for minute in 1..=20 {
        fleet.clock.advance(Duration::from_mins(1));
        if minute == 10 {
            fleet.setup.watcher.restart();
        }
        // The last view can be read, which shows that the failures before it have arrived.
        let last = TASKS - 1;
        fleet.show([(last, 10 + minute % 2)]);
        fleet.apply_until(&names(&[last])).await;
        let brake = fleet.brake().await;
        assert!(!brake.set && brake.lost <= 1, "minute {minute}: {brake:?}");
    }
    for number in 0..TASKS - 1 {
        fleet.setup.watcher.mend(&name(number));
    }
    fleet.show_all();
    assert_eq!(fleet.apply_due().await, names(&[]));
    let brake = fleet.brake().await;
    assert!(!brake.set && brake.lost <= 1, "{brake:?}");

    // Instances that are lost meanwhile count as soon as Consul answers.
    fleet.show((0..3).map(|number| (number, 0)));
    fleet.is_set(true).await;
    assert_eq!(fleet.apply_due().await, names(&[]));
}

/// Two tasks of each of five services: `t0` has those that pass, `t5` those of any status.
fn by_status() -> Vec<TaskSpec> {
    let of_service = |number: usize| {
        let service = name(number % 5);
        let mut task = fixtures::task(&name(number), &[&service]);
        if let (Condition::Services(services), 5..) = (&mut task.definition.condition, number) {
            "Checks.Status != \"\"".clone_into(&mut services.query.filter);
        }
        task
    };
    (0..TASKS).map(of_service).collect()
}

fn view(task: &TaskSpec) -> ViewId {
    task.definition.dependencies()[0].view.id()
}

#[tokio::test]
async fn a_service_counts_in_each_view_by_what_that_view_shows() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let fleet = Fleet::over(&store, Mode::Daemon, by_status()).await;
    let show = |number: usize, count: usize| {
        let (_service, shown) = instances(number % 5, 0..count);
        let view = view(&by_status()[number]);
        fleet.setup.watcher.show_in(view, shown);
    };
    for number in 0..TASKS {
        show(number, if number < 5 { 8 } else { 12 });
    }
    fleet.apply_until(&(0..TASKS).map(name).collect()).await;
    let brake = fleet.brake().await;
    assert_eq!((brake.lost, brake.of), (0, 100), "two views, {brake:?}");

    // Instances become critical: they leave the views of those that pass alone.
    show(0, 0);
    show(1, 0);
    fleet.apply_until(&names(&[0, 1])).await;
    let brake = fleet.brake().await;
    assert_eq!((brake.set, brake.lost, brake.of), (false, 16, 100));
    show(0, 8);
    show(1, 8);
    fleet.apply_until(&names(&[0, 1])).await;
    assert_eq!(fleet.brake().await.lost, 0);

    // They leave the catalog: both views lose them.
    for number in [0, 1, 5] {
        show(number, 0);
    }
    let brake = fleet.is_set(true).await;
    assert_eq!((brake.lost, brake.of), (28, 100), "{brake:?}");
    // Which of them arrived before the brake depends on the time; these have lost 20 at most.
    let run = fleet.apply_due().await;
    assert!(run.len() < 3, "{run:?}");
}

/// Number of instances in the inputs that were applied last.
async fn in_place(store: &Arc<SqliteStore>) -> u32 {
    let names: Vec<TaskName> = tasks().iter().map(|task| task.name().clone()).collect();
    let counts = store.applied_instances(&names).await.unwrap();
    let counts = counts.iter().zip(tasks()).map(|((task, counts), spec)| {
        assert_eq!(task, spec.name());
        counts.number(&view(&spec), task.as_str())
    });
    counts.sum()
}

/// A node that has instances of every service comes and goes each minute, while others leave for good.
#[tokio::test]
async fn a_node_that_comes_and_goes_takes_away_no_more_than_the_share() {
    // Instances of each service on the node, and those of two services that are gone from a minute on.
    for (on_node, gone, from) in [(1, 6, 0), (2, 1, 15)] {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let path = directory.path().join("cts.db");
        let store = cts_store_sqlite::open(&path, Arc::clone(&clock) as _, None).await;
        let store = Arc::new(store.unwrap());
        let fleet = Fleet::with(Arc::clone(&clock), &store, tasks(), |options| {
            options.leadership = Duration::from_hours(24);
        })
        .await;
        fleet.show_all();
        fleet.apply_until(&(0..TASKS).map(name).collect()).await;
        let mut least = in_place(&store).await;
        assert_eq!(least, 100);
        let mut was_set = false;
        for minute in 0..30 {
            clock.advance(Duration::from_mins(1));
            let away = on_node * (minute % 2);
            let is_gone = |number| number < 2 && minute >= from;
            let lost = |number| away + if is_gone(number) { gone } else { 0 };
            fleet.show((0..TASKS).map(|number| (number, 10 - lost(number))));
            // A worker that does not keep up.
            for _ in 0..5 {
                if let Some(lease) = fleet.setup.acquire(Duration::from_millis(40)).await {
                    fleet.setup.applied(&lease).await;
                }
            }
            least = least.min(in_place(&store).await);
            was_set |= fleet.brake().await.set;
        }
        assert!(was_set, "22 of 100 were lost");
        assert!(least >= 80, "{least} of 100 with {on_node} on the node");
        assert!(least < 100, "losses within the share are applied");
    }
}
