//! What follows an apply: the handler that fails on purpose, and a webhook.

use cts_testkit::{ConsulAgent, ScriptedAnswer, ScriptedHttp};
use cts_tests::{Backend, Instance, Site, task};
use serde_json::Value;

/// The words of `fake-sync` when it fails.
const FAILS: &str = "\"practice\" fails because of `err`";

#[tokio::test]
async fn fake_sync_fails_all_applies_but_the_first() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
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
    // What Terraform did stays.
    site.wait_for_step("edge", "end", "web-1,web-2").await;
    let output = cts.output();
    assert!(output.contains("fake handler called"), "{output}");
    cts.stop().await;
}

#[tokio::test]
async fn a_webhook_gets_each_apply_and_the_same_key_again_after_a_failed_attempt() {
    let ok = || ScriptedAnswer::Json(200, Value::Null);
    let script = [ScriptedAnswer::Json(400, Value::Null), ok(), ok()];
    let receiver = ScriptedHttp::start(script).await;
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
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
        assert_eq!(*key, format!("{}/tickets", body["run"].as_str().unwrap()));
        assert_eq!(body["task"], "edge");
        assert_eq!(body["services"][0], "web");
    }
    let output = cts.output();
    cts.stop().await;
    for secret in ["secret-of-the-receiver", "token-in-path"] {
        assert!(!output.contains(secret), "in the log");
    }
}
