//! Checks and inspections on a server: they change nothing that an apply, or a run of a person, would use.

use cts_testkit::eventually;
use cts_testkit::hcp::{HcpRequest, Phase};
use cts_tests::{DEADLINE, Instance, Process, task};
use reqwest::Method;
use serde_json::{Value, json};

use super::stage::{Stage, WORKSPACE, newest_run};

/// The tag of a workspace that an inspection has made.
const INSPECTION: &str = "cts:inspection";

/// Keeps its services, and the length of a key, in its state.
const WITH_KEY: &str = r#"
variable "services" {
  type = any
}

variable "consul_kv" {
  type = any
}

resource "terraform_data" "recorded" {
  input = merge(var.services, { key = { id = "key", length = length(jsonencode(var.consul_kv)) } })
}
"#;

async fn applied(stage: &Stage) -> Instance {
    stage.register("web-1").await;
    let cts = stage.start().await;
    cts.api.wait_for_events("edge", 1).await;
    cts
}

async fn disable(cts: &Instance) {
    let body = Some(json!({ "enabled": false }));
    let (status, answer) = cts.api.send(Method::PATCH, "/v1/tasks/edge", body).await;
    assert_eq!(status, 200, "{answer}");
}

/// Shows what enabling the task would change.
async fn inspect(cts: &Instance) -> (u16, Value) {
    let body = Some(json!({ "enabled": true }));
    cts.api
        .send(Method::PATCH, "/v1/tasks/edge?run=inspect", body)
        .await
}

/// Changes that were requested, without those of runs.
fn writes(stage: &Stage) -> Vec<HcpRequest> {
    let requests = stage.server.requests().into_iter();
    let writes = requests.filter(|request| {
        request.method != "GET" && !(request.path.starts_with("/runs") && request.method == "POST")
    });
    writes.collect()
}

/// A person queues a run, which finds everything as the last apply has left it.
async fn a_person_finds_no_changes(stage: &Stage) {
    let run = stage.server.queue_run(WORKSPACE, "by hand");
    eventually(DEADLINE, async || {
        let runs = stage.runs();
        let by_hand = runs.iter().find(|known| known.id == run);
        match by_hand.map(|run| run.phase) {
            Some(Phase::PlannedAndFinished) => Ok(()),
            other => Err(format!("{other:?}: {}", stage.server.plan_log(&run))),
        }
    })
    .await;
}

/// A task whose key is too long for a variable.
async fn with_long_key() -> Stage {
    let stage = Stage::new().await;
    stage.site.write("modules/edge/main.tf", WITH_KEY);
    let input = "module_input \"consul-kv\" {\n  path = \"big\"\n}";
    let edge = task("edge", "./modules/edge", &["web"], input);
    stage.configure_tasks("", &edge);
    stage.consul.kv_put("big", "x".repeat(270_000)).await;
    stage
}

fn start_inspection(stage: &Stage, log: &str) -> Process {
    let arguments = ["start", "-config-file", "cts.hcl", "-inspect"];
    stage.site.run("cts", &arguments, log)
}

fn tags(stage: &Stage) -> Value {
    stage.server.workspace(WORKSPACE)["attributes"]["tag-names"].clone()
}

#[tokio::test]
async fn a_check_without_data_leaves_the_workspace_of_an_applied_task_alone() {
    let stage = Stage::new().await;
    let cts = applied(&stage).await;
    disable(&cts).await;
    cts.stop().await;
    let variables = stage.server.variables(WORKSPACE);
    stage.server.forget_requests();

    let cts = stage.start().await;
    newest_run(&cts, |run| {
        run["kind"] == "check" && run["status"] == "succeeded"
    })
    .await;
    assert_eq!(writes(&stage).len(), 0, "{:?}", writes(&stage));
    assert_eq!(stage.server.variables(WORKSPACE), variables);
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    a_person_finds_no_changes(&stage).await;
    cts.stop().await;
}

#[tokio::test]
async fn a_check_of_a_task_without_a_workspace_makes_none() {
    let stage = Stage::new().await;
    let edge = task("edge", "./modules/edge", &["web"], "enabled = false");
    stage.configure_tasks("", &edge);
    stage.register("web-1").await;
    let cts = stage.start().await;
    newest_run(&cts, |run| {
        run["kind"] == "check" && run["status"] == "succeeded"
    })
    .await;
    assert_eq!(writes(&stage).len(), 0, "{:?}", writes(&stage));
    assert!(stage.server.workspaces().is_empty());
    cts.stop().await;
}

#[tokio::test]
async fn an_inspection_whose_worker_dies_leaves_nothing_that_a_run_of_a_person_would_use() {
    let stage = Stage::new().await;
    let cts = applied(&stage).await;
    disable(&cts).await;
    stage.register("web-2").await;
    let variables = stage.server.variables(WORKSPACE);
    stage.server.forget_requests();
    stage.server.hold(Phase::Planning);
    tokio::select! {
        answered = inspect(&cts) => panic!("{answered:?}"),
        _planning = stage.reached(Phase::Planning) => {}
    }
    cts.kill().await;
    let planned = stage.runs().remove(1);
    assert!(planned.plan_only, "{planned:?}");
    let services = planned.variables.iter().find(|(key, _)| key == "services");
    assert!(
        services.is_some_and(|(_, value)| value.contains("web-2")),
        "{planned:?}"
    );
    stage.server.release(Phase::Planning);
    assert_eq!(writes(&stage).len(), 0, "{:?}", writes(&stage));
    assert_eq!(stage.server.variables(WORKSPACE), variables);
    a_person_finds_no_changes(&stage).await;
}

#[tokio::test]
async fn a_long_input_of_an_inspection_travels_in_a_configuration_that_only_plans_can_use() {
    let stage = with_long_key().await;
    let cts = applied(&stage).await;
    disable(&cts).await;
    stage.consul.kv_put("big", "x".repeat(280_000)).await;
    let shown = eventually(DEADLINE, async || {
        let (status, answer) = inspect(&cts).await;
        let plan = answer["inspect"]["plan"].as_str().unwrap_or_default();
        // The key may be read a little later.
        if status == 200 && plan.contains("1 to change") {
            Ok(answer)
        } else {
            Err(format!("{status}: {answer}"))
        }
    })
    .await;
    assert_eq!(shown["inspect"]["changes_present"], true, "{shown}");
    let planned = stage.runs().pop().unwrap();
    assert!(
        stage.server.is_speculative(&planned.configuration),
        "{planned:?}"
    );
    let files = stage.server.configuration_files(&planned.configuration);
    assert!(files["inputs.auto.tfvars"].len() > 280_000);
    a_person_finds_no_changes(&stage).await;
    cts.stop().await;
}

#[tokio::test]
async fn an_inspection_on_a_server_that_ignores_its_values_shows_no_plan() {
    let stage = Stage::new().await;
    let cts = applied(&stage).await;
    disable(&cts).await;
    stage.register("web-2").await;
    stage.server.ignore_run_variables();
    stage.server.hold(Phase::Planning);
    let (status, answer) = inspect(&cts).await;
    let text = answer.to_string();
    assert!(status >= 400, "{status}: {answer}");
    assert!(
        text.contains("the server ignores the values that travel with a run"),
        "{text}"
    );
    let planned = stage.runs().pop().unwrap();
    assert_eq!((planned.plan_only, planned.phase), (true, Phase::Canceled));
    stage.server.release(Phase::Planning);
    a_person_finds_no_changes(&stage).await;
    cts.stop().await;
}

#[tokio::test]
async fn a_plan_says_which_secrets_are_those_of_the_last_apply() {
    const SECRET: &str = "variable \"services\" {\n  type = any\n}\n\nvariable \"password\" {\n  type      = string\n  \
                          sensitive = true\n}\n\nresource \"terraform_data\" \"recorded\" {\n  input = var.services\n}\n";
    let stage = Stage::new().await;
    stage.site.write("modules/edge/main.tf", SECRET);
    stage.site.write("edge.tfvars", "password = \"first\"\n");
    let files = "variable_files = [\"edge.tfvars\"]";
    stage.configure_tasks("", &task("edge", "./modules/edge", &["web"], files));
    let cts = applied(&stage).await;
    cts.stop().await;
    let variables = stage.server.variables(WORKSPACE);
    for (password, is_said) in [("first", false), ("second", true)] {
        stage
            .site
            .write("edge.tfvars", &format!("password = \"{password}\"\n"));
        let inspected = start_inspection(&stage, "inspect.log").wait().await;
        assert_eq!(inspected.code, Some(0), "{}", inspected.output);
        let note = "the secret values of the last apply, and the next apply has others: password";
        assert_eq!(
            inspected.output.contains(note),
            is_said,
            "{}",
            inspected.output
        );
        std::fs::remove_file(stage.site.path().join("inspect.log")).unwrap();
    }
    assert_eq!(stage.server.variables(WORKSPACE), variables);
}

#[tokio::test]
async fn a_workspace_of_an_inspection_that_was_killed_goes_with_the_next_one() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.hold(Phase::Planning);
    let first = start_inspection(&stage, "first.log");
    stage.reached(Phase::Planning).await;
    first.kill().await;
    assert!(
        tags(&stage).to_string().contains(INSPECTION),
        "{}",
        tags(&stage)
    );
    assert!(stage.server.variables(WORKSPACE).is_empty());
    stage.server.release(Phase::Planning);
    let second = start_inspection(&stage, "second.log").wait().await;
    assert_eq!(second.code, Some(0), "{}", second.output);
    assert!(
        stage.server.workspaces().is_empty(),
        "{:?}",
        stage.server.workspaces()
    );
}

#[tokio::test]
async fn a_workspace_of_an_inspection_that_was_killed_stays_once_an_apply_uses_it() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.hold(Phase::Planning);
    let first = start_inspection(&stage, "first.log");
    stage.reached(Phase::Planning).await;
    first.kill().await;
    stage.server.release(Phase::Planning);
    let cts = stage.start().await;
    stage.recorded(&["web-1"]).await;
    cts.api.wait_for_events("edge", 1).await;
    assert_eq!(tags(&stage), json!(["source:cts"]));
    cts.stop().await;
}
