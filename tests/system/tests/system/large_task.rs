//! A task whose settings are several megabytes is applied, and shown.

use std::time::Duration;

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Api, Backend, DEADLINE, Driver, Instance, Plan, Site, task};
use rstest::rstest;
use serde_json::Value;

/// More than a message of gRPC usually holds, which are 4 MiB.
const LARGE: usize = 4608 * 1024;

const MODULE: &str = r#"
variable "services" {
  type = any
}

variable "large" {
  type = string
}

resource "terraform_data" "length" {
  input = length(var.large)

  lifecycle {
    precondition {
      condition     = length(var.large) == 4718592
      error_message = "a part is missing"
    }
  }
}
"#;

#[rstest]
#[tokio::test]
async fn large_task_is_applied_and_shown(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::with_driver_anywhere(driver).await;
    site.write("modules/pool/main.tf", MODULE);
    let large = "x".repeat(LARGE);
    site.write("large.tfvars", &format!("large = \"{large}\"\n"));
    let pool = task(
        "pool",
        "./modules/pool",
        &["web"],
        "variable_files = [\"./large.tfvars\"]",
    );
    site.configure(&consul.address(), Backend::Local, &pool);
    // A program that is not optimised needs seconds for so much text: the usual times, and not the short ones of tests.
    let patient = Plan {
        session_ttl: Duration::from_secs(15),
        lease_ttl: Duration::from_secs(30),
        ..Plan::default()
    };
    let cts = Instance::start_with(&site, patient).await;

    let events = cts.api.wait_for_events("pool", 1).await;
    assert_eq!(events[0]["success"], true, "{}", cts.output());
    let all = answer(&cts.api, "/v1/tasks").await;
    assert_eq!(all["tasks"][0]["name"], "pool");
    let shown = answer(&cts.api, "/v1/tasks/pool").await;
    let shown = shown["task"]["variables"]["large"].as_str();
    assert!(shown.is_some_and(|shown| shown.len() >= LARGE));
    cts.stop().await;
}

/// An answer of the API. A program that is not optimised may be too busy with the task for one in time (503).
async fn answer(api: &Api, path: &str) -> Value {
    eventually(DEADLINE, async || match api.ask(path).await {
        Ok((200, body)) => Ok(body),
        Ok((503, body)) => Err(format!("{path}: {body}")),
        Ok((status, body)) => panic!("GET {path}: {status} {body}"),
        Err(error) => panic!("GET {path}: {error}"),
    })
    .await
}
