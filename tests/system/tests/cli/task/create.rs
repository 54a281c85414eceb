//! `task create` (docs/cli.md#cts-task).

use cts_testkit::ScriptedAnswer::{self, Json};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::{Call, CommandOutput};
use super::{Conversation, REQUEST_ID, ok, refused};

const TASK: &str = r#"
task {
  name      = "web"
  module    = "acme/lb/cts"
  providers = ["local"]
  condition "services" {
    names = ["api"]
  }
  variable_files = ["web.tfvars"]
}
"#;

const VARIABLES: &str = "replicas = 3\nregion = \"eu-west\"\n";

const INSPECT: &str = "POST /v1/tasks?run=inspect";
const CREATE: &str = "POST /v1/tasks?run=now";

fn create_with(options: &[&str]) -> Call {
    Call::original(&[&["task", "create"], options].concat())
        .file("web.hcl", TASK)
        .file("web.tfvars", VARIABLES)
}

fn create() -> Call {
    create_with(&["-task-file=web.hcl"])
}

fn plan() -> ScriptedAnswer {
    ok(json!({
        "request_id": REQUEST_ID,
        "run": {"changes_present": true, "plan": "  # x will be created\n\nPlan: 1 to add.\n"},
        "task": {"name": "web"},
    }))
}

fn created() -> ScriptedAnswer {
    let task = json!({"name": "web", "module": "acme/lb/cts", "enabled": true, "condition": {}});
    Json(201, json!({"request_id": REQUEST_ID, "task": task}))
}

/// Runs `call` and demands that these requests come, all with the same task.
async fn run(server: &Conversation, call: Call, lines: &[&str]) -> CommandOutput {
    let said = server.call(call).run().await;
    let requests = server.server.requests();
    let came: Vec<&str> = requests
        .iter()
        .map(|request| request.line.as_str())
        .collect();
    assert_eq!(came, lines, "{said}");
    assert_eq!(server.server.answers_left(), 0, "{said}");
    for request in &requests {
        assert_eq!(request.header("content-type"), Some("application/json"));
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let expected = json!({"task": {
            "name": "web",
            "module": "acme/lb/cts",
            "providers": ["local"],
            "condition": {"services": {"names": ["api"]}},
            "variables": {"region": "\"eu-west\"", "replicas": "3"},
        }});
        assert_eq!(body, expected);
    }
    server.without_port(said)
}

#[tokio::test]
async fn approved() {
    let server = Conversation::with([plan(), created()]).await;
    assert_snapshot!(run(&server, create().input("yes\n"), &[INSPECT, CREATE]).await);
}

#[tokio::test]
async fn approved_beforehand() {
    let server = Conversation::with([plan(), created()]).await;
    let call = create_with(&["-auto-approve", "-task-file", "web.hcl", "ignored", "too"]);
    let said = run(&server, call, &[INSPECT, CREATE]).await;
    assert_eq!(said.code, Some(0), "{said}");
    assert!(!said.stdout.contains("Enter a value"), "{said}");
}

#[tokio::test]
async fn declined() {
    let server = Conversation::with([plan()]).await;
    assert_snapshot!(run(&server, create().input("no\n"), &[INSPECT]).await);
}

#[tokio::test]
async fn without_changes_it_is_asked_all_the_same() {
    let answer = ok(json!({
        "request_id": REQUEST_ID,
        "run": {"changes_present": false, "plan": "No changes.", "tfc_run_url": "https://tfc/run-1"},
        "task": {"name": "web"},
    }));
    let server = Conversation::with([answer]).await;
    let said = run(&server, create().input("\n"), &[INSPECT]).await;
    assert!(said.stdout.contains("https://tfc/run-1"), "{said}");
    assert!(
        said.stdout.ends_with("Cancelled creating task 'web'\n"),
        "{said}"
    );
}

#[tokio::test]
async fn failing_to_run() {
    let answer = refused(500, "exit status 1\n\nError: no route\n");
    let server = Conversation::with([plan(), answer]).await;
    let said = run(&server, create().input("yes\n"), &[INSPECT, CREATE]).await;
    assert_snapshot!(said);
}

#[tokio::test]
async fn an_answer_without_plan_is_an_error() {
    let server = Conversation::with([ok(json!({"request_id": REQUEST_ID}))]).await;
    let said = run(&server, create(), &[INSPECT]).await;
    assert_eq!(said.code, Some(11), "{said}");
    assert!(said.stdout.contains("missing field `run`"), "{said}");
}

/// The error for a file that cannot be used; no request is sent.
async fn refused_file(text: &str) -> CommandOutput {
    let server = Conversation::with([]).await;
    let call = Call::original(&["task", "create", "-task-file=task.hcl"]).file("task.hcl", text);
    let said = server.run(call, &[]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said
}

#[tokio::test]
async fn a_file_with_problems() {
    assert_snapshot!(refused_file("task {\n  name = \"web\"\n  modul = \"m\"\n}\n").await);
}
