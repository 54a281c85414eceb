//! A module with `configuration_aliases` and named ports: on a server, destroyed, and with a state that moves.

use cts_testkit::{ConsulAgent, NewerConsul, eventually};
use cts_tests::{Backend, DEADLINE, Driver, Instance, Site, recorded_services};
use serde_json::{Value, json};

use super::named_ports::{self, SERVICES_WITH_PORTS};
use super::providers::provider_environment::REQUIRED;
use crate::system::destructions::until_gone;
use crate::system::remote::stage::{Stage, WORKSPACE};

/// Records its services through one instance of a provider, and the names of all ports through the other instance.
const RESOURCES: &str = r#"
terraform {
  required_providers {
    terraform = {
      source                = "terraform.io/builtin/terraform"
      configuration_aliases = [terraform.north, terraform.south]
    }
  }
}

resource "terraform_data" "recorded" {
  provider = terraform.north
  input    = var.services
}

resource "terraform_data" "ports" {
  provider = terraform.south
  input    = flatten([for service in values(var.services) : service.ports[*].name])
}
"#;

/// The text of a module with two instances of a provider and the ports of its services.
pub(crate) fn module() -> String {
    [SERVICES_WITH_PORTS, RESOURCES].concat()
}

/// The task, and the instances of the provider.
pub(crate) const TASK: &str = r#"
terraform_provider "terraform" { alias = "north" }
terraform_provider "terraform" { alias = "south" }

task {
  name      = "edge"
  module    = "./modules/edge"
  providers = ["terraform.north", "terraform.south"]
  on_delete = "destroy"
  condition "services" { names = ["web"] }
}
"#;

/// Registers an instance with the ports 80, which is the default, and 81.
pub(crate) async fn register(consul: &ConsulAgent, id: &str) {
    let ports = json!([
        {"Name": "http", "Port": 80, "Default": true},
        {"Name": "admin", "Port": 81, "Default": false},
    ]);
    named_ports::register(consul, id, &ports).await;
}

/// Panics unless the state has the ports of this instance.
pub(crate) fn assert_ports(state: &[u8], id: &str) {
    let services = recorded_services(state).unwrap();
    let service = &services[format!("{id}.cts-test.dc1")];
    assert_eq!(service["port"], 80, "{services}");
    let ports = json!([
        {"name": "admin", "port": 81, "default": false},
        {"name": "http", "port": 80, "default": true},
    ]);
    assert_eq!(service["ports"], ports, "{services}");
}

#[rstest::rstest]
#[tokio::test]
async fn a_task_is_applied_and_its_deletion_destroys_what_it_made(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let agent = ConsulAgent::start().await;
    let consul = NewerConsul::start(agent.address(), "1.22.0").await;
    register(&agent, "web-1").await;
    let site = Site::with_driver_anywhere(driver).await;
    site.write("modules/edge/main.tf", &module());
    site.configure(&consul.address(), Backend::Shared, TASK);
    let text = std::fs::read_to_string(site.path().join("cts.hcl")).unwrap();
    let label = match driver {
        Driver::Terraform => "driver \"terraform\" {",
        Driver::TerraformCloud => "driver \"terraform-cloud\" {",
    };
    assert!(text.contains(label), "{text}");
    site.write(
        "cts.hcl",
        &text.replace(label, &format!("{label}{REQUIRED}")),
    );
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    assert_ports(&site.state("edge").await.unwrap(), "web-1");

    let address = format!("-http-addr={}", cts.api.url(""));
    let words = ["task", "delete", "-auto-approve", &address, "edge"];
    let deleted = site.run("cts", &words, "delete.log").wait().await;
    deleted.assert_code(0);
    until_gone(&cts.api, "edge").await;
    let runs = cts.api.get("/v1/runs?task=edge&limit=1").await;
    let run = &runs["runs"][0];
    let seen = (run["kind"].as_str(), run["status"].as_str());
    assert_eq!(seen, (Some("destroy"), Some("succeeded")), "{run}");
    let left = site.state("edge").await.map(|state| {
        let state: Value = serde_json::from_slice(&state).unwrap();
        state["resources"].clone()
    });
    assert!(
        left.as_ref().is_ok_and(|left| *left == json!([])),
        "{left:?}"
    );
    cts.stop().await;
}

/// In one process: workers of a cluster give a driver that was in force before two minutes.
#[tokio::test]
async fn a_state_moves_into_a_workspace_and_back() {
    let stage = Stage::new().await;
    let consul = NewerConsul::start(stage.consul.address(), "1.22.0").await;
    stage.site.write("modules/edge/main.tf", &module());
    register(&stage.consul, "web-1").await;
    let local = stage.site.shared_backend() + REQUIRED;
    stage.site.configure_driver(&consul.address(), &local, TASK);
    let cts = Instance::start_embedded(&stage.site).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    cts.stop().await;
    let old: Value = serde_json::from_slice(&stage.site.state("edge").await.unwrap()).unwrap();

    let previous = stage.site.shared_backend();
    let (_allowed, previous) = previous.split_once('\n').unwrap();
    let previous = previous.trim().replace("backend ", "previous_backend ");
    let remote = stage.driver(&(previous + REQUIRED));
    stage
        .site
        .write_configuration(&consul.address(), &remote, TASK);
    let cts = Instance::start_embedded(&stage.site).await;
    register(&stage.consul, "web-2").await;
    stage.recorded(&["web-1", "web-2"]).await;
    let moved = stage.server.state(WORKSPACE).unwrap();
    assert_eq!(moved["lineage"], old["lineage"]);
    assert_ports(moved.to_string().as_bytes(), "web-2");
    cts.stop().await;

    let previous = stage.driver("").replace("driver \"", "previous_backend \"");
    let back = format!("{local}\n{previous}");
    stage.site.configure_driver(&consul.address(), &back, TASK);
    let cts = Instance::start_embedded(&stage.site).await;
    register(&stage.consul, "web-3").await;
    let ids = ["web-1", "web-2", "web-3"];
    stage.site.wait_for_ids("edge", &ids).await;
    let state = eventually(DEADLINE, async || {
        let state = stage.site.state("edge").await?;
        match serde_json::from_slice::<Value>(&state) {
            Ok(read) => Ok((state, read)),
            Err(error) => Err(error.to_string()),
        }
    });
    let (state, read) = state.await;
    assert_eq!(read["lineage"], old["lineage"]);
    assert_ports(&state, "web-3");
    cts.stop().await;
}
