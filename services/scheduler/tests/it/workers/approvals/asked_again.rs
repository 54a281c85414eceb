//! Runs that ask again with another plan: a difference, and a part of a destruction.

use cts_core::{ApprovalRule, OnDelete, TaskSpec};
use cts_proto::run::v1 as run;
use cts_proto::run::v1::{PermitDecision, PlanData, PlannedAction, RunKind};
use cts_proto::task::v1::DeletionMode;

use super::{BLUE, LONG, RED, approve, asks, begins_to_wait, destroys, json, list, plan, ruled};
use crate::calls::{destroyed, failed, interrupted};
use crate::setup::{Setup, instance};

/// The differences of the only effect that a run has asked for last.
async fn differs(setup: &Setup, lease: &run::Lease) -> Vec<String> {
    let request = run::GetApprovalRequest {
        run_id: lease.run_id.clone(),
    };
    let answer = setup.approvals.clone().get_approval(request).await;
    answer.unwrap().into_inner().approval.unwrap().differs
}

#[tokio::test]
async fn a_plan_that_differs_names_the_attribute_without_its_values() {
    let mut task = ruled("t", ApprovalRule::Always);
    let ignored = ["t.b.tags", "module.m.t.c[0].time"];
    task.file_settings.approval_ignore = ignored.map(|it| it.parse().unwrap()).to_vec();
    let setup = Setup::new(vec![task], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = setup.acquired().await;
    assert_eq!(first.ignored_attributes, ignored);
    let one = plan(RED, PlannedAction::Update);
    assert_eq!(asks(&setup, &first, &one).await, PermitDecision::Waits);
    assert_eq!(differs(&setup, &first).await, Vec::<String>::new());
    // The input is the same, and a time is not.
    let mut other = plan(BLUE, PlannedAction::Update);
    other.changes[0].attributes[0].after = json("\"a value that nobody sees\"");
    assert_eq!(asks(&setup, &first, &other).await, PermitDecision::Waits);
    let lines = differs(&setup, &first).await;
    assert_eq!(lines[0], "t.a: x");
    assert!(lines.len() == 2 && lines[1].contains("`approval_ignore`"));
    // The same plan again is no other one.
    assert_eq!(asks(&setup, &first, &other).await, PermitDecision::Waits);
    assert_eq!(differs(&setup, &first).await, lines);
    setup.complete(&first, interrupted()).await.unwrap();
    let explained = setup.explained("t").await;
    let text = &explained.obstacles[0].text;
    assert!(
        text.contains("differs from the plan before: t.a: x; "),
        "{text}"
    );
    assert!(!text.contains("nobody"), "{text}");
}

/// The plan of a destruction of these addresses, as a worker reports it.
fn destruction(effect: &str, addresses: &[&str]) -> PlanData {
    let mut plan = destroys(effect);
    let change = plan.changes.remove(0);
    plan.changes = addresses
        .iter()
        .map(|address| {
            let mut change = change.clone();
            change.address = (*address).into();
            // Without values.
            let sum = |sum: u32, byte| sum.wrapping_mul(31) + u32::from(byte);
            change.effect = format!("{:08x}", address.bytes().fold(0, sum));
            change
        })
        .collect();
    plan
}

#[tokio::test]
async fn a_part_of_an_approved_destruction_is_applied_and_nothing_more() {
    let task = TaskSpec {
        on_delete: OnDelete::Destroy,
        ..ruled("t", ApprovalRule::Destroy)
    };
    let setup = Setup::new(vec![task], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    let creates = plan(RED, PlannedAction::Create);
    assert_eq!(
        asks(&setup, &lease, &creates).await,
        PermitDecision::Permitted
    );
    setup.applied(&lease).await;
    let mode = DeletionMode::AsDeclared;
    setup.delete_in("t", mode).await.unwrap();
    let all = destruction("aa", &["t.a", "t.b"]);
    let first = begins_to_wait(&setup, &all).await;
    assert_eq!(first.kind(), RunKind::Destroy);
    approve(&setup, &first, "aa").await;
    let second = setup.acquired().await;
    let more = destruction("bb", &["t.a", "t.c"]);
    assert_eq!(asks(&setup, &second, &more).await, PermitDecision::Waits);
    let lines = differs(&setup, &second).await;
    let expected = ["t.b: only in the plan before", "t.c: only in the new plan"];
    assert_eq!(lines, expected);
    let part = destruction("cc", &["t.b"]);
    assert_eq!(
        asks(&setup, &second, &part).await,
        PermitDecision::Permitted
    );
    setup.complete(&second, failed("cut off")).await.unwrap();
    let third = setup.acquired().await;
    let rest = destruction("dd", &["t.a"]);
    assert_eq!(asks(&setup, &third, &rest).await, PermitDecision::Permitted);
    let nothing = destruction("ee", &[]);
    assert_eq!(
        asks(&setup, &third, &nothing).await,
        PermitDecision::Permitted
    );
    setup.complete(&third, destroyed()).await.unwrap();
    setup.gone("t").await;
    assert_eq!(list(&setup).await, run::ListApprovalsResponse::default());
}
