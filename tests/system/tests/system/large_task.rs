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
async fn it_does_what_others_do(
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

    let applied = answer(&cts.api, "/v1/status/tasks/pool?include=events", |status| {
        let event = &status["pool"]["events"][0];
        (!event.is_null()).then(|| event["success"] == true)
    });
    assert!(applied.await, "{}", cts.output());
    let named = answer(&cts.api, "/v1/tasks", |all| {
        Some(all["tasks"][0]["name"] == "pool")
    });
    assert!(named.await);
    let whole = answer(&cts.api, "/v1/tasks/pool", |shown| {
        let text = shown["task"]["variables"]["large"].as_str();
        Some(text.is_some_and(|text| text.len() >= LARGE))
    });
    assert!(whole.await);
    cts.stop().await;
}

/// What an answer of the API shows. A program that is not optimised may be too busy with the task for an answer in time
/// (503); there need not be a task yet (404).
async fn answer<T>(api: &Api, path: &str, shows: impl Fn(&Value) -> Option<T>) -> T {
    eventually(DEADLINE, async || match api.ask(path).await {
        Ok((200, body)) => shows(&body).ok_or_else(|| format!("{path} does not show it yet")),
        Ok((status @ (404 | 503), body)) => Err(format!("{path}: {status} {body}")),
        Ok((status, body)) => panic!("GET {path}: {status} {body}"),
        Err(error) => panic!("GET {path}: {error}"),
    })
    .await
}
