//! Consent of people to the effects of plans: a worker asks, people decide.

mod asked_again;
mod decisions;
mod flaps;
mod inspections;
mod pairs;
mod requests;
mod rights;

use std::time::Duration;

use cts_core::{ApprovalRule, TaskSpec};
use cts_proto::cluster::v1::GetOverviewRequest;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::planned_value::Value;
use cts_proto::run::v1::{
    ApprovalState, PermitDecision, PlanCounts, PlanData, PlanExtent, PlannedAction,
    PlannedAttribute, PlannedChange, PlannedValue,
};
use cts_proto::task::v1::{CurrentStateName, ObstacleKind};
use prost::Message as _;
use tonic::{Code, Status};

use crate::calls::{failed, interrupted};
use crate::setup::{Setup, WORKER, instance, task};

const LONG: Duration = Duration::from_secs(30);

/// Effects of plans.
pub(crate) const RED: &str = "aa01";
const BLUE: &str = "bb02";

/// A task whose plans need consent by this rule.
pub(crate) fn ruled(name: &str, rule: ApprovalRule) -> TaskSpec {
    let mut task = task(name);
    task.file_settings.approval = Some(rule);
    task
}

#[expect(clippy::unnecessary_wraps, reason = "fields are optional")]
fn json(text: &str) -> Option<PlannedValue> {
    Some(PlannedValue {
        value: Some(Value::Json(text.into())),
        hash: Vec::new(),
    })
}

/// A plan with one change and this effect.
fn plan(effect: &str, action: PlannedAction) -> PlanData {
    let is_new = action == PlannedAction::Create;
    let change = PlannedChange {
        address: "t.a".into(),
        action: action.into(),
        actions: vec![format!("{action:?}")],
        attributes: vec![PlannedAttribute {
            path: "x".into(),
            before: (!is_new).then(|| json("1").unwrap()),
            after: json("2").filter(|_| action != PlannedAction::Delete),
            changed: true,
            forces_replacement: false,
            ignored: false,
        }],
        effect: format!("{effect}c"),
        ..PlannedChange::default()
    };
    PlanData {
        extent: PlanExtent::All.into(),
        effect: effect.into(),
        counts: Some(PlanCounts {
            created: u32::from(is_new),
            deleted: u32::from(action == PlannedAction::Delete),
            replaced: u32::from(action == PlannedAction::DeleteThenCreate),
            ..PlanCounts::default()
        }),
        changes: vec![change],
        ..PlanData::default()
    }
}

pub(crate) fn destroys(effect: &str) -> PlanData {
    plan(effect, PlannedAction::Delete)
}

async fn asked(
    setup: &Setup,
    lease: &run::Lease,
    plan: &PlanData,
) -> Result<run::PermitApplyResponse, Status> {
    let request = run::PermitApplyRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        content: zstd::encode_all(plan.encode_to_vec().as_slice(), 3).unwrap(),
    };
    let answer = setup.approvals.clone().permit_apply(request).await;
    answer.map(tonic::Response::into_inner)
}

/// The decision about a plan.
pub(crate) async fn asks(setup: &Setup, lease: &run::Lease, plan: &PlanData) -> PermitDecision {
    let answer = asked(setup, lease, plan).await.unwrap();
    let is_permitted = answer.decision() == PermitDecision::Permitted;
    assert_eq!(answer.reason.is_empty(), is_permitted, "{answer:?}");
    answer.decision()
}

/// Takes the next run, which begins to wait with this plan.
async fn begins_to_wait(setup: &Setup, plan: &PlanData) -> run::Lease {
    let lease = setup.acquired().await;
    assert!(lease.asks_permission);
    assert_eq!(asks(setup, &lease, plan).await, PermitDecision::Waits);
    let status = setup.complete(&lease, interrupted()).await.unwrap();
    assert_eq!(status, run::RunStatus::Queued);
    lease
}

pub(crate) async fn list(setup: &Setup) -> run::ListApprovalsResponse {
    let request = run::ListApprovalsRequest::default();
    let answer = setup.approvals.clone().list_approvals(request).await;
    answer.unwrap().into_inner()
}

pub(crate) async fn decide(
    setup: &Setup,
    lease: &run::Lease,
    effect: &str,
    reject: bool,
) -> Result<run::Approval, Status> {
    let request = run::DecideApprovalRequest {
        run_id: lease.run_id.clone(),
        effect: effect.into(),
        reject,
        comment: "because".into(),
    };
    let decided = setup.approvals.clone().decide_approval(request).await;
    decided.map(|answer| answer.into_inner().approval.unwrap())
}

async fn approve(setup: &Setup, lease: &run::Lease, effect: &str) {
    let approval = decide(setup, lease, effect, false).await.unwrap();
    assert_eq!(approval.state(), ApprovalState::Approved);
    assert!(approval.expires_at.is_some() && approval.comment == "because");
}

#[tokio::test]
async fn only_a_plan_that_needs_consent_waits() {
    let tasks = vec![ruled("asks", ApprovalRule::Destroy), task("free")];
    let setup = Setup::new(tasks, LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    for _task in 0..2 {
        let lease = setup.acquired().await;
        assert_eq!(lease.asks_permission, lease.task_name == "asks");
        let creates = plan(RED, PlannedAction::Create);
        let decision = asks(&setup, &lease, &creates).await;
        assert_eq!(decision, PermitDecision::Permitted);
        setup.applied(&lease).await;
    }
    assert_eq!(list(&setup).await, run::ListApprovalsResponse::default());
    setup.watcher.show(vec![instance("w", 2)]);
    for _task in 0..2 {
        let lease = setup.acquired().await;
        let decision = asks(&setup, &lease, &destroys(RED)).await;
        if lease.task_name == "free" {
            assert_eq!(decision, PermitDecision::Permitted);
            setup.applied(&lease).await;
        } else {
            assert_eq!(decision, PermitDecision::Waits);
            setup.complete(&lease, interrupted()).await.unwrap();
        }
    }
    setup.nothing_runs().await;
    let tasks = list(&setup).await.approvals;
    assert_eq!((tasks.len(), &*tasks[0].task_name), (1, "asks"));
}

#[tokio::test]
async fn a_waiting_run_is_explained_and_applied_once_it_is_approved() {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Always)], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = begins_to_wait(&setup, &destroys(RED)).await;
    setup.nothing_runs().await;
    let listed = list(&setup).await;
    let [approval] = &*listed.approvals else {
        panic!("{listed:?}");
    };
    assert_eq!(approval.state(), ApprovalState::Waiting);
    assert_eq!(
        (&*approval.run_id, &*approval.effect),
        (&*first.run_id, RED)
    );
    assert_eq!(approval.counts.unwrap().deleted, 1);
    assert_eq!(listed.set.len(), 46);

    let explanation = setup.explained("t").await;
    let obstacles = explanation.obstacles.iter();
    let obstacle = obstacles
        .filter(|it| it.kind() == ObstacleKind::Approval)
        .collect::<Vec<_>>();
    assert_eq!((explanation.obstacles.len(), obstacle.len()), (1, 1));
    let show = format!("`cts approvals show {}`", first.run_id);
    let text = &obstacle[0].text;
    assert!(text.contains(RED) && text.contains(&show), "{text}");
    let waiting_for = setup.run(&first.run_id).await.unwrap().waiting_for;
    assert_eq!(&waiting_for, text);
    let state = explanation.state.unwrap();
    assert_eq!(
        (state.name(), state.until),
        (CurrentStateName::Waiting, None)
    );
    assert!(state.text.contains(&show), "{}", state.text);
    let mut cluster = setup.cluster.clone();
    let overview = cluster.get_overview(GetOverviewRequest {});
    let overview = overview.await.unwrap().into_inner();
    let problem = &overview.problems[0].text;
    assert!(
        problem.starts_with("1 effect waits for the consent"),
        "{problem}"
    );

    approve(&setup, &first, RED).await;
    let second = setup.acquired().await;
    assert_eq!(second.run_id, first.run_id);
    for _repeated in 0..2 {
        let decision = asks(&setup, &second, &destroys(RED)).await;
        assert_eq!(decision, PermitDecision::Permitted);
    }
    setup.applied(&second).await;
    assert_eq!(list(&setup).await, run::ListApprovalsResponse::default());
    // The consent was used: the same effect later asks again.
    setup.watcher.show(vec![instance("w", 2)]);
    let third = begins_to_wait(&setup, &destroys(RED)).await;
    assert_ne!(third.run_id, first.run_id);
}

#[tokio::test]
async fn further_attempts_have_the_consent_for_the_rest() {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Destroy)], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let replaces = plan(RED, PlannedAction::DeleteThenCreate);
    let first = begins_to_wait(&setup, &replaces).await;
    approve(&setup, &first, RED).await;
    let second = setup.acquired().await;
    assert_eq!(
        asks(&setup, &second, &replaces).await,
        PermitDecision::Permitted
    );
    setup.complete(&second, interrupted()).await.unwrap();
    // Attempts of the same run.
    let third = setup.acquired().await;
    assert_eq!(third.run_id, first.run_id);
    let mut half = plan(BLUE, PlannedAction::Create);
    half.unclear = vec!["why".into()];
    assert_eq!(asks(&setup, &third, &half).await, PermitDecision::Waits);
    let different = destroys(BLUE);
    assert_eq!(
        asks(&setup, &third, &different).await,
        PermitDecision::Waits
    );
    half.unclear.clear();
    assert_eq!(asks(&setup, &third, &half).await, PermitDecision::Permitted);
    setup.applied(&third).await;
}

#[tokio::test]
async fn a_plan_that_cannot_be_judged_is_not_applied() {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Destroy)], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    let unread = PlanData {
        extent: PlanExtent::Counts.into(),
        unclear: vec!["the plan could not be read within 60 s".into()],
        ..PlanData::default()
    };
    let answer = asked(&setup, &lease, &unread).await.unwrap();
    assert_eq!(answer.decision(), PermitDecision::Unknown);
    assert!(answer.reason.contains("within 60 s"), "{}", answer.reason);
    let no_effect = asked(&setup, &lease, &destroys("no effect")).await;
    assert_eq!(no_effect.unwrap_err().code(), Code::InvalidArgument);
    let request = run::PermitApplyRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        content: b"no plan".to_vec(),
    };
    let no_plan = setup.approvals.clone().permit_apply(request).await;
    assert_eq!(no_plan.unwrap_err().code(), Code::InvalidArgument);
    let stale = run::Lease {
        epoch: lease.epoch + 1,
        ..lease.clone()
    };
    let stale = asked(&setup, &stale, &destroys(RED)).await.unwrap_err();
    assert_eq!(stale.code(), Code::FailedPrecondition);
    setup.complete(&lease, failed("no")).await.unwrap();
}
