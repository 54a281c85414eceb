//! Consent together with decisions about Terraform states.

use cts_core::ApprovalRule;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::PermitDecision;
use cts_proto::run::v1::record_state_request::Report;
use cts_proto::task::v1::decide_terraform_state_request::Decision;

use super::{LONG, RED, approve, asks, begins_to_wait, destroys, list, ruled};
use crate::calls::failed;
use crate::setup::{Setup, instance};
use crate::terraform_states::{decide, record, terraform_state};

fn conflict() -> Report {
    Report::Conflict(run::StateConflict {
        reason: "both were changed".into(),
        ..run::StateConflict::default()
    })
}

/// A scheduler with a task whose run waits.
async fn waiting() -> (Setup, run::Lease) {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Destroy)], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = begins_to_wait(&setup, &destroys(RED)).await;
    (setup, lease)
}

#[tokio::test]
async fn a_state_of_something_else_uses_no_consent() {
    let (setup, waits) = waiting().await;
    approve(&setup, &waits, RED).await;
    let lease = setup.acquired().await;
    record(&setup, &lease, conflict()).await.unwrap();
    setup.complete(&lease, failed("refused")).await.unwrap();
    let [approval] = list(&setup).await.approvals.try_into().unwrap();
    assert_eq!(approval.state(), run::ApprovalState::Approved);
    // The decision about the state withdraws the consent, which people gave while another state was in question.
    let keep = Decision::Keep(run::StateKeep::Old.into());
    decide(&setup, keep).await.unwrap();
    let lease = setup.acquired().await;
    let decision = asks(&setup, &lease, &destroys(RED)).await;
    assert_eq!(decision, PermitDecision::Waits);
}

#[tokio::test]
async fn a_decision_about_a_state_is_no_consent() {
    let (setup, waits) = waiting().await;
    let take_over = Decision::From("earlier".into());
    decide(&setup, take_over).await.unwrap();
    let lease = begins_to_wait(&setup, &destroys(RED)).await;
    setup.nothing_runs().await;
    let [approval] = list(&setup).await.approvals.try_into().unwrap();
    assert_eq!(approval.run_id, lease.run_id);
    // Whoever has seen the earlier run decides about the same effect.
    approve(&setup, &waits, RED).await;
    let lease = setup.acquired().await;
    let moved = Report::Moved(terraform_state(3));
    record(&setup, &lease, moved).await.unwrap();
    let decision = asks(&setup, &lease, &destroys(RED)).await;
    assert_eq!(decision, PermitDecision::Permitted);
    setup.applied(&lease).await;
    setup.nothing_runs().await;
}
