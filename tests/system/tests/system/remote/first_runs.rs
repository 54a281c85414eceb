//! Workspaces, variables, runs and their records.

use cts_testkit::eventually;
use cts_testkit::hcp::Phase;
use cts_tests::DEADLINE;
use reqwest::Method;
use serde_json::json;

use super::stage::{Stage, WORKSPACE};

/// As a worker leaves the workspace that is killed between making it and adding the tag that the server has ignored.
#[tokio::test]
async fn a_workspace_whose_worker_was_lost_before_its_tag_is_taken_over() {
    let stage = Stage::new().await;
    let attributes =
        json!({ "execution-mode": "remote", "source-name": "cts", "auto-apply": true });
    stage.server.create_workspace(WORKSPACE, attributes);
    stage.register("web-1").await;
    let _cts = stage.start().await;
    stage.recorded(&["web-1"]).await;
    let workspace = stage.server.workspace(WORKSPACE);
    assert_eq!(workspace["attributes"]["tag-names"], json!(["source:cts"]));
}

#[tokio::test]
async fn changes_of_consul_become_runs_in_a_workspace_that_is_made_for_the_task() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    let cts = stage.start().await;
    stage.recorded(&["web-1"]).await;
    stage.register("web-2").await;
    stage.recorded(&["web-1", "web-2"]).await;
    let events = cts.api.wait_for_events("edge", 2).await;
    for event in &events {
        assert_eq!(event["success"], json!(true), "{event}");
    }
    let runs = stage.runs();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(
        runs.iter()
            .all(|run| run.phase == Phase::Applied && !run.plan_only)
    );
    assert!(runs[0].message.starts_with("cts: task edge ["), "{runs:?}");

    let workspace = stage.server.workspace(WORKSPACE);
    let attributes = &workspace["attributes"];
    assert_eq!(attributes["execution-mode"], "remote");
    assert_eq!(attributes["auto-apply"], true);
    assert_eq!(attributes["tag-names"], json!(["source:cts"]));
    let variables = stage.server.variables(WORKSPACE);
    let [services] = variables.as_slice() else {
        panic!("{variables:?}");
    };
    assert_eq!((services.key.as_str(), services.hcl), ("services", true));
    assert!(services.value.contains("web-2"), "{}", services.value);

    let uploaded = stage.server.configurations(WORKSPACE);
    assert_eq!(uploaded.len(), 1, "equal content is uploaded once");
    let files = stage.server.configuration_files(&uploaded[0]);
    assert!(
        !files["main.tf"].contains("backend"),
        "{}",
        files["main.tf"]
    );
    assert!(
        files["main.tf"].contains("\"./modules/edge\""),
        "{}",
        files["main.tf"]
    );
    assert!(files.contains_key("modules/edge/main.tf"), "{files:?}");
    cts.stop().await;
}

#[tokio::test]
async fn a_run_is_recorded_like_a_local_one() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    let cts = stage.start().await;
    stage.recorded(&["web-1"]).await;
    cts.api.wait_for_events("edge", 1).await;
    let runs = cts.api.get("/v1/runs?task=edge").await;
    let run = &runs["runs"][0];
    let id = run["id"].as_str().unwrap();
    let answer = cts.api.get(&format!("/v1/runs/{id}")).await;
    let run = &answer["run"];
    let remote = &stage.runs()[0].id;
    let url = run["remote_run"]["url"].as_str().unwrap_or_default();
    assert!(
        url.ends_with(&format!("/app/acme/workspaces/{WORKSPACE}/runs/{remote}")),
        "{run}"
    );
    assert_eq!(run["remote_run"]["status"], "applied", "{run}");
    assert_eq!(run["details"]["resources"]["added"], 1, "{run}");
    let log = reqwest::get(cts.api.url(&format!("/v1/runs/{id}/log")));
    let log = log.await.unwrap().text().await.unwrap();
    assert!(log.contains("Apply complete! Resources: 1 added"), "{log}");
    let state = cts.api.get("/v1/tasks/edge/state").await;
    let kept = stage.server.state(WORKSPACE).unwrap();
    assert_eq!(state["state"]["lineage"], kept["lineage"], "{state}");
    cts.stop().await;
}

#[tokio::test]
async fn an_inspection_over_the_api_names_the_page_of_its_run() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    let cts = stage.start().await;
    stage.recorded(&["web-1"]).await;
    cts.api.wait_for_events("edge", 1).await;
    let body = Some(json!({ "enabled": true }));
    let path = "/v1/tasks/edge?run=inspect";
    let (status, answer) = cts.api.send(Method::PATCH, path, body).await;
    assert_eq!(status, 200, "{answer}");
    let runs = stage.runs();
    let planned = runs.last().unwrap();
    assert!(planned.plan_only, "{runs:?}");
    assert!(
        !planned.variables.is_empty(),
        "its values are its own: {planned:?}"
    );
    let url = answer["inspect"]["url"].as_str().unwrap_or_default();
    assert!(url.ends_with(&format!("/runs/{}", planned.id)), "{answer}");
    assert_eq!(
        answer["inspect"]["changes_present"],
        json!(false),
        "{answer}"
    );
    cts.stop().await;
}

#[tokio::test]
async fn a_module_that_fails_fails_once_with_the_words_of_terraform() {
    let stage = Stage::new().await;
    let broken = "variable \"services\" { type = any }\nresource \"terraform_data\" \"x\" {\n  \
                  input = element([], 0)\n}\n";
    stage.site.write("modules/edge/main.tf", broken);
    stage.register("web-1").await;
    let cts = stage.start().await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], json!(false));
    let message = events[0]["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("the remote run is errored: https://"),
        "{message}"
    );
    assert!(message.contains("Error: "), "{message}");
    eventually(DEADLINE, async || match stage.runs().len() {
        1 => Ok(()),
        other => Err(format!("{other} runs")),
    })
    .await;
    cts.stop().await;
}

#[tokio::test]
async fn a_workspace_that_is_made_for_an_inspection_goes_again() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    let arguments = ["start", "-config-file", "cts.hcl", "-inspect"];
    let inspected = stage
        .site
        .run("cts", &arguments, "inspect.log")
        .wait()
        .await;
    assert_eq!(inspected.code, Some(0), "{}", inspected.output);
    assert!(
        inspected.output.contains("1 to add"),
        "{}",
        inspected.output
    );
    assert!(
        inspected.output.contains("To see this run: https://"),
        "{}",
        inspected.output
    );
    assert!(
        stage.server.workspaces().is_empty(),
        "{:?}",
        stage.server.workspaces()
    );
}
