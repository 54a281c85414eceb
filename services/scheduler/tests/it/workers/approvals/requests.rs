//! Waiting runs whose circumstances change: requests, whose callers are answered, and data that come back.

use std::sync::Arc;
use std::time::Duration;

use cts_core::{ApprovalRule, Clock};
use cts_proto::run::v1::{PermitDecision, PlannedAction, RunStatus};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use cts_runtime::SystemClock;
use cts_scheduler::Options;
use cts_testkit::ManualClock;

use super::{BLUE, LONG, RED, approve, asks, begins_to_wait, destroys, list, plan, ruled};
use crate::calls::declared;
use crate::setup::{Setup, instance, member};

#[tokio::test]
async fn the_caller_of_a_run_that_waits_is_answered() {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Always)], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = begins_to_wait(&setup, &destroys(RED)).await;
    let plan = destroys(RED);
    let (updated, second) = tokio::join!(
        setup.update("t", None, RunMode::Now),
        begins_to_wait(&setup, &plan),
    );
    assert_ne!(second.run_id, first.run_id);
    assert_eq!(updated.unwrap().waiting_run_id, second.run_id);
    assert_eq!(list(&setup).await.approvals.len(), 1);
    approve(&setup, &second, RED).await;
    let third = setup.acquired().await;
    assert_eq!(third.run_id, second.run_id);
    assert_eq!(asks(&setup, &third, &plan).await, PermitDecision::Permitted);
    setup.applied(&third).await;
    setup.nothing_runs().await;
}

#[tokio::test]
async fn a_task_whose_first_run_waits_is_created() {
    let setup = Setup::new(Vec::new(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let task = proto::Task {
        module: "asks".into(),
        ..declared("new")
    };
    let plan = destroys(RED);
    let (created, lease) = tokio::join!(
        setup.create(task, RunMode::Now),
        begins_to_wait(&setup, &plan),
    );
    let created = created.unwrap();
    assert_eq!(created.waiting_run_id, lease.run_id);
    assert_eq!(created.task.unwrap().name, "new");
    assert_eq!(setup.names().await, ["new"]);
    approve(&setup, &lease, RED).await;
    let again = setup.acquired().await;
    assert_eq!(asks(&setup, &again, &plan).await, PermitDecision::Permitted);
    setup.applied(&again).await;
}

#[tokio::test]
async fn an_effect_that_is_gone_for_two_minutes_is_withdrawn_with_its_run() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let path = directory.path().join("cts.db");
    let wall = Arc::clone(&clock) as Arc<dyn Clock>;
    let store = cts_store_sqlite::open(&path, Arc::clone(&wall), None).await;
    let tasks = vec![ruled("t", ApprovalRule::Destroy)];
    let options = Options::alone(tasks, member());
    let setup = Setup::prepared_by(wall, Arc::new(store.unwrap()), options).await;
    let setup = setup.unwrap();
    setup.watcher.show(vec![instance("w", 1)]);
    let first = setup.acquired().await;
    let creates = plan(BLUE, PlannedAction::Create);
    assert_eq!(
        asks(&setup, &first, &creates).await,
        PermitDecision::Permitted
    );
    setup.applied(&first).await;
    setup.watcher.show(vec![instance("w", 2)]);
    let waiting = begins_to_wait(&setup, &destroys(RED)).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup
        .until_so(async |setup| list(setup).await.approvals[0].gone_at.is_some())
        .await;
    let still = setup.run(&waiting.run_id).await.unwrap();
    assert_eq!(still.status(), RunStatus::Queued);
    clock.advance(Duration::from_secs(121));
    setup
        .until_so(async |setup| list(setup).await.approvals.is_empty())
        .await;
    let ended = setup.run(&waiting.run_id).await.unwrap();
    assert_eq!(ended.status(), RunStatus::Cancelled);
    setup.nothing_runs().await;
}
