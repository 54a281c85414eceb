//! A page of a foreign site in a real Chromium (docs/rest.md#browsers).

mod site;

use cts_tests::{Instance, Site, task as task_block};
use serde_json::{Map, Value};

use crate::api::foreign_page::site::{NAME, Target, attack};
use crate::api::scene::{MODULE, Scene, prepare};

fn configuration(more: &str) -> String {
    task_block("lb", MODULE, &["web"], "") + more
}

async fn scene() -> Scene {
    let scene = Scene::with(&configuration("")).await;
    scene.instance.api.wait_for_events("lb", 1).await;
    scene
}

/// Restarts the process.
async fn restarted(scene: Scene) -> Scene {
    scene.instance.stop().await;
    let instance = Instance::start_embedded(&scene.site).await;
    Scene { instance, ..scene }
}

/// The task, and the number of its events.
async fn state(scene: &Scene) -> (Vec<String>, Value, Value) {
    let api = &scene.instance.api;
    let task = api.get("/v1/tasks/lb").await;
    let status = api.get("/v1/status/tasks/lb?include=events").await;
    let members = |value: &Value, left_out: &str| {
        let mut members = value.as_object().unwrap().clone();
        members.remove(left_out);
        Value::Object(members)
    };
    (scene.names().await, members(&task, "request_id"), status)
}

fn found<'a>(findings: &'a Value, kind: &str) -> &'a Map<String, Value> {
    let found = findings[kind].as_object().unwrap();
    assert!(found.len() > 5, "{findings:#}");
    found
}

/// Every change was refused, by the browser or by the API.
fn assert_changes_nothing(findings: &Value) {
    for (name, answer) in found(findings, "changes") {
        let answer = answer.as_str().unwrap();
        let is_refused = answer == "refused" || answer == "sent" || answer.starts_with("40");
        assert!(is_refused, "{name}: {answer}");
    }
}

#[tokio::test]
async fn a_foreign_page_changes_nothing() {
    let scene = scene().await;
    let before = state(&scene).await;
    let findings = attack(scene.instance.api.address(), Target::Address).await;
    assert_eq!(state(&scene).await, before, "{findings:#}");
    assert_changes_nothing(&findings);
    // The requests reach the API: the page may read, and simple requests are sent.
    assert_eq!(findings["changes"]["POST plain no-cors"], "sent");
    let plain = findings["changes"]["POST plain cors"].as_str().unwrap();
    assert!(
        plain.starts_with("403 ") && plain.contains("security.origins"),
        "{plain}"
    );
    let tasks = findings["reads"]["/v1/tasks"].as_str().unwrap();
    assert!(tasks.starts_with("200 ") && tasks.contains("lb"), "{tasks}");
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_name_that_is_rebound_to_the_loopback_opens_nothing() {
    let scene = scene().await;
    let before = state(&scene).await;
    let findings = attack(scene.instance.api.address(), Target::Rebound).await;
    assert_eq!(state(&scene).await, before, "{findings:#}");
    assert_changes_nothing(&findings);
    for (path, answer) in found(&findings, "reads") {
        let answer = answer.as_str().unwrap();
        let is_refused = answer.starts_with("403 ") && answer.contains("security.hosts");
        assert!(is_refused, "{path}: {answer}");
    }
    scene.instance.stop().await;
}

/// Also with the name of the site among the hosts, as if the listener were not on the loopback.
#[tokio::test]
async fn with_authentication_a_foreign_page_neither_reads_nor_changes_anything() {
    // As one process: four would need certificates to tell each other apart.
    let (site, consul) = prepare(Site::new(), &configuration("")).await;
    let instance = Instance::start_embedded(&site).await;
    instance.api.wait_for_events("lb", 1).await;
    let mut scene = Scene {
        instance,
        site,
        consul,
    };
    let before = state(&scene).await;
    let secured = format!("security {{\n  require_auth = true\n  hosts = [\"{NAME}\"]\n}}\n");
    scene.configure(&configuration(&secured));
    scene = restarted(scene).await;
    let mut all = Vec::new();
    for target in [Target::Address, Target::Rebound] {
        all.push(attack(scene.instance.api.address(), target).await);
    }
    scene.configure(&configuration(""));
    scene = restarted(scene).await;
    assert_eq!(state(&scene).await, before, "{all:#?}");
    for findings in all {
        assert_changes_nothing(&findings);
        for (path, answer) in found(&findings, "reads") {
            let answer = answer.as_str().unwrap();
            let is_refused = answer == "refused" || answer.starts_with("401 ");
            assert!(is_refused, "{path}: {answer}");
        }
    }
    scene.instance.stop().await;
}
