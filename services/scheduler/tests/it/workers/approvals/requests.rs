//! Waiting runs whose circumstances change: requests, whose callers are answered, and data that come back.

use std::sync::Arc;
use std::time::Duration;

use cts_core::{ApprovalRule, Clock, TaskSpec};
use cts_proto::run::v1 as run;
use cts_proto::run::v1::{PermitDecision, PlannedAction, RunKind, RunStatus};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use cts_runtime::SystemClock;
use cts_scheduler::Options;
use cts_testkit::ManualClock;
use tonic::Code;

use super::{BLUE, LONG, RED, approve, asks, begins_to_wait, decide, destroys, list, plan, ruled};
use crate::calls::{checked, declared, interrupted, refused};
use crate::setup::{Setup, instance, member};

/// A scheduler whose time a test moves.
pub(super) struct Timed {
    pub(super) setup: Setup,
    pub(super) clock: Arc<ManualClock>,
    pub(super) _directory: tempfile::TempDir,
}

/// A scheduler with these tasks whose time a test moves, also that of its store.
pub(super) async fn timed(tasks: Vec<TaskSpec>) -> Timed {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let path = directory.path().join("cts.db");
    let wall = Arc::clone(&clock) as Arc<dyn Clock>;
    let store = cts_store_sqlite::open(&path, Arc::clone(&wall), None).await;
    let options = Options::alone(tasks, member());
    let setup = Setup::prepared_by(wall, Arc::new(store.unwrap()), options).await;
    Timed {
        setup: setup.unwrap(),
        clock,
        _directory: directory,
    }
}

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

/// A declaration with this rule.
fn with_rule(approval: &str) -> proto::Task {
    proto::Task {
        approval: approval.into(),
        ..declared("t")
    }
}

#[tokio::test]
async fn requests_can_only_make_a_rule_stricter() {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Destroy)], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    let replaced = async |approval| {
        let (replaced, ()) = tokio::join!(
            setup.replace("t", with_rule(approval), 0, RunMode::Unspecified),
            setup.does(RunKind::Check, checked()),
        );
        replaced.unwrap().task.unwrap().approval
    };
    assert_eq!(replaced("always").await, "always");
    // A declaration without a rule keeps the rule.
    assert_eq!(replaced("").await, "always");
    assert_eq!(setup.get("t").await.unwrap().approval, "always");
    assert_eq!(replaced("destroy").await, "destroy");
    let refusal = setup.replace("t", with_rule("never"), 0, RunMode::Unspecified);
    let refusal = refusal.await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::InvalidArgument, "not_allowed"));
    let text = "\"destroy\" is in force by `approval` of the task in the configuration";
    assert!(refusal.message().contains(text), "{refusal:?}");
    setup.nothing_runs().await;

    setup.delete("t").await.unwrap();
    setup.gone("t").await;
    let refusal = setup.create(with_rule("never"), RunMode::Unspecified).await;
    let refusal = refusal.unwrap_err();
    assert_eq!(refused(&refusal), (Code::InvalidArgument, "not_allowed"));
    assert!(
        refusal.message().contains("the API has deleted"),
        "{refusal:?}"
    );
    assert_eq!(setup.created(with_rule("")).await.approval, "destroy");
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
async fn a_creation_that_is_rejected_at_once_says_that_its_task_exists() {
    let setup = Setup::new(Vec::new(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let task = proto::Task {
        module: "asks".into(),
        ..declared("new")
    };
    let plan = destroys(RED);
    let (created, ()) = tokio::join!(setup.create(task, RunMode::Now), async {
        let lease = setup.acquired().await;
        assert_eq!(asks(&setup, &lease, &plan).await, PermitDecision::Waits);
        // Before the worker gives the lease back.
        decide(&setup, &lease, RED, true).await.unwrap();
        setup.complete(&lease, interrupted()).await.unwrap();
        let again = setup.acquired().await;
        assert_eq!(asks(&setup, &again, &plan).await, PermitDecision::Rejected);
        let declined = run::Failed {
            error: "rejected by bob".into(),
            is_declined: true,
            ..run::Failed::default()
        };
        let outcome = run::complete_run_request::Outcome::Failed(declined);
        setup.complete(&again, outcome).await.unwrap();
    });
    let refused = created.unwrap_err();
    let message = refused.message();
    for text in [
        "rejected by bob",
        "exists, enabled",
        "`cts approvals reopen new`",
    ] {
        assert!(message.contains(text), "{message}");
    }
    assert_eq!(setup.names().await, ["new"]);
}

#[tokio::test]
async fn an_effect_that_is_gone_for_two_minutes_is_withdrawn_with_its_run() {
    let Timed {
        setup,
        clock,
        _directory,
    } = timed(vec![ruled("t", ApprovalRule::Destroy)]).await;
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
