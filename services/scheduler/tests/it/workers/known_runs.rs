//! Requests with a key, which are repeated (docs/rest.md#repeated-requests).

use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::run::v1::RunKind;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use tonic::{Code, Status};

use crate::calls::{applied, assert_is_of, declared, destroyed, failed, new_key, planned, refused};
use crate::setup::{Setup, instance};

const LONG: Duration = Duration::from_mins(1);

/// A scheduler with two tasks that have applied.
async fn stage() -> Setup {
    let setup = Setup::new(Vec::new(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    for name in ["a", "b"] {
        setup.created_and_applied(declared(name)).await;
    }
    setup
}

async fn destruction(setup: &Setup, name: &str, key: &str) -> Result<Option<run::Planned>, Status> {
    let request = proto::PlanTaskDestructionRequest {
        name: name.into(),
        idempotency_key: key.into(),
    };
    let answer = setup.tasks.clone().plan_task_destruction(request).await;
    answer.map(|answer| answer.into_inner().plan)
}

#[tokio::test]
async fn a_request_that_is_made_twice_has_one_run() {
    let setup = stage().await;
    let key = new_key();
    let ask = async || {
        let answer = setup
            .update_as("a", Some(true), RunMode::Request, &key)
            .await;
        answer.map(|answer| answer.requested_run_id)
    };
    let (first, second) = tokio::join!(ask(), ask());
    let id = first.unwrap();
    assert_eq!(second.unwrap(), id);
    assert_is_of(&id, "a", &key);
    let lease = setup.acquired().await;
    assert_eq!(lease.run_id, id);
    // While it runs, and after its end, also if the task is disabled by then.
    assert_eq!(ask().await.unwrap(), id);
    setup.applied(&lease).await;
    setup
        .update("a", Some(false), RunMode::Unspecified)
        .await
        .unwrap();
    assert_eq!(ask().await.unwrap(), id);
    assert!(!setup.get("a").await.unwrap().enabled);
    setup.nothing_runs().await;

    let key = new_key();
    let ask = || setup.update_as("b", Some(true), RunMode::Now, &key);
    let (first, ()) = tokio::join!(ask(), setup.does(RunKind::Apply, failed("no")));
    let first = first.unwrap_err();
    assert_eq!(refused(&first).1, "run_failed");
    assert_eq!(ask().await.unwrap_err().message(), first.message());
    setup.nothing_runs().await;
}

#[tokio::test]
async fn a_plan_that_is_asked_for_twice_is_made_once() {
    let setup = stage().await;
    let key = new_key();
    let ask = || setup.update_as("a", Some(true), RunMode::Inspect, &key);
    let (first, second, ()) =
        tokio::join!(ask(), ask(), setup.does(RunKind::Plan, planned("1 to add")));
    let first = first.unwrap();
    assert_eq!(first.plan.as_ref().unwrap().text, "1 to add");
    assert_eq!(second.unwrap().plan, first.plan);
    assert_eq!(ask().await.unwrap().plan, first.plan);

    let key = new_key();
    let ask = || destruction(&setup, "a", &key);
    let does = setup.does(RunKind::DestroyPlan, planned("1 to destroy"));
    let (first, second, ()) = tokio::join!(ask(), ask(), does);
    let first = first.unwrap();
    assert_eq!(first.as_ref().unwrap().text, "1 to destroy");
    assert_eq!(second.unwrap(), first);
    assert_eq!(ask().await.unwrap(), first);
    setup.nothing_runs().await;
}

#[tokio::test]
async fn a_key_counts_for_one_task_and_one_kind_of_run() {
    let setup = stage().await;
    let key = new_key();
    let ask = async |task, enabled, mode| setup.update_as(task, Some(enabled), mode, &key).await;
    let first = ask("a", true, RunMode::Request).await.unwrap();
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    // The answer of another task has nothing of the first.
    let other = ask("b", true, RunMode::Request).await.unwrap();
    let lease = setup.acquired().await;
    assert_eq!(lease.run_id, other.requested_run_id);
    assert_ne!(first.requested_run_id, other.requested_run_id);
    assert_is_of(&other.requested_run_id, "b", &key);
    setup.applied(&lease).await;

    let refusal = ask("a", true, RunMode::Inspect).await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::InvalidArgument, "invalid"));
    assert!(
        refusal.message().contains(&first.requested_run_id),
        "{refusal}"
    );
    let refusal = destruction(&setup, "a", &key).await.unwrap_err();
    assert_eq!(refused(&refusal).1, "invalid");
    let refusal = ask("a", false, RunMode::Request).await.unwrap_err();
    assert_eq!(refused(&refusal).1, "invalid");
    assert!(setup.get("a").await.unwrap().enabled);
    for odd in ["x", "00000000-0000-0000-0000-000000000000"] {
        let refusal = setup
            .update_as("a", Some(true), RunMode::Request, odd)
            .await;
        let refusal = refusal.unwrap_err();
        assert_eq!(
            refused(&refusal),
            (Code::InvalidArgument, "invalid"),
            "{odd}"
        );
    }
    setup.nothing_runs().await;
}

#[tokio::test]
async fn a_request_is_known_while_its_task_is_deleted() {
    let setup = Setup::new(Vec::new(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let task = proto::Task {
        on_delete: proto::OnDelete::Destroy.into(),
        ..declared("a")
    };
    setup.created_and_applied(task).await;
    let (keys, unknown) = ([new_key(), new_key()], [String::new(), new_key()]);
    let run = async |key| {
        let mode = RunMode::Request;
        setup.update_as("a", Some(true), mode, key).await
    };
    let first = run(&keys[0]).await.unwrap().requested_run_id;
    setup.does(RunKind::Apply, applied()).await;
    let (planned, ()) = tokio::join!(
        destruction(&setup, "a", &keys[1]),
        setup.does(RunKind::DestroyPlan, planned("1 to destroy")),
    );
    let planned = planned.unwrap();

    let mode = proto::DeletionMode::AsDeclared;
    setup.delete_in("a", mode).await.unwrap();
    assert_eq!(run(&keys[0]).await.unwrap().requested_run_id, first);
    assert_eq!(destruction(&setup, "a", &keys[1]).await.unwrap(), planned);
    for key in &unknown {
        let refusal = run(key).await.unwrap_err();
        assert_eq!(refused(&refusal).1, "deleting");
        let refusal = destruction(&setup, "a", key).await.unwrap_err();
        assert_eq!(refused(&refusal).1, "deleting");
    }
    setup.does(RunKind::Destroy, destroyed()).await;
    setup.gone("a").await;
    assert_eq!(run(&keys[0]).await.unwrap_err().code(), Code::NotFound);
    setup.nothing_runs().await;
}
