//! Runs that change something only with permission for their plan.

use std::path::Path;

use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::{CancelOrder, PermitDecision, PlanCounts, PlanData, PlanExtent, RunKind};
use tokio::process::Command;
use tonic::Code;

use crate::plan_data::{keeps_plans, plan_of, with_show};
use crate::played_scheduler::REASON;
use crate::stage::{KEEPS, Stage, terraform_path};

/// A worker whose scheduler decides so about every plan.
async fn deciding(decision: PermitDecision) -> Stage {
    Stage::with_conduct(KEEPS, |conduct| {
        keeps_plans(conduct);
        conduct.permit = decision;
    })
    .await
}

fn decide(stage: &Stage, decision: PermitDecision) {
    stage.strings.conduct(|conduct| {
        conduct.permit = decision;
        conduct.holds_permits = false;
    });
}

/// Grants the first attempt at an apply that needs permission.
fn grant(stage: &Stage) {
    let input = stage.input();
    stage.strings.grant_asking(RunKind::Apply, input, 1);
}

/// A worker with an apply that has asked and got no answer yet.
async fn asking() -> Stage {
    let stage = deciding(PermitDecision::Unspecified).await;
    stage
        .strings
        .conduct(|conduct| conduct.holds_permits = true);
    grant(&stage);
    stage
        .strings
        .until(|conduct| !conduct.permits.is_empty())
        .await;
    stage
}

/// The plans for which the worker has asked.
fn asked(stage: &Stage) -> Vec<PlanData> {
    let permits = stage.strings.conduct(|conduct| conduct.permits.clone());
    let plan = |request: cts_proto::run::v1::PermitApplyRequest| {
        assert_eq!((request.epoch, request.worker_id.as_str()), (1, "worker-1"));
        plan_of(&request.content)
    };
    permits.into_iter().map(plan).collect()
}

fn assert_untouched(stage: &Stage) {
    assert!(!stage.state().exists());
    assert!(!stage.file("saved.tfplan").exists());
}

#[tokio::test]
async fn a_permitted_plan_is_what_is_applied() {
    let mut stage = deciding(PermitDecision::Permitted).await;
    stage
        .strings
        .conduct(|conduct| conduct.secret = vec![8; 32]);
    grant(&stage);
    stage.strings.applied().await;
    let log = stage.strings.log();
    assert!(log.contains("Apply complete! Resources: 1 added"), "{log}");
    let plans = asked(&stage);
    assert_eq!(plans.len(), 1);
    assert_eq!(
        (plans[0].effect.len(), &plans[0].unclear[..]),
        (32, &[][..])
    );
    assert_eq!(plans[0].counts.unwrap().created, 1);
    assert!(stage.state().exists() && !stage.file("saved.tfplan").exists());
    stage.strings.conduct(|conduct| {
        assert!(conduct.plans.is_empty());
        let mut proofs = conduct.proofs.iter();
        let proof = proofs.find(|(call, _proof)| *call == "permit_apply");
        assert_eq!(proof.unwrap().1.as_ref().unwrap().secret, [8; 32]);
    });
}

#[tokio::test]
async fn a_run_without_permission_goes_back_and_is_applied_later() {
    for decision in [
        PermitDecision::Waits,
        PermitDecision::Unwanted,
        PermitDecision::Unspecified,
    ] {
        let mut stage = deciding(decision).await;
        grant(&stage);
        stage.strings.interrupted().await;
        assert_untouched(&stage);
        decide(&stage, PermitDecision::Permitted);
        let input = stage.input();
        stage.strings.grant_asking(RunKind::Apply, input, 2);
        stage.strings.applied().await;
        let plans = asked(&stage);
        assert_eq!(plans[0].effect, plans[1].effect);
    }
}

#[tokio::test]
async fn a_refused_plan_has_no_further_attempts() {
    for (decision, is_declined) in [
        (PermitDecision::Rejected, true),
        (PermitDecision::Unknown, false),
    ] {
        let mut stage = deciding(decision).await;
        grant(&stage);
        let outcome = stage.strings.outcome().await;
        let Outcome::Failed(failed) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(failed.error, REASON);
        assert_eq!((failed.is_final, failed.is_declined), (true, is_declined));
        assert_eq!(stage.strings.details().error_code, "wait-ended");
        assert_untouched(&stage);
    }
}

#[tokio::test]
async fn nothing_is_applied_without_an_answer() {
    // A lease may be in force again.
    let codes = [
        (Code::Unimplemented, 1),
        (Code::PermissionDenied, 1),
        (Code::InvalidArgument, 1),
        (Code::FailedPrecondition, 2),
    ];
    for (code, calls) in codes {
        let mut stage = deciding(PermitDecision::Permitted).await;
        stage
            .strings
            .conduct(|conduct| conduct.refuses_permits = Some(code));
        grant(&stage);
        stage.strings.interrupted().await;
        assert_eq!(asked(&stage).len(), calls, "{code}");
        assert_untouched(&stage);
    }
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again() {
    let mut stage = deciding(PermitDecision::Permitted).await;
    stage.strings.conduct(|conduct| conduct.lost_permits = 2);
    grant(&stage);
    stage.strings.applied().await;
    let plans = asked(&stage);
    assert_eq!(plans.len(), 3);
    assert!(plans.iter().all(|plan| *plan == plans[0]));
}

#[tokio::test]
async fn a_cancelled_run_does_not_wait_for_an_answer() {
    let mut stage = asking().await;
    stage
        .strings
        .conduct(|conduct| conduct.cancel = CancelOrder::Interrupt);
    stage.strings.interrupted().await;
    assert_untouched(&stage);
    // The answer came too late: the next attempt asks again.
    stage
        .strings
        .conduct(|conduct| conduct.cancel = CancelOrder::Unspecified);
    decide(&stage, PermitDecision::Permitted);
    let input = stage.input();
    stage.strings.grant_asking(RunKind::Apply, input, 2);
    stage.strings.applied().await;
}

#[tokio::test]
async fn a_worker_that_stops_does_not_wait_for_an_answer() {
    let mut stage = asking().await;
    stage.shutdown.drain.cancel();
    stage.shutdown.stop.cancel();
    stage.strings.interrupted().await;
    assert_untouched(&stage);
}

#[tokio::test]
async fn a_draining_worker_applies_what_is_permitted() {
    let mut stage = asking().await;
    stage.shutdown.drain.cancel();
    decide(&stage, PermitDecision::Permitted);
    stage.strings.applied().await;
}

#[tokio::test]
async fn a_plan_without_changes_is_asked_for_too() {
    let mut stage = deciding(PermitDecision::Permitted).await;
    for _ in 0..2 {
        grant(&stage);
        stage.strings.applied().await;
    }
    let expected = PlanData {
        extent: PlanExtent::All.into(),
        counts: Some(PlanCounts::default()),
        ..PlanData::default()
    };
    assert_eq!(asked(&stage)[1..], [expected]);
}

#[tokio::test]
async fn the_scheduler_decides_about_a_plan_that_cannot_be_read() {
    let unread = [PlanData {
        extent: PlanExtent::Counts.into(),
        counts: Some(PlanCounts::default()),
        unclear: vec!["the plan could not be read".to_owned()],
        ..PlanData::default()
    }];
    let (mut stage, _directory) = with_show("exit 1").await;
    decide(&stage, PermitDecision::Permitted);
    grant(&stage);
    stage.strings.applied().await;
    assert_eq!(asked(&stage), unread);
    // Without a key.
    let mut stage = Stage::new(KEEPS).await;
    decide(&stage, PermitDecision::Waits);
    grant(&stage);
    stage.strings.interrupted().await;
    assert_eq!(asked(&stage), unread);
    assert_untouched(&stage);
}

#[tokio::test]
async fn a_plan_is_refused_if_the_state_has_moved_during_the_question() {
    let mut stage = asking().await;
    apply_by_hand(stage.state().ancestors().nth(3).unwrap()).await;
    decide(&stage, PermitDecision::Permitted);
    let error = stage.strings.failed().await;
    assert!(error.contains("Saved plan is stale"), "{error}");
    assert!(!stage.file("saved.tfplan").exists());
}

async fn apply_by_hand(directory: &Path) {
    let status = Command::new(terraform_path())
        .args(["apply", "-auto-approve", "-input=false"])
        .current_dir(directory)
        .env("CHECKPOINT_DISABLE", "1")
        .env_remove("TF_CLI_CONFIG_FILE")
        .status();
    assert!(status.await.unwrap().success());
}

#[tokio::test]
async fn a_destruction_is_done_as_it_was_permitted() {
    let mut stage = deciding(PermitDecision::Permitted).await;
    grant(&stage);
    stage.strings.applied().await;
    let state = std::fs::read(stage.state()).unwrap();
    decide(&stage, PermitDecision::Waits);
    let input = stage.input();
    stage
        .strings
        .grant_asking(RunKind::Destroy, input.clone(), 1);
    stage.strings.interrupted().await;
    assert_eq!(std::fs::read(stage.state()).unwrap(), state);
    decide(&stage, PermitDecision::Permitted);
    // Twice, as after a death whose report was lost.
    for _ in 0..2 {
        stage
            .strings
            .grant_asking(RunKind::Destroy, input.clone(), 2);
        stage.strings.destroyed().await;
    }
    let plans = asked(&stage);
    assert_eq!(plans[1].counts.unwrap().deleted, 1);
    assert_eq!(plans[1].effect, plans[2].effect);
    assert_eq!((plans.len(), plans[3].effect.as_str()), (4, ""));
    assert_ne!(std::fs::read(stage.state()).unwrap(), state);
}
