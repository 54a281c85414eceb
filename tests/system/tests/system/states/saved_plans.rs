//! A task that says `plan = "saved"` (docs/runs.md#saved-plans).

use cts_testkit::ConsulAgent;
use cts_tests::{Instance, LOCAL_BACKEND, Site, task};
use serde_json::Value;

const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "kept" {
  input = keys(var.services)
}
"#;

#[tokio::test]
async fn each_change_is_planned_and_applied_by_that_plan() {
    let consul = ConsulAgent::start().await;
    consul
        .register_service("web", "web-1", 8001, &[], &[])
        .await;
    let site = Site::new();
    site.write("modules/lb/main.tf", MODULE);
    let tasks = task("edge", "./modules/lb", &["web"], "plan = \"saved\"");
    site.configure_driver(&consul.address(), LOCAL_BACKEND, &tasks);
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("edge", 1).await;
    consul
        .register_service("web", "web-2", 8002, &[], &[])
        .await;
    let events = cts.api.wait_for_events("edge", 2).await;
    assert!(events.iter().all(|event| event["success"] == true));

    let runs = cts.api.get("/v1/runs?task=edge").await;
    let newest = runs["runs"][0]["id"].as_str().unwrap();
    let run = cts.api.get(&format!("/v1/runs/{newest}")).await;
    let details = &run["run"]["details"];
    assert_eq!(details["resources"]["changed"], 1, "{run}");
    for phase in ["plan", "apply"] {
        assert_ne!(details["phases_ms"][phase], Value::Null, "{phase}: {run}");
    }

    let plan = cts.api.get(&format!("/v1/runs/{newest}/plan")).await;
    assert_eq!(plan["plan"]["counts"]["updated"], 1, "{plan}");
    let changes = plan["plan"]["changes"].as_array().unwrap();
    assert_eq!(
        changes[0]["address"], "module.edge.terraform_data.kept",
        "{plan}"
    );
    assert_eq!(changes[0]["effect"].as_str().unwrap().len(), 32, "{plan}");
    let first = runs["runs"][1]["id"].as_str().unwrap();
    let first = cts.api.get(&format!("/v1/runs/{first}/plan")).await;
    assert_eq!(first["plan"]["counts"]["created"], 1, "{first}");
    assert_ne!(first["plan"]["effect"], plan["plan"]["effect"]);
    cts.stop().await;
    assert!(!site.path().join("sync-tasks/edge/saved.tfplan").exists());
}
