//! Runs that are cancelled while Terraform is at work.

use std::time::Duration;

use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::{CancelOrder, RunKind};

use crate::stage::Stage;

/// A module that reports its begin, and does not end by itself.
const LASTS: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "lasts" {
  provisioner "local-exec" {
    command = "@TRAP@ touch '${abspath(path.root)}/begun'; while true; do sleep 0.1; done"
  }
}
"#;

/// A worker with a run that has begun to apply.
async fn applying(trap: &str, order_calls_fail: bool) -> Stage {
    let stage = Stage::new(&LASTS.replace("@TRAP@", trap)).await;
    stage.strings.conduct(|conduct| {
        conduct.order_calls_fail = order_calls_fail;
        if order_calls_fail {
            // Renewals come soon.
            conduct.life = Duration::from_secs(12);
        }
    });
    stage.strings.grant(RunKind::Apply, stage.input());
    until_begun(&stage).await;
    stage
}

async fn until_begun(stage: &Stage) {
    let begun = stage.file("begun");
    stage.strings.until(|_| begun.exists()).await;
}

async fn until_logged(stage: &Stage, text: &str) {
    stage
        .strings
        .until(|_| stage.strings.log().contains(text))
        .await;
}

async fn assert_interrupted(stage: &mut Stage) {
    stage.strings.interrupted().await;
    let log = stage.strings.log();
    assert!(log.contains("Interrupt received"), "{log}");
}

fn order(stage: &Stage, order: CancelOrder) {
    stage.strings.conduct(|conduct| conduct.cancel = order);
}

#[tokio::test]
async fn a_cancelled_apply_is_interrupted_gently() {
    let mut stage = applying("", false).await;
    order(&stage, CancelOrder::Interrupt);
    assert_interrupted(&mut stage).await;
    let log = stage.strings.log();
    assert!(!log.contains("Two interrupts received"), "{log}");
    // The worker goes on.
    order(&stage, CancelOrder::Unspecified);
    std::fs::remove_file(stage.file("begun")).unwrap();
    stage.strings.grant(RunKind::Plan, stage.input());
    let outcome = stage.strings.outcome().await;
    assert!(matches!(outcome, Outcome::Planned(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_renewal_brings_the_order_while_calls_for_it_fail() {
    let mut stage = applying("", true).await;
    stage
        .strings
        .conduct(|conduct| conduct.cancel = CancelOrder::Interrupt);
    assert_interrupted(&mut stage).await;
}

/// The provisioner ignores the interrupt, so that Terraform waits for it.
#[tokio::test]
async fn force_ends_what_does_not_stop() {
    let mut stage = applying("trap '' INT TERM;", false).await;
    order(&stage, CancelOrder::Interrupt);
    until_logged(&stage, "Interrupt received").await;
    order(&stage, CancelOrder::Force);
    assert_interrupted(&mut stage).await;
}
