//! Details of a run: in `GET /v1/runs/{id}`, and on the command line. Not in the original.

use cts_testkit::assert_contains;
use serde_json::{Value, json};

use cts_tests::executable;

use crate::api::program::{CommandOutput, call};
use crate::api::scene::Scene;

async fn cts(scene: &Scene, arguments: &[&str]) -> CommandOutput {
    call(scene, &executable("cts"), arguments).await
}

/// The newest run, as it is in the list, and alone.
async fn newest(scene: &Scene) -> (Value, Value) {
    let page = scene.ask("GET", "/v1/runs?task=pool&limit=1").await;
    let listed = page.expect(200)["runs"][0].clone();
    let id = listed["id"].as_str().unwrap();
    let run = scene.ask("GET", &format!("/v1/runs/{id}")).await;
    (listed, run.expect(200)["run"].clone())
}

#[tokio::test]
async fn a_run_tells_what_it_changed_how_long_that_took_and_what_went_wrong() {
    let scene = Scene::with_steps().await;
    let recorded = "module.pool.terraform_data.recorded";

    let (listed, run) = newest(&scene).await;
    let details = &run["details"];
    assert_eq!(
        details["resources"],
        json!({"added": 1, "changed": 0, "destroyed": 0, "imported": 0}),
        "{run}"
    );
    assert_eq!(
        details["changes"],
        json!([{"address": recorded, "action": "create"}])
    );
    assert_eq!(details["diagnostics"], Value::Null);
    for phase in ["queue", "render", "init", "validate", "apply"] {
        assert!(details["phases_ms"][phase].is_u64(), "{phase}: {run}");
    }
    assert_eq!(details["phases_ms"]["plan"], Value::Null);
    assert_eq!(listed["details"]["resources"], details["resources"]);
    assert_eq!(listed["details"]["changes"], Value::Null, "not in lists");

    let watched = cts(&scene, &["task", "run", "pool", "-watch"]).await;
    watched.well(&[
        "is succeeded",
        "Apply complete!",
        "+0 ~0 -0",
        "its status is successful",
    ]);
    let json = cts(&scene, &["task", "run", "pool", "--watch", "-o", "json"]).await;
    json.well(&["\"resources\": {", "\"phases_ms\": {"]);
    let list = cts(&scene, &["runs", "list", "-task", "pool"]).await;
    list.well(&[
        "RESOURCES",
        "+1 ~0 -0",
        "+0 ~0 -0",
        run["id"].as_str().unwrap(),
    ]);
    let show = cts(&scene, &["runs", "show", run["id"].as_str().unwrap()]).await;
    show.well(&["+1 ~0 -0", &format!("create {recorded}"), "render "]);

    // Replaced, and failed before it was there again.
    scene.instance.api.wait_for_events("pool", 3).await;
    let broken = ["broken"];
    scene
        .consul
        .register_service("web", "web-1", 1, &[], &broken)
        .await;
    scene.instance.api.wait_for_events("pool", 4).await;
    let (_, run) = newest_failed(&scene).await;
    let details = &run["details"];
    let diagnostic = &details["diagnostics"][0];
    assert_eq!(diagnostic["severity"], "error", "{run}");
    assert_eq!(diagnostic["summary"], "local-exec provisioner error");
    assert_eq!(diagnostic["address"], recorded);
    let file = diagnostic["file"].as_str().unwrap();
    assert_eq!(file, "./modules/pool/main.tf", "{run}");
    assert!(diagnostic["line"].as_u64() > Some(1), "{run}");
    assert!(
        diagnostic["detail"]
            .as_str()
            .unwrap()
            .contains("broken for <web-1>"),
        "{run}"
    );
    assert_contains(
        run["error"].as_str().unwrap(),
        [
            "error tf-apply for 'pool': exit status 1\n\nError: local-exec provisioner error",
            " on ./modules/pool/main.tf line ",
        ],
    );
    let show = cts(&scene, &["runs", "show", run["id"].as_str().unwrap()]).await;
    show.well(&["error: local-exec provisioner error (", "Status:", "failed"]);
    cts(&scene, &["task", "run", "pool", "-watch"])
        .await
        .failed(11, &["is failed", "broken for <web-1>", "Diagnostics:"]);
    scene.instance.stop().await;
}

/// The newest failed run; a retry may already be queued.
async fn newest_failed(scene: &Scene) -> (Value, Value) {
    let page = scene
        .ask("GET", "/v1/runs?task=pool&status=failed&limit=1")
        .await;
    let listed = page.expect(200)["runs"][0].clone();
    let id = listed["id"].as_str().unwrap();
    let run = scene.ask("GET", &format!("/v1/runs/{id}")).await;
    (listed, run.expect(200)["run"].clone())
}
