//! Disabled tasks are made ready (docs/runs.md#disabled-tasks).

use std::sync::Arc;
use std::time::Duration;

use cts_core::TaskSpec;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::RunKind;
use cts_proto::task::v1 as proto;
use cts_proto::worker::v1 as worker;
use cts_rpc::convert;
use cts_scheduler::{Mode, Options};
use cts_store::{Member, Refused, RefusedCode, Store as _};
use cts_store_sqlite::SqliteStore;
use cts_testkit::eventually;

use crate::calls::{checked, declared, failed, interrupted};
use crate::faulty_store::{Fault, FaultyStore};
use crate::setup::{Setup, WORKER, instance, member, store_in, task, terraform};

const LIMIT: Duration = Duration::from_mins(1);

/// Longer than a look at disabled tasks takes.
const WHILE: Duration = Duration::from_millis(2500);

fn disabled(name: &str) -> TaskSpec {
    TaskSpec {
        enabled: false,
        ..task(name)
    }
}

/// A scheduler of these tasks, with a worker that has so many slots.
async fn leading(store: &Arc<SqliteStore>, tasks: Vec<TaskSpec>, slots: u32) -> Setup {
    leading_as(store, Options::alone(tasks, member()), slots).await
}

async fn leading_as(store: &Arc<SqliteStore>, options: Options, slots: u32) -> Setup {
    let setup = Setup::over(Arc::clone(store), options).await;
    beat(&setup, slots).await;
    setup
}

async fn beat(setup: &Setup, slots: u32) {
    let worker = worker::Worker {
        id: WORKER.into(),
        slots,
        capabilities: Some(convert::capabilities_to_wire(&terraform())),
        ..worker::Worker::default()
    };
    setup.heartbeat(worker).await;
}

#[tokio::test]
async fn disabled_task_is_checked_once_across_restarts_until_its_declaration_changes() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = leading(&store, vec![disabled("a")], 8).await;
    setup.does(RunKind::Check, checked()).await;
    assert_eq!(setup.acquire(WHILE).await, None);
    let state = setup.state("a").await;
    assert_eq!((state.event_count, state.check_error.as_str()), (0, ""));
    drop(setup);
    let setup = leading(&store, vec![disabled("a")], 8).await;
    assert_eq!(setup.acquire(WHILE).await, None, "nothing has changed");
    drop(setup);
    let mut changed = disabled("a");
    changed.definition.description = "another".to_owned();
    let setup = leading(&store, vec![changed.clone()], 8).await;
    setup.does(RunKind::Check, checked()).await;
    drop(setup);
    changed.requirement.version = Some("1.11.4".to_owned());
    let setup = leading(&store, vec![changed], 8).await;
    setup.does(RunKind::Check, checked()).await;
}

#[tokio::test]
async fn a_quarter_of_the_slots_checks_and_enabled_tasks_come_first() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let mut tasks: Vec<_> = ["a", "b", "c", "d"].map(disabled).into();
    tasks.push(task("web"));
    let setup = leading(&store, tasks, 8).await;
    assert_eq!(
        setup.acquire(WHILE).await,
        None,
        "the enabled one waits for Consul"
    );
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    assert_eq!(
        (lease.kind(), lease.task_name.as_str()),
        (RunKind::Apply, "web")
    );
    setup.applied(&lease).await;
    let (one, two) = (setup.acquired().await, setup.acquired().await);
    assert_eq!((one.kind(), two.kind()), (RunKind::Check, RunKind::Check));
    assert_eq!(setup.acquire(WHILE).await, None, "two of eight slots");
    setup.complete(&one, checked()).await.unwrap();
    setup.does(RunKind::Check, checked()).await;
    setup.complete(&two, checked()).await.unwrap();
    setup.does(RunKind::Check, checked()).await;
    assert_eq!(setup.acquire(WHILE).await, None);
}

/// Waits until the lease has an order to stop its run.
async fn ordered(setup: &Setup, lease: &run::Lease) -> run::CancelOrder {
    let request = run::AwaitCancelRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        wait: Some(convert::duration_to_wire(Duration::from_secs(20))),
        known: run::CancelOrder::Unspecified.into(),
    };
    let answer = setup.runs.clone().await_cancel(request).await.unwrap();
    answer.into_inner().order()
}

#[tokio::test]
async fn a_check_gives_the_only_slot_to_changes_three_times_and_then_runs_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = leading(&store, vec![disabled("a"), task("web")], 1).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    for port in 2..=4 {
        let check = setup.acquired().await;
        assert_eq!(check.kind(), RunKind::Check);
        setup.watcher.show(vec![instance("w", port)]);
        let order = ordered(&setup, &check).await;
        assert_eq!(order, run::CancelOrder::Force);
        setup.complete(&check, interrupted()).await.unwrap();
        let lease = setup.acquired().await;
        assert_eq!(lease.kind(), RunKind::Apply);
        setup.applied(&lease).await;
        beat(&setup, 1).await;
    }
    let check = setup.acquired().await;
    setup.watcher.show(vec![instance("w", 5)]);
    // In this test leases need no slot.
    let lease = setup.acquired().await;
    assert_eq!(lease.kind(), RunKind::Apply);
    setup.applied(&lease).await;
    setup.complete(&check, checked()).await.unwrap();
    assert_eq!(setup.state("a").await.check_error, "");
    assert_eq!(setup.acquire(WHILE).await, None, "it is ready");
}

#[tokio::test]
async fn a_creation_that_a_caller_waits_for_gets_the_only_slot_before_a_check() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = leading(&store, vec![disabled("a")], 1).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let check = setup.acquired().await;
    assert_eq!(check.kind(), RunKind::Check);
    let (created, ()) = tokio::join!(
        setup.create(declared("new"), proto::RunMode::Unspecified),
        async {
            assert_eq!(ordered(&setup, &check).await, run::CancelOrder::Force);
            setup.complete(&check, interrupted()).await.unwrap();
            let lease = setup.acquired().await;
            assert_eq!(
                (lease.kind(), lease.task_name.as_str()),
                (RunKind::Check, "new")
            );
            setup.complete(&lease, checked()).await.unwrap();
        }
    );
    created.unwrap();
}

#[tokio::test]
async fn a_check_that_is_refused_leaves_its_place_to_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let faults = FaultyStore::over(Arc::clone(&store));
    // The request does not become a run.
    faults.fail("enqueue", &[Fault::Refused; 1000]);
    let tasks = ["a", "b"].map(disabled).into();
    let options = Options::alone(tasks, member());
    let setup = Setup::over(Arc::clone(&faults), options).await;
    beat(&setup, 4).await;
    let request = eventually(LIMIT, async || {
        let requests = store.requests().await.unwrap();
        requests.into_iter().next().ok_or("no check is requested")
    })
    .await;
    assert_eq!(request.task, task("a").definition.name);
    let bystander = Member {
        id: "bystander".into(),
        ..member()
    };
    let refused = Refused {
        code: RefusedCode::Unusable,
        reason: "its input cannot be used".to_owned(),
    };
    // The leader may begin anew meanwhile.
    eventually(LIMIT, async || {
        let leader = store.lead(&bystander, None, LIMIT).await.unwrap().epoch;
        let refused = store.refuse(leader, request.run, &refused).await;
        refused.map_err(|error| error.to_string())
    })
    .await;
    faults.heal();
    let lease = setup.acquired().await;
    assert_eq!(
        (lease.kind(), lease.task_name.as_str()),
        (RunKind::Check, "b")
    );
}

#[tokio::test]
async fn a_failed_check_is_told_and_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    for round in 0..2 {
        let setup = leading(&store, vec![disabled("a")], 4).await;
        if round == 0 {
            setup.does(RunKind::Check, failed("no such module")).await;
        }
        assert_eq!(setup.acquire(WHILE).await, None);
        assert_eq!(setup.state("a").await.check_error, "no such module");
        let explanation = setup.explained("a").await;
        let text = &explanation.obstacles[0].text;
        assert!(text.contains("no such module"), "{text}");
    }
}

#[tokio::test]
async fn a_task_that_was_just_disabled_is_ready() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = leading(&store, vec![task("a")], 4).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    setup.leader_has_looked("a").await;
    setup
        .update("a", Some(false), proto::RunMode::Unspecified)
        .await
        .unwrap();
    assert_eq!(setup.acquire(WHILE).await, None);
}

#[tokio::test]
async fn a_pass_checks_them_after_the_enabled_ones() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options {
        mode: Mode::OnRequest,
        ..Options::alone(vec![disabled("a")], member())
    };
    let setup = leading_as(&store, options, 4).await;
    assert_eq!(
        setup.acquire(WHILE).await,
        None,
        "not before the enabled ones"
    );
    let (led, ()) = tokio::join!(
        setup.checks.run(false),
        setup.does(RunKind::Check, checked()),
    );
    assert!(led);
    assert!(setup.checks.run(false).await, "it is ready");
}
