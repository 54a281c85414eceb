//! Deletions that destroy the infrastructure of their task (docs/rest.md#deleting-a-task).

use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::run::v1::{RunKind, RunStatus};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::{DeletionMode, ObstacleKind, OnDelete, RunMode, TaskPhase};
use tonic::{Code, Status};

use crate::calls::{checked, declared, destroyed, failed, planned, refused};
use crate::setup::{Setup, instance};

const LONG: Duration = Duration::from_mins(1);

fn task(name: &str) -> proto::Task {
    proto::Task {
        on_delete: OnDelete::Destroy.into(),
        ..declared(name)
    }
}

/// A scheduler with a task `a` that has applied and is destroyed when it is deleted.
async fn stage() -> Setup {
    let setup = Setup::new(Vec::new(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let created = setup.created_and_applied(task("a")).await;
    assert_eq!(created.on_delete(), OnDelete::Destroy);
    setup
}

async fn plan(setup: &Setup, name: &str) -> Result<Option<run::Planned>, Status> {
    let request = proto::PlanTaskDestructionRequest {
        name: name.into(),
        idempotency_key: String::new(),
    };
    let answer = setup.tasks.clone().plan_task_destruction(request).await;
    answer.map(|answer| answer.into_inner().plan)
}

#[tokio::test]
async fn a_destruction_is_planned_made_and_said_why() {
    let setup = stage().await;
    let (answer, ()) = tokio::join!(
        plan(&setup, "a"),
        setup.does(RunKind::DestroyPlan, planned("1 to destroy")),
    );
    assert_eq!(answer.unwrap().unwrap().text, "1 to destroy");
    assert_eq!(setup.get("a").await.unwrap().phase(), TaskPhase::Ready);

    setup
        .delete_in("a", DeletionMode::AsDeclared)
        .await
        .unwrap();
    assert_eq!(setup.get("a").await.unwrap().phase(), TaskPhase::Deleting);
    let refusal = plan(&setup, "a").await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::FailedPrecondition, "deleting"));
    let lease = setup.acquired().await;
    assert_eq!(lease.kind(), RunKind::Destroy);
    let input = setup.input(&lease).await;
    assert_eq!(input.services[0].port, 1);
    let explanation = setup.explained("a").await;
    let deleting = &explanation.obstacles[0];
    assert_eq!(deleting.kind(), ObstacleKind::Deleting);
    assert!(deleting.text.contains("destroys its infrastructure"));
    setup.complete(&lease, failed("no")).await.unwrap();
    let waits = setup.run(&lease.run_id).await.unwrap();
    assert_eq!(waits.status(), RunStatus::Queued);
    assert!(waits.waiting_for.contains("destroys its infrastructure"));
    let error = "has failed 1 times and tries again: no";
    assert!(waits.waiting_for.contains(error), "{}", waits.waiting_for);
    // By a caller without support for destructions, and once more.
    for mode in [DeletionMode::Unspecified, DeletionMode::AsDeclared] {
        setup.delete_in("a", mode).await.unwrap();
    }
    let again = setup.acquired().await;
    assert_eq!((&again.run_id, again.attempt), (&lease.run_id, 2));
    setup.complete(&again, destroyed()).await.unwrap();
    setup.gone("a").await;
}

#[tokio::test]
async fn a_caller_that_knows_no_destruction_retains_and_so_does_one_that_says_so() {
    for (mode, first) in [
        (DeletionMode::Unspecified, None),
        (DeletionMode::Retain, None),
        (DeletionMode::Retain, Some(DeletionMode::AsDeclared)),
    ] {
        let setup = stage().await;
        if let Some(first) = first {
            setup.delete_in("a", first).await.unwrap();
        }
        setup.delete_in("a", mode).await.unwrap();
        setup.gone("a").await;
        setup.nothing_runs().await;
    }
}

#[tokio::test]
async fn task_without_an_apply_is_not_destroyed() {
    let setup = Setup::new(Vec::new(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup.created(task("a")).await;
    assert_eq!(plan(&setup, "a").await.unwrap(), None);
    setup
        .delete_in("a", DeletionMode::AsDeclared)
        .await
        .unwrap();
    setup.gone("a").await;
    let unknown = plan(&setup, "a").await.unwrap_err();
    assert_eq!(refused(&unknown), (Code::NotFound, "unknown"));
}

#[tokio::test]
async fn a_replacement_leaves_what_a_deletion_does_unless_it_says() {
    let setup = stage().await;
    let end = async |task: proto::Task| {
        let (replaced, ()) = tokio::join!(
            setup.replace("a", task, 0, RunMode::Unspecified),
            setup.does(RunKind::Check, checked()),
        );
        replaced.unwrap().task.unwrap().on_delete()
    };
    assert_eq!(end(declared("a")).await, OnDelete::Destroy);
    let retained = proto::Task {
        on_delete: OnDelete::Retain.into(),
        ..declared("a")
    };
    assert_eq!(end(retained).await, OnDelete::Unspecified);
}
