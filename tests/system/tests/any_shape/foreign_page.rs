//! A page of a foreign site in a real Chromium (docs/rest.md#browsers).

mod site;

use cts_tests::{Instance, Site, scrape_address, scrape_request, task as task_block};
use serde_json::{Map, Value};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::any_shape::foreign_page::site::{NAME, Target, attack};
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
    assert_closed_to_a_rebound_name(scene().await).await;
}

async fn assert_closed_to_a_rebound_name(scene: Scene) {
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

#[tokio::test]
async fn metrics_and_grpc_are_closed_to_a_rebound_name_and_open_to_programs() {
    let listening = "telemetry {\n  listen = \"127.0.0.1:0\"\n}\n";
    let (site, _consul) = prepare(Site::new(), &configuration(listening)).await;
    let instance = Instance::start_embedded(&site).await;
    let address = scrape_address(&instance.output()).unwrap();
    for path in ["/metrics", "/health/live", "/health/ready", "/unknown"] {
        for (host, language, status) in [
            (NAME, true, 403),
            (NAME, false, 200),
            ("localhost", true, 200),
        ] {
            let mut request = scrape_request(address).header("host", host);
            if language {
                request = request.header("accept-language", "en");
            }
            let mut request = request.build().unwrap();
            request.url_mut().set_path(path);
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let answer = client.execute(request).await.unwrap();
            let status = if path == "/unknown" && status == 200 {
                404
            } else {
                status
            };
            assert_eq!(answer.status().as_u16(), status, "{path} {host}");
        }
    }
    let mut health = HealthClient::new(instance.grpc());
    let mut check = async |origin: Option<&str>| {
        let mut request = tonic::Request::new(HealthCheckRequest::default());
        if let Some(origin) = origin {
            request
                .metadata_mut()
                .insert("origin", origin.parse().unwrap());
        }
        health.check(request).await.map_err(|status| status.code())
    };
    check(None).await.unwrap();
    let page = format!("http://{NAME}");
    assert_eq!(
        check(Some(&page)).await.unwrap_err(),
        Code::PermissionDenied
    );
    instance.stop().await;
}
