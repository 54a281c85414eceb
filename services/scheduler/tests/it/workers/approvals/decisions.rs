//! Decisions of people, one by one and in sets.

use std::time::Duration;

use cts_core::ApprovalRule;
use cts_proto::access::v1::ListAuditRecordsRequest;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::{ApprovalState, PermitDecision};
use cts_proto::task::v1::RunMode;
use tonic::{Code, Status};

use super::{BLUE, LONG, RED, approve, asks, begins_to_wait, decide, destroys, list, ruled};
use crate::calls::refused;
use crate::setup::{Setup, instance};

async fn reopen(setup: &Setup, task: &str) -> Result<u32, Status> {
    let request = run::ReopenApprovalRequest {
        task_name: task.into(),
    };
    let reopened = setup.approvals.clone().reopen_approval(request).await;
    reopened.map(|answer| answer.into_inner().reopened)
}

async fn approve_set(
    setup: &Setup,
    tasks: &[&str],
    set: &str,
) -> Result<Vec<run::Approval>, Status> {
    let request = run::ApproveSetRequest {
        tasks: tasks.iter().map(|&task| task.into()).collect(),
        visible_tasks: vec!["t*".into()],
        set: set.into(),
        comment: String::new(),
    };
    let approved = setup.approvals.clone().approve_set(request).await;
    approved.map(|answer| answer.into_inner().approvals)
}

/// Actions and outcomes of the newest recorded calls, newest first.
async fn recorded(setup: &Setup, count: usize) -> Vec<String> {
    let request = ListAuditRecordsRequest {
        limit: u32::try_from(count).unwrap(),
        ..ListAuditRecordsRequest::default()
    };
    let records = setup.access.clone().list_audit_records(request).await;
    let records = records.unwrap().into_inner().records;
    let records = records.iter();
    records
        .map(|record| format!("{} {}", record.action, record.outcome))
        .collect()
}

#[tokio::test]
async fn a_rejected_effect_is_not_asked_for_again_until_it_is_reopened() {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Always)], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = begins_to_wait(&setup, &destroys(RED)).await;
    let none = reopen(&setup, "t").await.unwrap_err();
    assert_eq!(refused(&none), (Code::NotFound, "unknown"));
    let rejected = decide(&setup, &first, RED, true).await.unwrap();
    assert_eq!(rejected.state(), ApprovalState::Rejected);
    let ended = setup.run(&first.run_id).await.unwrap();
    assert_eq!(ended.status(), run::RunStatus::Cancelled);
    assert!(ended.error.contains("rejected by"), "{}", ended.error);
    assert!(ended.error.contains("because"), "{}", ended.error);
    setup.nothing_runs().await;
    assert_eq!(
        list(&setup).await.approvals[0].state(),
        ApprovalState::Rejected
    );
    let requested = setup.update("t", None, RunMode::Now).await.unwrap_err();
    assert!(requested.message().contains("rejected by"), "{requested:?}");

    assert_eq!(reopen(&setup, "t").await.unwrap(), 1);
    let again = begins_to_wait(&setup, &destroys(RED)).await;
    approve(&setup, &again, RED).await;
    assert_eq!(
        recorded(&setup, 5).await,
        [
            "approval.approve done",
            "approval.reopen done",
            "task.update failed",
            "task.update done",
            "approval.reject done",
        ]
    );
}

#[tokio::test]
async fn followers_hear_of_effects_that_wait_and_of_decisions() {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Always)], LONG).await;
    let follow = async |task_name: &str| {
        let request = run::FollowRunsRequest {
            task_name: task_name.into(),
            include_approvals: true,
            ..run::FollowRunsRequest::default()
        };
        let changes = setup.runs.clone().follow_runs(request).await;
        changes.unwrap().into_inner()
    };
    let (mut of_task, mut of_other) = (follow("t").await, follow("other").await);
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = begins_to_wait(&setup, &destroys(RED)).await;
    // A plan with the same effect is no news.
    approve(&setup, &lease, RED).await;
    decide(&setup, &lease, RED, true).await.unwrap();
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let change = of_task.message().await.unwrap().unwrap();
        if let Some(approval) = change.approval {
            assert_eq!((&*approval.task_name, &*approval.effect), ("t", RED));
            heard.push(approval.state());
        }
    }
    // An event shows the approval as it is when the follower hears of it.
    assert_eq!(heard.last(), Some(&ApprovalState::Rejected));
    let silent = tokio::time::timeout(Duration::from_millis(100), of_other.message()).await;
    assert!(silent.is_err(), "{silent:?}");
}

#[tokio::test]
async fn a_different_effect_is_asked_anew() {
    let setup = Setup::new(vec![ruled("t", ApprovalRule::Always)], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = begins_to_wait(&setup, &destroys(RED)).await;
    let wrong = decide(&setup, &first, BLUE, false).await.unwrap_err();
    assert_eq!(refused(&wrong), (Code::Aborted, "changed"));
    approve(&setup, &first, RED).await;
    let twice = decide(&setup, &first, RED, false).await.unwrap_err();
    assert_eq!(refused(&twice), (Code::Aborted, "changed"));
    assert!(twice.message().contains("approved by"), "{twice:?}");
    let second = begins_to_wait(&setup, &destroys(BLUE)).await;
    let unknown = run::Lease {
        run_id: "0197a000-0000-7000-8000-000000000009".into(),
        ..second.clone()
    };
    let unknown = decide(&setup, &unknown, BLUE, false).await.unwrap_err();
    assert_eq!(refused(&unknown), (Code::NotFound, "unknown"));
    let request = run::DecideApprovalRequest {
        run_id: second.run_id.clone(),
        effect: BLUE.into(),
        reject: false,
        comment: "x".repeat(1025),
    };
    let long = setup.approvals.clone().decide_approval(request).await;
    assert_eq!(long.unwrap_err().code(), Code::InvalidArgument);
    approve(&setup, &second, BLUE).await;
    let third = setup.acquired().await;
    assert_eq!(
        asks(&setup, &third, &destroys(BLUE)).await,
        PermitDecision::Permitted
    );
    setup.applied(&third).await;
}

#[tokio::test]
async fn exactly_the_effects_of_the_shown_set_are_approved() {
    let names = ["t1", "t2", "u"];
    let tasks = names.map(|name| ruled(name, ApprovalRule::Always));
    let setup = Setup::new(tasks.to_vec(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    for _task in names {
        begins_to_wait(&setup, &destroys(RED)).await;
    }
    let request = run::ListApprovalsRequest {
        tasks: Vec::new(),
        visible_tasks: vec!["t*".into()],
        set: String::new(),
    };
    let listed = setup.approvals.clone().list_approvals(request).await;
    let listed = listed.unwrap().into_inner();
    let shown: Vec<_> = listed.approvals.iter().map(|it| &*it.task_name).collect();
    assert_eq!(shown, ["t1", "t2"]);
    let all = list(&setup).await;
    assert_ne!(all.set, listed.set);
    for set in [&*all.set, "no set"] {
        let changed = approve_set(&setup, &[], set).await.unwrap_err();
        assert_eq!(refused(&changed), (Code::Aborted, "changed"));
        assert!(changed.message().ends_with("t1, t2"), "{changed:?}");
    }
    let empty = approve_set(&setup, &["t*"], "").await.unwrap_err();
    assert_eq!(empty.code(), Code::InvalidArgument);
    setup.nothing_runs().await;
    let approved = approve_set(&setup, &["t*", "u"], &listed.set)
        .await
        .unwrap();
    assert_eq!(approved.len(), 2);
    for _task in 0..2 {
        let lease = setup.acquired().await;
        assert_ne!(lease.task_name, "u");
        assert_eq!(
            asks(&setup, &lease, &destroys(RED)).await,
            PermitDecision::Permitted
        );
        setup.applied(&lease).await;
    }
    setup.nothing_runs().await;
    assert_eq!(recorded(&setup, 1).await, ["approval.approve done"]);
    // Compared with the set that all of them were in, but for what the caller may not see.
    let request = run::ListApprovalsRequest {
        visible_tasks: vec!["t*".into()],
        set: all.set,
        ..run::ListApprovalsRequest::default()
    };
    let compared = setup.approvals.clone().list_approvals(request).await;
    let compared = compared.unwrap().into_inner();
    assert_eq!(compared.went, ["t1", "t2"]);
    assert!(compared.came.is_empty() && compared.changed.is_empty());
}
