//! Handlers after an apply: under the lease, and their traces when a worker is gone.

use std::time::Duration;

use cts_core::{FAKE_SYNC, ProviderBlock};
use cts_handlers::WebhookSettings;
use cts_proto::run::v1::RunKind;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_testkit::{ScriptedAnswer, ScriptedHttp, assert_contains, eventually};
use cts_worker::Options;
use serde_json::{Value, json};
use tonic::Code;

use crate::stage::{KEEPS, Stage};

const DEADLINE: Duration = Duration::from_secs(30);

fn webhook(options: &mut Options, receiver: &ScriptedHttp) {
    options.webhooks.push(WebhookSettings {
        name: "tickets".to_owned(),
        url: format!("http://{}/{{{{ env \"HOOK_PATH\" }}}}", receiver.address()).into(),
        secret: Some("{{ env \"HOOK_SECRET\" }}".into()),
        timeout: Duration::from_mins(1),
        retries: 0,
        tls: cts_tls::ClientFiles::default(),
        server_name: None,
    });
}

fn input(stage: &Stage) -> Vec<u8> {
    stage.input_of(|definition| definition.file_definition.webhooks = vec!["tickets".to_owned()])
}

async fn stage(receiver: &ScriptedHttp) -> Stage {
    Stage::configured(KEEPS, |options| webhook(options, receiver)).await
}

async fn until_asked(receiver: &ScriptedHttp, times: usize) {
    eventually(DEADLINE, async || match receiver.requests().len() {
        asked if asked >= times => Ok(()),
        asked => Err(format!("{asked} requests")),
    })
    .await;
}

fn ok() -> ScriptedAnswer {
    ScriptedAnswer::Json(200, Value::Null)
}

#[tokio::test]
async fn a_webhook_follows_an_apply_and_nothing_else() {
    let receiver = ScriptedHttp::start([ok()]).await;
    let mut stage = stage(&receiver).await;
    for kind in [RunKind::Plan, RunKind::Check] {
        stage.strings.grant(kind, input(&stage));
        let outcome = stage.strings.outcome().await;
        assert!(!matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    }
    assert!(receiver.requests().is_empty());
    stage.strings.grant(RunKind::Apply, input(&stage));
    stage.strings.applied().await;
    let [request] = receiver.requests().try_into().unwrap();
    assert_eq!(request.line, "POST /path-of-the-stage");
    assert!(request.header("x-cts-signature").is_some());
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["task"], "edge");
}

#[tokio::test]
async fn a_key_is_made_of_the_delivery_and_the_input() {
    let receiver = ScriptedHttp::start([ok()]).await;
    let mut stage = stage(&receiver).await;
    let input = input(&stage);
    stage.strings.grant_delivery(input, 7);
    stage.strings.applied().await;
    let [request] = receiver.requests().try_into().unwrap();
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let key = format!(
        "00000000-0000-7000-8000-00000000000f.7.{}/tickets",
        &body["input"].as_str().unwrap()[..16]
    );
    assert_eq!(request.header("idempotency-key"), Some(&*key));
}

/// A scheduler of the version before sends no number.
#[tokio::test]
async fn successor_repeats_deliveries_of_a_lost_worker_with_the_same_key() {
    let receiver = ScriptedHttp::start([ok(), ok()]).await;
    let stage = stage(&receiver).await;
    stage
        .strings
        .conduct(|conduct| conduct.reports = Some(Code::Unavailable));
    stage.strings.grant(RunKind::Apply, input(&stage));
    stage.strings.until(|conduct| conduct.refused > 0).await;
    assert_eq!(receiver.requests().len(), 1);
    // The worker's connections end with it, and no report has been stored.
    drop(stage);

    let mut successor = Stage::configured(KEEPS, |options| webhook(options, &receiver)).await;
    successor.strings.grant(RunKind::Apply, input(&successor));
    successor.strings.applied().await;
    let [first, second] = receiver.requests().try_into().unwrap();
    let key = "00000000-0000-7000-8000-000000000001/tickets";
    assert_eq!(first.header("idempotency-key"), Some(key));
    assert_eq!(second.header("idempotency-key"), Some(key));
}

#[tokio::test]
async fn an_end_of_the_worker_does_not_wait_for_a_handler() {
    let receiver = ScriptedHttp::start([ScriptedAnswer::Hang]).await;
    let mut stage = stage(&receiver).await;
    stage.strings.grant(RunKind::Apply, input(&stage));
    until_asked(&receiver, 1).await;
    stage.shutdown.drain.cancel();
    stage.shutdown.stop.cancel();
    let outcome = tokio::time::timeout(DEADLINE, stage.strings.outcome()).await;
    let outcome = outcome.expect("long before the handler's own limit");
    assert!(matches!(outcome, Outcome::Interrupted(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_lost_lease_does_not_wait_for_a_handler_and_is_not_reported() {
    let receiver = ScriptedHttp::start([ScriptedAnswer::Hang, ok()]).await;
    let mut stage = stage(&receiver).await;
    stage
        .strings
        .conduct(|conduct| conduct.life = Duration::from_secs(6));
    stage.strings.grant(RunKind::Apply, input(&stage));
    until_asked(&receiver, 1).await;
    stage
        .strings
        .conduct(|conduct| conduct.renewals = Some(Code::FailedPrecondition));
    // The only slot is free for the next run, and the first outcome is that of the next run.
    stage.strings.grant(RunKind::Check, input(&stage));
    let outcome = tokio::time::timeout(DEADLINE, stage.strings.outcome()).await;
    let outcome = outcome.expect("long before the handler's own limit");
    assert!(matches!(outcome, Outcome::Checked(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_handler_that_fails_makes_the_attempt_fail_without_a_secret() {
    let refuses = ScriptedAnswer::Json(400, json!("secret-of-the-stage"));
    let receiver = ScriptedHttp::start([refuses]).await;
    let mut stage = stage(&receiver).await;
    stage.strings.grant(RunKind::Apply, input(&stage));
    let error = stage.strings.failed().await;
    assert_eq!(
        error,
        "the apply succeeded, but what follows it did not: webhook \"tickets\" was not delivered: the receiver answers 400 Bad Request"
    );
    assert!(stage.state().exists());
}

#[tokio::test]
async fn secrets_of_a_webhook_are_kept_out_of_the_output() {
    let receiver = ScriptedHttp::start([ok()]).await;
    let module = KEEPS.replace("var.services", "\"secret-of-the-stage\"");
    let mut stage = Stage::configured(&module, |options| webhook(options, &receiver)).await;
    stage.strings.grant(RunKind::Plan, input(&stage));
    let plan = stage.strings.planned().await;
    assert!(plan.text.contains("\"(hidden)\""), "{}", plan.text);
    assert!(!plan.text.contains("secret-of-the-stage"), "{}", plan.text);
}

#[tokio::test]
async fn a_webhook_that_this_worker_does_not_have_fails_before_terraform() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.grant(RunKind::Apply, input(&stage));
    let error = stage.strings.failed().await;
    let expected = "the task names the webhook \"tickets\", but the configuration of this worker has no such `webhook` block";
    assert!(error.contains(expected), "{}", error);
    assert!(!stage.state().exists());
}

#[tokio::test]
async fn fake_sync_fails_after_terraform_and_reaches_no_file() {
    let block = ProviderBlock {
        name: FAKE_SYNC.to_owned(),
        alias: None,
        arguments: [("name", json!("practice")), ("err", json!(true))]
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
        blocks: std::collections::BTreeSet::new(),
        task_env: std::collections::BTreeMap::new(),
    };
    let mut stage = Stage::configured(KEEPS, |options| {
        let mut render = cts_terraform::RenderSettings::clone(&options.render);
        render.providers.push(block);
        let required = json!({ "source": "example.net/x/fake-sync" });
        render
            .required_providers
            .insert(FAKE_SYNC.to_owned(), required);
        options.render = std::sync::Arc::new(render);
    })
    .await;
    let input = stage.input_of(|definition| definition.providers = vec![FAKE_SYNC.into()]);
    stage.strings.grant(RunKind::Apply, input);
    let error = stage.strings.failed().await;
    assert_contains(
        &error,
        ["provider \"fake-sync\": \"practice\" fails because of `err`"],
    );
    assert!(stage.state().exists());
    for name in [
        "main.tf",
        "variables.tf",
        "providers.auto.tfvars",
        "terraform.tfvars",
    ] {
        let text = std::fs::read_to_string(stage.file(name)).unwrap_or_default();
        assert!(
            !text.contains("fake-sync") && !text.contains("practice"),
            "{name}: {text}"
        );
    }
}

/// Receivers get messages about applies, and a plan is not an apply.
#[tokio::test]
async fn no_message_follows_a_destruction() {
    let receiver = ScriptedHttp::start([ok()]).await;
    let mut stage = stage(&receiver).await;
    stage.strings.grant(RunKind::Apply, input(&stage));
    let applied = stage.strings.outcome().await;
    assert!(matches!(applied, Outcome::Applied(_)), "{applied:?}");
    stage.strings.grant(RunKind::Destroy, input(&stage));
    let destroyed = stage.strings.outcome().await;
    assert!(matches!(destroyed, Outcome::Destroyed(_)), "{destroyed:?}");
    assert_eq!(receiver.requests().len(), 1);
}
