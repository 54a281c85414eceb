//! Actions after an apply: the handler that fails on purpose, and a webhook.

use std::collections::BTreeSet;

use cts_testkit::{ConsulAgent, ScriptedAnswer, ScriptedHttp};
use cts_tests::{Backend, Driver, Instance, Site, task};
use rstest::rstest;
use serde_json::Value;

/// The words of `fake-sync` when it fails.
const FAILS: &str = "\"practice\" fails because of `err`";

#[rstest]
#[tokio::test]
async fn fake_sync_fails_all_applies_but_the_first(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    site.write_steps("edge");
    let provider = "terraform_provider \"fake-sync\" {\n  name = \"practice\"\n  err = true\n  success_first = true\n}\n";
    let more = "providers = [\"fake-sync\"]\n  retry_failed = false";
    let tasks = provider.to_owned() + &task("edge", "./modules/edge", &["web"], more);
    site.configure(&consul.address(), Backend::Local, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    assert_eq!(cts.api.task_status("edge").await["status"], "successful");

    consul.register_service("web", "web-2", 2, &[], &[]).await;
    let events = cts.api.wait_for_events("edge", 2).await;
    assert_eq!(events[0]["success"], false, "{events:?}");
    let message = events[0]["error"]["message"].as_str().unwrap();
    assert_eq!(message.matches(FAILS).count(), 3, "{message}");
    assert_eq!(cts.api.task_status("edge").await["status"], "errored");
    // The changes of Terraform stay.
    site.wait_for_step("edge", "end", "web-1,web-2").await;
    let output = cts.output();
    assert!(output.contains("fake handler called"), "{output}");
    cts.stop().await;
}

#[rstest]
#[tokio::test]
async fn a_webhook_gets_each_apply_and_the_same_key_again_after_a_failed_attempt(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let ok = || ScriptedAnswer::Json(200, Value::Null);
    let script = [ScriptedAnswer::Json(400, Value::Null), ok(), ok()];
    let receiver = ScriptedHttp::start(script).await;
    let consul = ConsulAgent::start().await;
    let mut site = Site::with_driver(driver).await;
    site.set_environment("HOOK_SECRET", "secret-of-the-receiver");
    site.write_steps("edge");
    let webhook = format!(
        "webhook \"tickets\" {{\n  url = \"http://{}/token-in-path\"\n  secret = \"{{{{ env \\\"HOOK_SECRET\\\" }}}}\"\n}}\n",
        receiver.address()
    );
    let tasks = webhook
        + &task(
            "edge",
            "./modules/edge",
            &["web"],
            "webhooks = [\"tickets\"]",
        );
    site.configure(&consul.address(), Backend::Local, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    let events = cts.api.wait_for_events("edge", 2).await;
    assert_eq!(events[0]["success"], true, "{events:?}");

    let requests = receiver.requests();
    let bodies: Vec<Value> = requests
        .iter()
        .map(|request| serde_json::from_str(&request.body).unwrap())
        .collect();
    let attempts: Vec<_> = bodies.iter().map(|body| body["attempt"].as_u64()).collect();
    assert_eq!(attempts, [Some(1), Some(2), Some(1)]);
    let keys: Vec<_> = requests
        .iter()
        .map(|request| request.header("idempotency-key").unwrap())
        .collect();
    assert_eq!(keys[0], keys[1]);
    assert_ne!(keys[0], keys[2]);
    for (key, body) in keys.iter().zip(&bodies) {
        let (run, input) = (body["run"].as_str(), body["input"].as_str());
        let beginning = format!("{}.", run.unwrap());
        assert!(key.starts_with(&beginning), "{key} {body}");
        let end = format!(".{}/tickets", &input.unwrap()[..16]);
        assert!(key.ends_with(&end), "{key} {body}");
        assert_eq!(body["task"], "edge");
        assert_eq!(body["services"][0], "web");
    }
    let output = cts.output();
    cts.stop().await;
    for secret in ["secret-of-the-receiver", "token-in-path"] {
        assert!(!output.contains(secret), "in the log");
    }
}

/// A run takes newer inputs while it waits for its next attempt: each is a message of its own, also an input
/// that was there before.
#[tokio::test]
async fn inputs_that_replace_one_another_in_one_run_have_keys_of_their_own() {
    let no = || ScriptedAnswer::Json(400, Value::Null);
    let ok = || ScriptedAnswer::Json(200, Value::Null);
    let mut script: Vec<_> = (0..9).map(|_| no()).collect();
    script.extend([ok(), ok()]);
    let receiver = ScriptedHttp::start(script).await;
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("edge");
    let webhook = format!(
        "webhook \"tickets\" {{\n  url = \"http://{}/\"\n}}\n",
        receiver.address()
    );
    let more = "webhooks = [\"tickets\"]";
    let tasks = webhook + &task("edge", "./modules/edge", &["web"], more);
    site.configure(&consul.address(), Backend::Local, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("edge", 1).await;

    // The retry of the failed run waits; it takes these inputs in turn.
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    cts.api.wait_for_events("edge", 2).await;
    consul.deregister("web-2").await;
    cts.api.wait_for_events("edge", 3).await;
    assert_eq!(receiver.requests().len(), 9);
    consul.register_service("web", "web-3", 3, &[], &[]).await;
    let events = cts.api.wait_for_events("edge", 4).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    consul.deregister("web-3").await;
    let events = cts.api.wait_for_events("edge", 5).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    cts.stop().await;

    let requests = receiver.requests();
    let keys: Vec<_> = requests
        .iter()
        .map(|request| request.header("idempotency-key").unwrap().to_owned())
        .collect();
    let bodies: Vec<Value> = requests
        .iter()
        .map(|request| serde_json::from_str(&request.body).unwrap())
        .collect();
    assert_eq!(keys.len(), 11, "{keys:?}");
    for attempts in keys[..9].chunks(3) {
        assert!(attempts.iter().all(|key| *key == attempts[0]), "{keys:?}");
    }
    let each: BTreeSet<_> = [0, 3, 6, 9, 10].map(|index| &keys[index]).into();
    assert_eq!(each.len(), 5, "{keys:?}");
    assert_eq!(bodies[0]["input"], bodies[6]["input"], "back to the first");
    assert_eq!(bodies[0]["input"], bodies[10]["input"], "and once more");
}
