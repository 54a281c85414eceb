//! Leases whose renewals, logs or reports meet a slow or unreachable scheduler.

use std::time::Duration;

use cts_proto::run::v1::RunKind;
use cts_proto::run::v1::complete_run_request::Outcome;
use tonic::Code;

use crate::played_scheduler::Conduct;
use crate::stage::{KEEPS, Stage};

/// A module whose apply prints `started` and takes a minute, unless it is stopped.
const TAKES_LONG: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "echo started; exec sleep 60"
  }
}
"#;

async fn until_logged(stage: &Stage, text: &str) {
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while !stage.strings.log().contains(text) {
        looks.tick().await;
    }
}

#[tokio::test]
async fn the_lease_is_renewed_while_the_rest_of_the_log_is_on_its_way() {
    let mut stage = Stage::new(KEEPS).await;
    // Half of the lease's life is shorter than the time that a batch of lines may take.
    stage.strings.conduct(|conduct| {
        conduct.life = Duration::from_secs(6);
        conduct.holds_logs = true;
    });
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.applied().await;
}

/// Grants a run whose call waits as during an outage: the moment of the grant is unknown.
async fn late_grant(stage: &Stage, kind: RunKind) {
    let life = stage.strings.conduct(|conduct| conduct.life);
    // Plays an outage; the test does not wait for something to be ready.
    tokio::time::sleep(life).await;
    stage.strings.grant(kind, stage.input());
}

#[tokio::test]
async fn a_grant_that_was_long_on_its_way_is_renewed_and_worked_on() {
    let mut stage = Stage::new(KEEPS).await;
    stage
        .strings
        .conduct(|conduct| conduct.life = Duration::from_secs(6));
    late_grant(&stage, RunKind::Apply).await;
    stage.strings.until(|conduct| conduct.renewed > 0).await;
    stage.strings.applied().await;
}

#[tokio::test]
async fn a_grant_that_came_late_and_is_not_renewed_is_given_back() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.conduct(|conduct| {
        conduct.life = Duration::from_secs(3);
        conduct.renewals = Some(Code::Unavailable);
    });
    late_grant(&stage, RunKind::Apply).await;
    stage.strings.interrupted().await;
    assert!(!stage.file("main.tf").exists(), "nothing was begun");
}

#[tokio::test]
async fn a_grant_that_was_over_when_it_came_is_left_to_others() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.conduct(|conduct| {
        conduct.life = Duration::from_secs(3);
        conduct.renewals = Some(Code::FailedPrecondition);
    });
    late_grant(&stage, RunKind::Apply).await;
    // The worker works on its next run, and reports nothing about this one.
    stage
        .strings
        .conduct(|conduct| conduct.life = Duration::from_mins(2));
    stage.strings.grant(RunKind::Check, stage.input());
    stage.strings.checked().await;
}

#[tokio::test]
async fn the_end_of_a_run_is_reported_however_long_the_scheduler_cannot_store_it() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.conduct(|conduct| {
        conduct.life = Duration::from_secs(8);
        conduct.reports = Some(Code::Unavailable);
    });
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.until(|conduct| conduct.refused > 0).await;
    // Longer than the life of the lease, which is renewed during this time.
    let renewed = stage.strings.conduct(|conduct| conduct.renewed);
    let more = renewed + 4;
    stage.strings.until(|conduct| conduct.renewed >= more).await;
    stage.strings.conduct(|conduct| conduct.reports = None);
    stage.strings.applied().await;
}

#[tokio::test]
async fn a_run_that_ended_while_no_scheduler_renewed_is_reported_when_one_is_back() {
    let mut stage = Stage::new(KEEPS).await;
    let life = Duration::from_secs(8);
    stage.strings.conduct(|conduct| {
        conduct.life = life;
        conduct.reports = Some(Code::Unavailable);
    });
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.until(|conduct| conduct.refused > 0).await;
    // Terraform has ended; from now on no scheduler answers at all.
    stage
        .strings
        .conduct(|conduct| conduct.renewals = Some(Code::Unavailable));
    // Plays an outage; the test does not wait for something to be ready.
    tokio::time::sleep(life * 3 / 2).await;
    stage.strings.conduct(|conduct| {
        conduct.reports = None;
        conduct.renewals = None;
    });
    stage.strings.applied().await;
}

#[tokio::test]
async fn a_run_that_was_stopped_because_no_scheduler_renewed_it_is_given_back() {
    let mut stage = Stage::new(TAKES_LONG).await;
    stage
        .strings
        .conduct(|conduct| conduct.life = Duration::from_secs(9));
    stage.strings.grant(RunKind::Apply, stage.input());
    until_logged(&stage, "(local-exec): started").await;
    stage.strings.conduct(|conduct| {
        conduct.reports = Some(Code::Unavailable);
        conduct.renewals = Some(Code::Unavailable);
    });
    // The worker reports only when Terraform is gone.
    stage.strings.until(|conduct| conduct.refused > 0).await;
    let lock = "terraform.tfstate.d/edge/.terraform.tfstate.lock.info";
    assert!(!stage.file(lock).exists());
    stage.strings.conduct(|conduct| conduct.reports = None);
    stage.strings.interrupted().await;
}

#[tokio::test]
async fn nothing_is_reported_of_a_lease_that_a_scheduler_has_refused_to_renew() {
    let mut stage = Stage::new(TAKES_LONG).await;
    stage
        .strings
        .conduct(|conduct| conduct.life = Duration::from_secs(9));
    stage.strings.grant(RunKind::Apply, stage.input());
    until_logged(&stage, "(local-exec): started").await;
    stage
        .strings
        .conduct(|conduct| conduct.renewals = Some(Code::FailedPrecondition));
    // The worker works on its next run, so this one has ended.
    stage
        .strings
        .conduct(|conduct| conduct.life = Duration::from_mins(2));
    stage.strings.grant(RunKind::Check, stage.input());
    stage.strings.checked().await;
}

#[tokio::test]
async fn the_order_to_stop_ends_the_wait_for_an_input() {
    let mut stage = Stage::new(KEEPS).await;
    stage
        .strings
        .conduct(|conduct| conduct.holds_transfers = true);
    stage.strings.grant(RunKind::Apply, stage.input());
    stage
        .strings
        .until(|conduct| conduct.asked_for_inputs > 0)
        .await;
    stage.shutdown.drain.cancel();
    stage.shutdown.stop.cancel();
    let outcome = tokio::time::timeout(Duration::from_secs(20), stage.strings.outcome()).await;
    assert!(
        matches!(outcome, Ok(Outcome::Interrupted(_))),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn calls_for_a_run_that_got_no_answer_are_named_until_nothing_can_be_granted_to_them() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.conduct(|conduct| conduct.loses_grants = true);
    // An earlier call takes the run; otherwise the run is taken when answers arrive again.
    stage.strings.grant(RunKind::Check, stage.input());
    stage.strings.until(|conduct| conduct.lost.len() > 1).await;
    stage
        .strings
        .conduct(|conduct| conduct.loses_grants = false);
    let all = |named: &Conduct| named.lost.iter().all(|lost| named.named.contains(lost));
    stage.strings.until(all).await;
    // The run continues.
    stage.strings.checked().await;
}
