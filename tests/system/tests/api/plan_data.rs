//! Plans of runs as data: read by the worker, kept, and shown by the API and the command line. Not in the original.

use serde_json::{Value, json};

use cts_tests::executable;

use crate::api::program::call;
use crate::api::scene::Scene;

#[tokio::test]
async fn an_inspection_leaves_its_plan_as_data() {
    const RECORDED: &str = "module.pool.terraform_data.recorded";
    let scene = Scene::with_steps().await;
    scene.switch("pool", false, "").await.expect(200);
    scene.register("web", "web-2").await;
    let inspected = scene.switch("pool", true, "?run=inspect").await;
    inspected.expect(200);
    let page = scene.ask("GET", "/v1/runs?task=pool&limit=1").await;
    let run = page.expect(200)["runs"][0].clone();
    assert_eq!(run["kind"], "plan", "{run}");
    let id = run["id"].as_str().unwrap();

    let answer = scene.ask("GET", &format!("/v1/runs/{id}/plan")).await;
    let plan = answer.expect(200)["plan"].clone();
    assert_eq!(plan["extent"], "all", "{plan}");
    assert_eq!(plan["counts"]["replaced"], 1, "{plan}");
    let changes = plan["changes"].as_array().unwrap();
    let change = changes.iter().find(|it| it["address"] == RECORDED).unwrap();
    assert_eq!(change["action"], "delete_then_create", "{change}");
    let attributes = change["attributes"].as_array().unwrap();
    assert!(
        attributes.iter().any(|it| it["forces_replacement"] == true),
        "{change}"
    );
    assert!(!plan["effect"].as_str().unwrap().is_empty(), "{plan}");

    let cts = executable("cts");
    let shown = call(&scene, &cts, &["runs", "plan", id]).await;
    shown.well(&[
        "Plan: 1 to replace",
        &format!("-/+ {RECORDED}"),
        "# forces replacement",
        "Effect: ",
    ]);
    let shown = call(&scene, &cts, &["runs", "plan", id, "-o", "json"]).await;
    let shown: Value = serde_json::from_str(&shown.text).unwrap();
    assert_eq!(shown, plan);

    // The first apply of a task that needs no saved plan has none.
    let page = scene.ask("GET", "/v1/runs?task=pool").await;
    let runs = page.expect(200)["runs"].as_array().unwrap().clone();
    let first = runs.last().unwrap()["id"].as_str().unwrap();
    let missing = scene.ask("GET", &format!("/v1/runs/{first}/plan")).await;
    assert_eq!(missing.expect(404)["error"]["code"], json!("plan-unknown"));
}
