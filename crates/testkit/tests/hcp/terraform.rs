//! Runs with the real Terraform.

use std::time::Duration;

use cts_testkit::hcp::{Flavour, HcpSettings, Phase};
use cts_testkit::{eventually, terraform_path};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::client::{DEADLINE, Session};

const MODULE: &str = r#"
variable "word" {
  type = string
}

variable "numbers" {
  type    = list(number)
  default = []
}

resource "terraform_data" "kept" {
  input = "${var.word} ${length(var.numbers)}"
}
"#;

/// Prints `started`, and ends by itself after a minute only.
const TAKES_LONG: &str = r#"
resource "terraform_data" "quick" {
}

resource "terraform_data" "slow" {
  depends_on = [terraform_data.quick]
  provisioner "local-exec" {
    command = "echo started $$; exec sleep 60"
  }
}
"#;

async fn session(module: &str, attributes: Value) -> Session {
    let settings = HcpSettings {
        terraform: Some(terraform_path()),
        json_plans: true,
        force_cancel_after: Duration::ZERO,
        ..HcpSettings::default()
    };
    let mut session = Session::with_workspace(settings, attributes).await;
    session.upload(&[("main.tf", module)]);
    session
}

/// Sets a variable of the workspace that is a text.
fn set(session: &Session, key: &str, value: &str) {
    let attributes = json!({"value": value});
    session.server.set_variable("web", key, attributes);
}

fn kept(session: &Session) -> Value {
    let state = session.server.state("web").unwrap();
    state["resources"][0]["instances"][0]["attributes"]["input"]["value"].clone()
}

#[tokio::test]
async fn a_configuration_is_applied_with_the_variables_of_its_workspace() {
    let attributes = json!({"auto-apply": true, "structured-run-output-enabled": false});
    let mut session = session(MODULE, attributes).await;
    set(&session, "word", "it's ${x}");
    let numbers = json!({"value": "[1, 2]", "hcl": true});
    session.server.set_variable("web", "numbers", numbers);
    session.table("POST /runs run {} -> 201 as run").await;
    let id = session.reached(Phase::Applied).await;
    assert_eq!(kept(&session), "it's ${x} 2");
    let planned = session.server.plan_log(&id);
    let text = "Plan: 1 to add, 0 to change, 0 to destroy.";
    assert!(planned.contains(text), "{planned}");
    let applied = session.server.apply_log(&id);
    let text = "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.";
    assert!(applied.contains(text), "{applied}");
    let rows = r#"
GET /runs/{run}/plan -> 200 attributes {"status": "finished", "resource-additions": 1, "resource-destructions": 0} as plan
GET /runs/{run}/apply -> 200 attributes {"status": "finished", "resource-additions": 1, "resource-destructions": 0}
GET /plans/{plan}/json-output -> 307
GET /workspaces/{ws}/current-state-version -> 200 {"data": {"relationships": {"run": {"data": {"id": "{run}"}}}}}
GET /workspaces/{ws} -> 200 attributes {"resource-count": 1}
POST /runs run {} -> 201 as run"#;
    session.table(rows).await;
    session.reached(Phase::PlannedAndFinished).await;
    session
        .table(r#"POST /runs run {"is-destroy": true} -> 201"#)
        .await;
    session.reached(Phase::Applied).await;
    let state = session.server.state("web").unwrap();
    assert_eq!(state["resources"], json!([]));
}

#[tokio::test]
async fn variables_of_a_run_win_and_a_run_that_plans_leaves_no_state() {
    let mut session = session(MODULE, json!({})).await;
    set(&session, "word", "workspace");
    let planned = r#"
POST /runs run {"plan-only": true, "variables": [{"key": "word", "value": "\"run\""}]} -> 201 as run"#;
    session.table(planned).await;
    let id = session.reached(Phase::PlannedAndFinished).await;
    assert_eq!(session.server.state("web"), None);
    let log = session.server.plan_log(&id);
    let lines = log.lines().map(serde_json::from_str::<Value>);
    let mut summaries = lines
        .flatten()
        .filter(|line| line["type"] == "change_summary");
    assert_eq!(summaries.next().unwrap()["changes"]["add"], 1);
    let rows = r#"
GET /runs/{run} -> 200 attributes {"has-changes": true}
POST /runs run {"auto-apply": true, "variables": [{"key": "word", "value": "\"run\""}]} -> 201"#;
    session.table(rows).await;
    session.reached(Phase::Applied).await;
    assert_eq!(kept(&session), "run 0");
}

#[tokio::test]
async fn files_win_over_variables_of_the_open_server() {
    let settings = HcpSettings {
        terraform: Some(terraform_path()),
        flavour: Flavour::Otf,
        ..HcpSettings::default()
    };
    let mut session = Session::with_workspace(settings, json!({"auto-apply": true})).await;
    session.upload(&[("main.tf", MODULE), ("a.auto.tfvars", "word = \"file\"\n")]);
    set(&session, "word", "workspace");
    session.table("POST /runs run {} -> 201").await;
    session.reached(Phase::Applied).await;
    assert_eq!(kept(&session), "file 0");
}

#[tokio::test]
async fn a_failed_init_is_in_the_log_of_the_plan() {
    let mut session = session("resource \"none_such\" \"x\" {\n", json!({})).await;
    session.table("POST /runs run {} -> 201").await;
    let id = session.reached(Phase::Errored).await;
    let log = session.server.plan_log(&id);
    assert!(log.contains("Error"), "{log}");
}

#[tokio::test]
async fn cancel_ends_terraform_gently_and_keeps_the_state() {
    let attributes = json!({"auto-apply": true, "structured-run-output-enabled": false});
    let mut session = session(TAKES_LONG, attributes).await;
    session.table("POST /runs run {} -> 201 as run").await;
    let process = provisioner(&session).await;
    session
        .table("POST /runs/{run}/actions/cancel -> 202")
        .await;
    let id = session.reached(Phase::Canceled).await;
    gone(process).await;
    let log = session.server.apply_log(&id);
    assert!(log.contains("Interrupt received"), "{log}");
    let state = session.server.state("web").unwrap();
    assert_eq!(state["resources"].as_array().unwrap().len(), 2);
    session
        .table(r#"GET /runs/{run}/apply -> 200 attributes {"status": "canceled"}"#)
        .await;
}

#[tokio::test]
async fn a_terraform_that_does_not_listen_is_killed_by_force() {
    let mut session = session(TAKES_LONG, json!({"auto-apply": true})).await;
    session.table("POST /runs run {} -> 201 as run").await;
    let process = provisioner(&session).await;
    let terraform = Pid::from_raw(parent(process));
    kill(terraform, Signal::SIGSTOP).unwrap();
    let rows = r#"
POST /runs/{run}/actions/cancel -> 202
GET /runs/{run} -> 200 attributes {"status": "applying", "actions": {"is-cancelable": false, "is-force-cancelable": true}}
POST /runs/{run}/actions/force-cancel -> 202"#;
    session.table(rows).await;
    session.reached(Phase::ForceCanceled).await;
    gone(process).await;
}

#[tokio::test]
async fn a_dropped_server_leaves_no_process() {
    let mut session = session(TAKES_LONG, json!({"auto-apply": true})).await;
    session.table("POST /runs run {} -> 201 as run").await;
    let process = provisioner(&session).await;
    drop(session);
    gone(process).await;
}

/// Waits for the provisioner of the run and returns its process.
async fn provisioner(session: &Session) -> i32 {
    eventually(DEADLINE, async || {
        let log = session.server.apply_log(&session.kept["run"]);
        let ids = log.split("started ").skip(1).filter_map(|rest| {
            let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
            digits.and_then(|digits| digits.parse().ok())
        });
        ids.last().ok_or(log)
    })
    .await
}

/// Fields of `/proc/<id>/stat` after the name of the program: state, parent and more.
fn stat(process: i32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split_whitespace().map(str::to_owned).collect()
}

fn parent(process: i32) -> i32 {
    stat(process)[1].parse().unwrap()
}

async fn gone(process: i32) {
    eventually(DEADLINE, async || match stat(process).first() {
        None => Ok(()),
        Some(state) if state == "Z" => Ok(()),
        Some(state) => Err(state.clone()),
    })
    .await;
}
