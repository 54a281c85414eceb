//! Inspections, which say what the rules would say, and effects that are approved as inspections have shown them.

use cts_core::ApprovalRule;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::{PermitDecision, PlanData, PlannedAction};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use prost::Message as _;
use tonic::{Code, Status};

use super::{BLUE, LONG, RED, asks, begins_to_wait, destroys, list, plan, ruled};
use crate::calls::{assert_is_of, new_key, planned};
use crate::setup::{Setup, WORKER, instance};

/// Takes the next run, an inspection, and ends it with this plan.
pub(super) async fn inspects(setup: &Setup, plan: &PlanData) -> String {
    let lease = setup.acquired().await;
    assert_eq!(lease.kind(), run::RunKind::Plan);
    let request = run::RecordPlanRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        content: zstd::encode_all(plan.encode_to_vec().as_slice(), 3).unwrap(),
    };
    setup.plans.clone().record_plan(request).await.unwrap();
    setup.complete(&lease, planned("text")).await.unwrap();
    lease.run_id
}

/// Inspects the task; returns what the rule would say, and the effect.
async fn inspection(setup: &Setup, plan: &PlanData) -> (String, String) {
    let (inspected, run) = tokio::join!(
        setup.update("t", Some(true), RunMode::Inspect),
        inspects(setup, plan),
    );
    let answer = inspected.unwrap().plan.unwrap();
    assert_eq!(answer.text, "text");
    // The run says the same.
    let run = setup.run(&run).await.unwrap();
    assert_eq!(run.plan.unwrap(), answer);
    (answer.would_wait, answer.effect)
}

/// Enables the task and runs it, with the approval of this effect.
async fn enable(setup: &Setup, effect: &str) -> Result<proto::UpdateTaskResponse, Status> {
    enable_as(setup, effect, "").await
}

/// Enables the task and runs it by a request with this key, with the approval of this effect.
async fn enable_as(
    setup: &Setup,
    effect: &str,
    key: &str,
) -> Result<proto::UpdateTaskResponse, Status> {
    let request = proto::UpdateTaskRequest {
        name: "t".into(),
        enabled: Some(true),
        run_mode: RunMode::Now.into(),
        approve: effect.into(),
        idempotency_key: key.into(),
    };
    let answer = setup.tasks.clone().update_task(request).await;
    answer.map(tonic::Response::into_inner)
}

pub(super) async fn disabled() -> Setup {
    let mut task = ruled("t", ApprovalRule::Destroy);
    task.enabled = false;
    let setup = Setup::new(vec![task], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup
}

#[tokio::test]
async fn an_inspection_says_whether_its_plan_would_wait() {
    let setup = disabled().await;
    let waits = inspection(&setup, &destroys(RED)).await;
    assert_eq!(waits, ("rule destroy, 1 to destroy".into(), RED.into()));
    let creates = plan(BLUE, PlannedAction::Create);
    assert_eq!(inspection(&setup, &creates).await, Default::default());
    // A plan that was not read to its end cannot be approved.
    let unread = PlanData {
        effect: String::new(),
        unclear: vec!["it is too large".into()],
        ..creates
    };
    let (reason, effect) = inspection(&setup, &unread).await;
    assert_eq!(
        (&*reason, &*effect),
        (
            "rule destroy, 1 to create, the plan does not show everything",
            ""
        )
    );
}

#[tokio::test]
async fn the_effect_that_an_inspection_has_shown_is_approved_with_the_task() {
    let setup = disabled().await;
    inspection(&setup, &destroys(RED)).await;
    let unknown = enable(&setup, BLUE).await.unwrap_err();
    assert_eq!(unknown.code(), Code::FailedPrecondition, "{unknown:?}");
    assert!(unknown.message().contains("inspect the task again"));
    assert!(unknown.message().contains("`cts approvals reopen t`"));
    let missing = proto::UpdateTaskRequest {
        name: "missing".into(),
        enabled: Some(true),
        run_mode: RunMode::Now.into(),
        approve: BLUE.into(),
        idempotency_key: String::new(),
    };
    let missing = setup.tasks.clone().update_task(missing).await;
    assert_eq!(missing.unwrap_err().code(), Code::NotFound);
    let (enabled, ()) = tokio::join!(enable(&setup, RED), async {
        let lease = setup.acquired().await;
        assert_eq!(
            asks(&setup, &lease, &destroys(RED)).await,
            PermitDecision::Permitted
        );
        setup.applied(&lease).await;
    });
    let enabled = enabled.unwrap();
    assert!(enabled.task.unwrap().enabled && enabled.waiting_run_id.is_empty());
    assert_eq!(list(&setup).await.approvals, []);
}

#[tokio::test]
async fn another_effect_than_the_shown_one_waits() {
    let setup = disabled().await;
    inspection(&setup, &destroys(RED)).await;
    let differs = destroys(BLUE);
    let (enabled, lease) = tokio::join!(enable(&setup, RED), begins_to_wait(&setup, &differs),);
    assert_eq!(enabled.unwrap().waiting_run_id, lease.run_id);
    let state = setup.run(&lease.run_id).await.unwrap().state;
    assert_eq!(state, "waiting");
    let queue = setup.queue().await;
    assert_eq!((queue.queued, queue.awaiting_consent), (0, 1));
}

#[tokio::test]
async fn a_request_that_is_repeated_approves_nothing_more() {
    let setup = disabled().await;
    inspection(&setup, &destroys(RED)).await;
    let key = new_key();
    let ask = || enable_as(&setup, RED, &key);
    let (first, again, lease) = tokio::join!(ask(), ask(), async {
        let lease = setup.acquired().await;
        let decision = asks(&setup, &lease, &destroys(RED)).await;
        assert_eq!(decision, PermitDecision::Permitted);
        setup.applied(&lease).await;
        lease
    });
    first.unwrap();
    again.unwrap();
    assert_is_of(&lease.run_id, "t", &key);
    let disabled = setup.update("t", Some(false), RunMode::Unspecified).await;
    disabled.unwrap();
    assert!(!ask().await.unwrap().task.unwrap().enabled);
    // The approval was used up by the first request.
    let asks_again = destroys(RED);
    let (enabled, lease) = tokio::join!(
        setup.update("t", Some(true), RunMode::Now),
        begins_to_wait(&setup, &asks_again),
    );
    assert_eq!(enabled.unwrap().waiting_run_id, lease.run_id);
}
