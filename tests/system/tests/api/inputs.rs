//! Inputs of runs as data, and runs that are requested without waiting. Not in the original.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, executable};
use serde_json::{Value, json};

use crate::api::program::call;
use crate::api::scene::Scene;

/// The newest run of `pool`, with its input.
async fn newest(scene: &Scene) -> (String, Value) {
    let page = scene.ask("GET", "/v1/runs?task=pool&limit=1").await;
    let id = page.expect(200)["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let answer = scene.ask("GET", &format!("/v1/runs/{id}/input")).await;
    let mut input = answer.expect(200);
    input.as_object_mut().unwrap().remove("request_id");
    (id, input)
}

/// The instances in an input, each with whether it differs.
fn instances(input: &Value) -> Vec<(&str, bool)> {
    let items = input["items"].as_array().unwrap().iter();
    let services = items.filter(|item| item["list"] == "services");
    services
        .map(|item| {
            let id = item["value"]["value"]["id"].as_str().unwrap();
            (id, item["changed"] == true)
        })
        .collect()
}

#[tokio::test]
async fn the_input_of_a_run_is_compared_with_the_one_before() {
    let scene = Scene::with_steps().await;
    let (first, input) = newest(&scene).await;
    assert_eq!(input["basis"], "none", "{input}");
    assert_eq!(instances(&input), [("web-1", false)]);
    scene.register("web", "web-2").await;
    scene.instance.api.wait_for_events("pool", 2).await;
    let (second, input) = newest(&scene).await;
    assert_eq!(input["compared_with"], json!(first), "{input}");
    assert_eq!(instances(&input), [("web-1", false), ("web-2", true)]);

    let cts = executable("cts");
    let shown = call(&scene, &cts, &["runs", "input", &second]).await;
    shown.well(&["Input of 'pool':", "web-1", "web-2", "address"]);
    let shown = call(&scene, &cts, &["runs", "input", "-diff", &second]).await;
    shown.well(&[&format!("Compared with run {first}"), "+ services web-2"]);
    assert!(!shown.text.contains("web-1"), "{}", shown.text);
    let shown = call(&scene, &cts, &["runs", "input", &second, "-o", "json"]).await;
    let shown: Value = serde_json::from_str(&shown.text).unwrap();
    assert_eq!(shown, input);
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_requested_run_goes_on_without_its_caller() {
    let scene = Scene::with_steps().await;
    let answer = scene.switch("pool", true, "?run=now&wait=false").await;
    let body = answer.expect(202);
    let location = format!("/v1/runs/{}", body["run"].as_str().unwrap());
    assert_eq!(answer.header("Location"), Some(&*location));
    let run = eventually(DEADLINE, async || {
        let run = scene.ask("GET", &location).await.expect(200)["run"].clone();
        if run["finished_at"].is_null() {
            Err(run)
        } else {
            Ok(run)
        }
    })
    .await;
    assert_eq!(
        (&run["status"], &run["attempts"], &run["no_retry"]),
        (&json!("succeeded"), &json!(1), &json!(true)),
        "{run}"
    );
    // The same request once more has the same run.
    let run = body["run"].as_str().unwrap();
    let (digits, last) = run.split_at(run.len() - 1);
    let key = format!("{digits}{}", u8::from(last == "0"));
    let again = format!("?run=now&wait=false&idempotency_key={key}");
    let [first, second] = [
        scene.switch("pool", true, &again).await.expect(202),
        scene.switch("pool", true, &again).await.expect(202),
    ];
    assert_eq!(first, second);
    scene.instance.api.wait_for_events("pool", 3).await;
    let refused = scene.switch("pool", true, "?wait=false").await;
    assert!(refused.refused(400).contains("wait"), "{refused}");
    let shown = call(
        &scene,
        &executable("cts"),
        &["task", "run", "pool", "-no-wait"],
    )
    .await;
    shown.well(&["'pool' runs as "]);
    scene.instance.api.wait_for_events("pool", 4).await;
    let runs = scene.ask("GET", "/v1/runs?task=pool").await.expect(200);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 4, "{runs}");
    scene.instance.stop().await;
}
