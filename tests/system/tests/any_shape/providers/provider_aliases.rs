//! Modules with `configuration_aliases` (docs/writing-modules.md#providers).

use std::fs;

use cts_testkit::{ConsulAgent, assert_contains};
use cts_tests::{Instance, LOCAL_BACKEND, Site};

use super::provider_environment::REQUIRED;

/// A task with one instance of a provider, and a task with two.
const CONFIGURATION: &str = r#"
terraform_provider "terraform" { alias = "north" }
terraform_provider "terraform" { alias = "south" }

task {
  name      = "one"
  module    = "./modules/one"
  providers = ["terraform.north"]
  condition "services" { names = ["web"] }
}

task {
  name      = "two"
  module    = "./modules/two"
  providers = ["terraform.south", "terraform.north"]
  condition "services" { names = ["web"] }
}
"#;

/// A module that must be called with these instances.
fn module(instances: &[&str]) -> String {
    let resources = instances.iter().map(|instance| {
        format!(
            "resource \"terraform_data\" \"{instance}\" {{\n  provider = terraform.{instance}\n  \
             input    = keys(var.services)\n}}\n"
        )
    });
    let resources: String = resources.collect();
    let aliases = instances
        .iter()
        .map(|instance| format!("terraform.{instance}"));
    let aliases = aliases.collect::<Vec<_>>().join(", ");
    format!(
        r#"
terraform {{
  required_providers {{
    terraform = {{
      source                = "terraform.io/builtin/terraform"
      configuration_aliases = [{aliases}]
    }}
  }}
}}

variable "services" {{
  type = any
}}

{resources}"#
    )
}

#[tokio::test]
async fn a_module_gets_the_instances_of_a_provider_under_its_aliases() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/one/main.tf", &module(&["north"]));
    site.write("modules/two/main.tf", &module(&["north", "south"]));
    let driver = LOCAL_BACKEND.to_owned() + REQUIRED;
    site.configure_driver(&consul.address(), &driver, CONFIGURATION);
    let cts = Instance::start(&site).await;
    for (task, passed) in [
        ("one", "terraform.north = terraform\n"),
        ("two", "terraform.south = terraform.south\n"),
    ] {
        let events = cts.api.wait_for_events(task, 1).await;
        assert_eq!(events[0]["success"], true, "{events:?}");
        let main = fs::read_to_string(site.work().join(task).join("main.tf")).unwrap();
        assert_contains(main, [passed]);
    }
    consul.register_service("web", "web-1", 80, &[], &[]).await;
    let events = cts.api.wait_for_events("two", 2).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    cts.stop().await;
}
