//! Passes: one run of each enabled task, which is requested.

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_core::{BufferPeriod, Condition, TaskSpec};
use cts_proto::run::v1 as run;
use cts_scheduler::{Mode, Options};
use cts_store::Store as _;
use cts_store_sqlite::SqliteStore;
use tonic::Code;

use crate::calls::{failed, interrupted, planned};
use crate::faulty_store::Fault;
use crate::setup::{Setup, instance, member, store_in, task};

const SHORT: Duration = Duration::from_millis(300);

async fn scheduler(store: &Arc<SqliteStore>, mode: Mode, tasks: Vec<TaskSpec>) -> Setup {
    let options = Options {
        mode,
        ..Options::alone(tasks, member())
    };
    Setup::over(Arc::clone(store), options).await
}

/// A pass over these tasks, which runs the enabled ones.
async fn pass(store: &Arc<SqliteStore>, kind: RunKind, tasks: Vec<TaskSpec>) -> Setup {
    let setup = scheduler(store, Mode::OnRequest, tasks.clone()).await;
    for task in tasks.iter().filter(|task| task.enabled) {
        setup.requests.request(task.name(), kind).await.unwrap();
    }
    setup
}

fn buffered(name: &str) -> TaskSpec {
    TaskSpec {
        buffer_period: BufferPeriod::BUILT_IN,
        ..task(name)
    }
}

fn disabled(name: &str) -> TaskSpec {
    TaskSpec {
        enabled: false,
        ..task(name)
    }
}

#[tokio::test]
async fn once_applies_each_enabled_task_once_also_what_is_applied_already() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let tasks = || vec![buffered("a"), disabled("off"), task("b")];
    for _ in 0..2 {
        let setup = pass(&store, RunKind::Apply, tasks()).await;
        setup.watcher.show(vec![instance("w", 1)]);
        for _ in 0..2 {
            let lease = setup.acquired().await;
            assert_eq!(lease.kind(), run::RunKind::Apply);
            setup.applied(&lease).await;
        }
        let ends = setup.ends(2).await;
        assert_eq!(ends.keys().collect::<Vec<_>>(), ["a", "b"]);
        for end in ends.values() {
            assert_eq!(end.status(), run::RunStatus::Succeeded);
            let run = setup.run(&end.run_id).await.unwrap();
            assert!(run.no_retry);
            assert_eq!((run.attempts, run.error.as_str()), (1, ""));
        }
        setup.watcher.show(vec![instance("w", 2)]);
        assert!(setup.acquire(SHORT).await.is_none(), "nothing runs again");
    }
}

#[tokio::test]
async fn a_run_that_fails_once_has_failed() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = pass(&store, RunKind::Apply, vec![task("a")]).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    let status = setup.complete(&lease, failed("error tf-apply")).await;
    assert_eq!(status.unwrap(), run::RunStatus::Failed);
    let end = setup.ends(1).await.remove("a").unwrap();
    assert_eq!(end.run_id, lease.run_id);
    let run = setup.run(&end.run_id).await.unwrap();
    assert_eq!(run.status(), run::RunStatus::Failed);
    assert_eq!(run.error, "error tf-apply");
    assert!(run.finished_at.is_some());
    assert!(setup.acquire(Duration::from_secs(2)).await.is_none());
    drop(setup);
    let daemon = scheduler(&store, Mode::Daemon, vec![task("a")]).await;
    assert_eq!(daemon.acquired().await.task_name, "a", "the next start");
}

#[tokio::test]
async fn an_interrupted_run_is_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = pass(&store, RunKind::Apply, vec![task("a")]).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    setup.complete(&lease, interrupted()).await.unwrap();
    let again = setup.acquired().await;
    assert_eq!((&again.run_id, again.attempt), (&lease.run_id, 1));
}

#[tokio::test]
async fn a_store_that_does_not_answer_delays_a_request() {
    let options = Options {
        mode: Mode::OnRequest,
        ..Options::alone(vec![task("a")], member())
    };
    let (setup, store) = Setup::faulty(options).await;
    setup.watcher.show(vec![]);
    store.fail("change_task", &[Fault::Refused, Fault::AnswerLost]);
    let name = task("a").definition.name;
    let run = setup.requests.request(&name, RunKind::Apply).await.unwrap();
    let lease = setup.acquired().await;
    assert_eq!(lease.run_id, run.to_string());
    setup.applied(&lease).await;
    assert!(setup.acquire(SHORT).await.is_none(), "it is one run");
    let absent = "absent".parse().unwrap();
    assert_eq!(setup.requests.request(&absent, RunKind::Apply).await, None);
}

#[tokio::test]
async fn passes_do_not_continue_the_run_of_a_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let daemon = scheduler(&store, Mode::Daemon, vec![task("a")]).await;
    daemon.watcher.show(vec![instance("w", 1)]);
    let left = daemon.acquired().await;
    daemon.complete(&left, failed("earlier")).await.unwrap();
    drop(daemon);

    let inspection = pass(&store, RunKind::Plan, vec![task("a")]).await;
    // Long enough for the next attempt to be due.
    let early = inspection.acquire(Duration::from_secs(2)).await;
    assert_eq!(early, None, "nothing is applied in an inspection");
    inspection.watcher.show(vec![instance("w", 1)]);
    let lease = inspection.acquired().await;
    assert_eq!(lease.kind(), run::RunKind::Plan);
    inspection
        .complete(&lease, planned("Plan: 1 to add"))
        .await
        .unwrap();
    drop(inspection);

    let once = pass(&store, RunKind::Apply, vec![task("a")]).await;
    assert_eq!(once.acquire(SHORT).await, None);
    once.watcher.show(vec![instance("w", 1)]);
    let lease = once.acquired().await;
    assert_ne!(lease.run_id, left.run_id);
    once.complete(&lease, failed("now")).await.unwrap();
    assert_eq!(once.run(&lease.run_id).await.unwrap().error, "now");
    let left = once.run(&left.run_id).await.unwrap();
    assert_eq!(left.status(), run::RunStatus::Cancelled);
}

#[tokio::test]
async fn inspect_plans_each_enabled_task_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let tasks = vec![buffered("a"), disabled("off"), task("b")];
    let setup = pass(&store, RunKind::Plan, tasks).await;
    setup.watcher.show(vec![instance("w", 1)]);
    for _ in 0..2 {
        let lease = setup.acquired().await;
        assert_eq!(lease.kind(), run::RunKind::Plan);
        assert_eq!(setup.input(&lease).await.services[0].port, 1);
        let outcome = match lease.task_name.as_str() {
            "a" => planned("Plan: 1 to add"),
            _ => failed("error tf-plan"),
        };
        setup.complete(&lease, outcome).await.unwrap();
    }
    let ends = setup.ends(2).await;
    assert_eq!(ends["a"].kind(), run::RunKind::Plan);
    let a = setup.run(&ends["a"].run_id).await.unwrap();
    assert_eq!(
        (a.status(), a.kind(), a.task_name.as_str()),
        (run::RunStatus::Succeeded, run::RunKind::Plan, "a")
    );
    let plan = a.plan.unwrap();
    assert_eq!(
        (plan.text.as_str(), plan.changes_present),
        ("Plan: 1 to add", true)
    );
    let b = setup.run(&ends["b"].run_id).await.unwrap();
    assert_eq!(b.status(), run::RunStatus::Failed);
    assert_eq!((b.error.as_str(), b.plan), ("error tf-plan", None));
    setup.watcher.show(vec![instance("w", 2)]);
    assert!(setup.acquire(SHORT).await.is_none());
    for state in store.task_states(None).await.unwrap() {
        assert_eq!(state.events, [], "a plan is no event");
    }
}

#[tokio::test]
async fn a_worker_that_knows_no_plans_gets_none() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = pass(&store, RunKind::Plan, vec![task("a")]).await;
    setup.watcher.show(vec![]);
    assert_eq!(setup.acquire_as(SHORT, Vec::new()).await, None);
    assert!(setup.acquire(Duration::from_secs(20)).await.is_some());
}

#[tokio::test]
async fn a_task_without_a_condition_runs_at_the_beginning() {
    let mut unconditional = task("a");
    unconditional.definition.condition = Condition::NoCondition;
    for is_pass in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let store = store_in(directory.path()).await;
        let tasks = vec![unconditional.clone()];
        let setup = if is_pass {
            pass(&store, RunKind::Apply, tasks).await
        } else {
            scheduler(&store, Mode::Daemon, tasks).await
        };
        let lease = setup.acquired().await;
        assert_eq!(lease.task_name, "a", "{is_pass}");
    }
}

#[tokio::test]
async fn a_run_that_is_not_there_is_not_found() {
    let setup = Setup::new(vec![], Duration::from_secs(30)).await;
    let absent = "00000000-0000-7000-8000-000000000001";
    let refused = setup.run(absent).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let refused = setup.run("x").await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}
