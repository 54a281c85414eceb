//! A module's own variables get their values from files.

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Driver, Instance, Site};
use rstest::rstest;
use serde_json::json;

const MODULE: &str = r#"
variable "services" {
  type = any
}

variable "pool" {
  type = object({
    name  = string
    ports = list(number)
  })
}

variable "note" {
  type = string
}

resource "terraform_data" "recorded" {
  input = merge(var.services, { settings = { id = "settings", pool = var.pool, note = var.note } })
}
"#;

const CONFIGURATION: &str = r#"
task {
  name           = "pool"
  module         = "./modules/pool"
  variable_files = ["first.tfvars", "second.tfvars"]
  condition "services" { names = ["web"] }
}
"#;

#[rstest]
#[tokio::test]
async fn later_files_win_and_values_keep_their_shape(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver_anywhere(driver).await;
    site.write("modules/pool/main.tf", MODULE);
    let first = "note = \"overruled\"\npool = {\n  name  = \"edge\"\n  ports = [80, 443]\n}\n";
    site.write("first.tfvars", first);
    site.write("second.tfvars", "note = \"a \\\"b\\\" $${c} %%{d}\"\n");
    site.configure(&consul.address(), Backend::Local, CONFIGURATION);
    let cts = Instance::start(&site).await;
    let recorded = site.wait_for_ids("pool", &["settings"]).await;
    let settings = &recorded["settings"];
    assert_eq!(settings["note"], "a \"b\" ${c} %{d}");
    assert_eq!(
        settings["pool"],
        json!({"name": "edge", "ports": [80, 443]})
    );
    let shown = cts.api.get("/v1/tasks/pool").await;
    let variables = shown["task"]["variables"].as_object().unwrap();
    assert_eq!(variables.len(), 2, "{variables:?}");
    cts.stop().await;
}
