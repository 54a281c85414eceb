//! The quick start of the original, from the first inspection to the end of the daemon, with what its users see.

use std::time::Duration;

use cts_testkit::{ConsulAgent, eventually, free_port};
use cts_tests::{DEADLINE, Exit, Site, met};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::site::{NAME, Server, run, site, start};
use crate::cli::task::call::{Call, CommandOutput};

/// Longer than the buffer period and a run.
const QUIET: Duration = Duration::from_secs(4);

fn configuration(consul: &ConsulAgent, port: u16) -> String {
    format!(
        r#"
log_level   = "INFO"
port        = {port}
working_dir = "sync-tasks"

syslog {{}}

buffer_period {{
  enabled = true
  min     = "1s"
  max     = "2s"
}}

consul {{
  address = "{}"
}}

driver "terraform" {{
  log         = false
  persist_log = false

  backend "consul" {{
    gzip = true
  }}
}}

task {{
  name        = "cts-example"
  description = "Example task with two services"
  module      = "./module"
  providers   = []
  condition "services" {{
    names = ["web", "api"]
  }}
}}
"#,
        consul.address()
    )
}

const STATE: &str = "consul-terraform-sync/terraform-env:cts-example";

struct Walk {
    site: Site,
    consul: ConsulAgent,
    port: u16,
}

impl Walk {
    async fn begin() -> Self {
        let consul = ConsulAgent::start().await;
        consul
            .register_service("api", "api-1", 9001, &[], &[])
            .await;
        consul
            .register_service("web", "web-1", 8001, &[], &[])
            .await;
        let port = free_port();
        let site = site(&configuration(&consul, port));
        Self { site, consul, port }
    }

    async fn without_a_daemon(&self) {
        let version = self
            .site
            .run(NAME, &["-version"], "version.log")
            .wait()
            .await;
        version.assert_code(0).says([
            "consul-terraform-sync v",
            "Compatible with Terraform >= 0.13.0, <= 1.14.3",
        ]);
        let exit = start(&self.site, &["-inspect"]).await;
        assert_said(
            &exit,
            &[
                "[INFO]  ctrl: inspecting task: task_name=cts-example",
                "# module.cts-example.terraform_data.recorded will be created",
                "Plan: 1 to add, 0 to change, 0 to destroy.",
                "[INFO]  ctrl: all tasks inspected",
            ],
        );
        let exit = start(&self.site, &["-once"]).await;
        assert_said(
            &exit,
            &[
                "[INFO]  ctrl: task completed: task_name=cts-example",
                "[INFO]  ctrl: all tasks completed once",
            ],
        );
        assert!(self.consul.kv_get(STATE).await.is_some());
        self.assert_files();
    }

    /// The files of the task, with what the tutorials show of them.
    fn assert_files(&self) {
        let directory = self.site.path().join("sync-tasks/cts-example");
        let text = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
        for (name, part) in [
            ("main.tf", "module \"cts-example\" {"),
            ("main.tf", "services = var.services"),
            ("main.tf", "backend \"consul\" {"),
            ("variables.tf", "variable \"services\" {"),
            ("terraform.tfvars", "services = {"),
            ("terraform.tfvars", "\"api-1.cts-test.dc1\""),
            ("terraform.tfvars", "cts_user_defined_meta = {}"),
        ] {
            let text = text(name);
            assert!(text.contains(part), "{name} lacks {part:?}:\n{text}");
        }
    }

    async fn daemon(self) -> Server {
        let process = run(&self.site, &[]);
        process.until_logged("ctrl: start task monitoring").await;
        process
            .until_logged("Consul-Terraform-Sync registered as a service with Consul")
            .await;
        Server {
            process,
            site: self.site,
            consul: self.consul,
            port: self.port,
        }
    }
}

fn assert_said(exit: &Exit, parts: &[&str]) {
    exit.assert_code(0).says(parts);
    let last = exit.output.lines().last().unwrap_or_default();
    assert!(last.ends_with("[INFO]  cli: graceful shutdown"), "{last}");
}

async fn events(server: &Server, task: &str) -> Vec<Value> {
    let (_, mut body) = server
        .ask(&format!("/v1/status/tasks/{task}?include=events"))
        .await;
    match body[task]["events"].take() {
        Value::Array(events) => events,
        _ => Vec::new(),
    }
}

async fn until_events(server: &Server, task: &str, more_than: usize) -> Vec<Value> {
    eventually(DEADLINE, async || {
        let events = events(server, task).await;
        if events.len() > more_than {
            Ok(events)
        } else {
            Err(events.len())
        }
    })
    .await
}

async fn status_of_the_daemon(server: &Server) {
    assert_eq!(server.ask("/v1/health").await, (200, json!({})));
    let summary = json!({"task_summary": {
        "status": {"successful": 1, "errored": 0, "critical": 0, "unknown": 0},
        "enabled": {"true": 1, "false": 0},
    }});
    assert_eq!(server.ask("/v1/status").await, (200, summary));
    let (_, mut body) = server
        .ask("/v1/status/tasks/cts-example?include=events")
        .await;
    let events = body["cts-example"]["events"].take();
    let event = &events[0];
    assert_eq!(event["success"], true, "{events}");
    assert_eq!(event["error"], Value::Null);
    assert_eq!(event["task_name"], "cts-example");
    for member in ["id", "start_time", "end_time"] {
        assert!(event[member].is_string(), "{member}: {event}");
    }
    for member in ["providers", "services", "source"] {
        assert!(!event["config"][member].is_null(), "{member}: {event}");
    }
    let status = json!({"cts-example": {
        "task_name": "cts-example", "status": "successful", "enabled": true, "events": null,
        "events_url": "/v1/status/tasks/cts-example?include=events", "providers": [], "services": [],
    }});
    assert_eq!(body, status);
    let (_, task) = server.ask("/v1/tasks/cts-example").await;
    assert!(task["request_id"].is_string(), "{task}");
    let task = &task["task"];
    assert_eq!(task["module"], "./module");
    assert_eq!(task["description"], "Example task with two services");
    assert_eq!(
        task["condition"]["services"]["names"],
        json!(["web", "api"])
    );
    let (_, list) = server.ask("/v1/tasks").await;
    assert_eq!(list["tasks"].as_array().unwrap().len(), 1);
}

async fn task_command(server: &Server, words: &[&str], input: &str) -> CommandOutput {
    Call::original(&[&["task"], words].concat())
        .file("taskExample.hcl", &server.task_file("web"))
        .variable("CTS_ADDRESS", server.address())
        .input(input)
        .run()
        .await
}

async fn a_change_is_applied(server: &Server) {
    let before = events(server, "cts-example").await.len();
    server
        .consul
        .register_service("web", "web-2", 8002, &[], &[])
        .await;
    let events = until_events(server, "cts-example", before).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    let tfvars = server
        .site
        .path()
        .join("sync-tasks/cts-example/terraform.tfvars");
    let text = std::fs::read_to_string(tfvars).unwrap();
    assert!(text.contains("\"web-2.cts-test.dc1\""), "{text}");
}

async fn the_task_is_disabled_and_enabled(server: &Server) {
    let said = task_command(server, &["disable", "cts-example"], "").await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stdout_has([
        "==> Waiting to disable 'cts-example'...",
        "==> 'cts-example' disable complete!",
    ]);
    assert_eq!(
        server.ask("/v1/status").await.1["task_summary"]["enabled"]["false"],
        1
    );
    let before = events(server, "cts-example").await.len();
    server.consul.deregister("web-2").await;
    sleep(QUIET).await;
    assert_eq!(
        events(server, "cts-example").await.len(),
        before,
        "it is disabled"
    );

    let said = task_command(server, &["enable", "cts-example"], "yes\n").await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stdout_has([
        "# module.cts-example.terraform_data.recorded will be updated in-place",
        "Plan: 0 to add, 1 to change, 0 to destroy.",
        "==> Enabling the task will perform the actions described above.",
        "    Do you want to perform these actions for 'cts-example'?",
        "Enter a value: ",
        "==> 'cts-example' enable complete!",
    ]);
    until_events(server, "cts-example", before).await;
    let said = task_command(server, &["enable", "cts-example"], "").await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stdout_has(["No changes.", "==> 'cts-example' enable complete!"]);
}

async fn a_task_is_created_and_deleted(server: &Server) {
    let create = ["create", "-task-file=taskExample.hcl"];
    let said = task_command(server, &create, "yes\n").await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stdout_has([
        "Request Payload:",
        "Plan: 1 to add, 0 to change, 0 to destroy.",
        "==> Creating the task will perform the actions described above.",
        "==> Task 'web' created",
        "Request ID: '",
    ]);
    let said = task_command(server, &create, "yes\n").await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["Error: unable to generate plan for 'web'"]);
    said.stdout_has(["task with name web already exists"]);

    let said = task_command(server, &["delete", "web"], "yes\n").await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stdout_has([
        "==> Do you want to delete 'web'?",
        "==> Marking task 'web' for deletion...",
        "==> Task 'web' has been marked for deletion and will be deleted when not running.",
    ]);
    until_gone(server, "web").await;
    let said = task_command(server, &["delete", "-auto-approve", "web"], "").await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stdout_has([
        "404 Not Found",
        "does not exist or has not been initialized yet",
    ]);
}

async fn until_gone(server: &Server, task: &str) {
    eventually(DEADLINE, async || {
        let (status, body) = server.ask(&format!("/v1/tasks/{task}")).await;
        met(status == 404, body)
    })
    .await;
}

async fn the_same_over_the_api(server: &Server) {
    let send = |method, path: &'static str, body| server.send(method, path, body);
    let condition = json!({"services": {"names": ["web"], "use_as_module_input": true}});
    let task =
        json!({"name": "edge", "module": "./module", "condition": condition, "enabled": true});
    let body = json!({"task": task});
    let (status, answer) = send(Method::POST, "/v1/tasks?run=inspect", Some(body.clone())).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["run"]["changes_present"], true);
    assert!(
        answer["run"]["plan"]
            .as_str()
            .unwrap()
            .contains("Plan: 1 to add"),
        "{answer}"
    );
    let (status, answer) = send(Method::POST, "/v1/tasks?run=now", Some(body.clone())).await;
    assert_eq!(status, 201, "{answer}");
    assert_eq!(answer["task"]["name"], "edge");
    let (status, answer) = send(Method::POST, "/v1/tasks", Some(body)).await;
    assert_eq!(status, 400);
    assert_eq!(
        answer["error"]["message"],
        "task with name edge already exists"
    );

    let (off, on) = (json!({"enabled": false}), json!({"enabled": true}));
    assert_eq!(
        send(Method::PATCH, "/v1/tasks/edge", Some(off)).await,
        (200, json!({}))
    );
    let (status, answer) = send(
        Method::PATCH,
        "/v1/tasks/edge?run=inspect",
        Some(on.clone()),
    )
    .await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["inspect"]["changes_present"], false);
    assert_eq!(
        send(Method::PATCH, "/v1/tasks/edge?run=now", Some(on)).await,
        (200, json!({}))
    );

    let (status, answer) = send(Method::DELETE, "/v1/tasks/edge", None).await;
    assert_eq!(status, 202, "{answer}");
    assert!(answer["request_id"].is_string(), "{answer}");
    until_gone(server, "edge").await;
}

#[tokio::test]
async fn the_quick_start_from_the_beginning_to_the_end() {
    let walk = Walk::begin().await;
    walk.without_a_daemon().await;
    let server = walk.daemon().await;
    status_of_the_daemon(&server).await;
    a_change_is_applied(&server).await;
    the_task_is_disabled_and_enabled(&server).await;
    a_task_is_created_and_deleted(&server).await;
    the_same_over_the_api(&server).await;
    let exit = server.end().await;
    assert_said(
        &exit,
        &[
            "[INFO]  cli: signal received to initiate graceful shutdown: signal=terminated",
            "[INFO]  registration: Consul-Terraform-Sync deregistered from Consul: ",
        ],
    );
}
