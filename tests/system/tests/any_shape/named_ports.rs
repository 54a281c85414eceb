//! Services with several named ports, which Consul has since 1.22 (docs/runs.md#instances).

use cts_testkit::{ConsulAgent, NewerConsul, eventually};
use cts_tests::{Backend, DEADLINE, Driver, Instance, RECORDER, Site, recorded_services, task};
use rstest::rstest;
use serde_json::{Value, json};

/// The services of a module that gets the ports of each instance.
pub(crate) const SERVICES_WITH_PORTS: &str = r#"
variable "services" {
  type = map(object({
    id    = string
    port  = number
    ports = list(object({ name = string, port = number, default = bool }))
  }))
}
"#;

const RECORDED: &str = r#"
resource "terraform_data" "recorded" {
  input = var.services
}
"#;

/// Registers an instance of `web` with these ports.
pub(crate) async fn register(consul: &ConsulAgent, id: &str, ports: &Value) {
    let meta = [("ports", ports.to_string())];
    let meta = meta.each_ref().map(|(name, text)| (*name, text.as_str()));
    consul.register_service("web", id, 0, &meta, &[]).await;
}

#[rstest]
#[tokio::test]
async fn a_module_gets_the_default_port_and_all_ports_that_it_declares(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let agent = ConsulAgent::start().await;
    let consul = NewerConsul::start(agent.address(), "1.22.0").await;
    let port = |name: &str, port: u16, default: bool| json!({"Name": name, "Port": port, "Default": default});
    let ports = json!([port("http", 80, true), port("admin", 81, false)]);
    register(&agent, "web-1", &ports).await;
    agent.register_service("web", "web-2", 90, &[], &[]).await;
    let site = Site::with_driver_anywhere(driver).await;
    site.write(
        "modules/all/main.tf",
        &[SERVICES_WITH_PORTS, RECORDED].concat(),
    );
    site.write("modules/plain/main.tf", RECORDER);
    let tasks = ["all", "plain"].map(|name| task(name, &format!("./modules/{name}"), &["web"], ""));
    site.configure(&consul.address(), Backend::Local, &tasks.concat());
    let cts = Instance::start(&site).await;

    let written = |name: &str, port: u16, default: bool| json!({"name": name, "port": port, "default": default});
    let wait_for_ports = async |expected: &Value| {
        eventually(DEADLINE, async || {
            let services = recorded_services(&site.state("all").await?)?;
            let ports = &services["web-1.cts-test.dc1"]["ports"];
            if ports == expected {
                Ok(services)
            } else {
                Err(services.to_string())
            }
        })
        .await
    };
    let both = json!([written("admin", 81, false), written("http", 80, true)]);
    let services = wait_for_ports(&both).await;
    assert_eq!(services["web-1.cts-test.dc1"]["port"], 80);
    assert_eq!(
        services["web-2.cts-test.dc1"],
        json!({"id": "web-2", "port": 90, "ports": []})
    );
    let plain = site.wait_for_ids("plain", &["web-1", "web-2"]).await;
    assert_eq!(plain["web-1.cts-test.dc1"]["port"], 80);
    assert_eq!(plain["web-1.cts-test.dc1"].get("ports"), None);
    cts.api.wait_for_events("plain", 1).await;

    // The change of a port that the second module does not see is a change all the same.
    let ports = json!([port("http", 80, true), port("admin", 82, false)]);
    register(&agent, "web-1", &ports).await;
    wait_for_ports(&json!([
        written("admin", 82, false),
        written("http", 80, true)
    ]))
    .await;
    cts.api.wait_for_events("plain", 2).await;

    let ports = json!([port("http", 80, false), port("admin", 82, false)]);
    register(&agent, "web-1", &ports).await;
    wait_for_ports(&json!([
        written("admin", 82, false),
        written("http", 80, false)
    ]))
    .await;
    cts.api.wait_for_events("plain", 3).await;
    let plain = recorded_services(&site.state("plain").await.unwrap()).unwrap();
    assert_eq!(plain["web-1.cts-test.dc1"]["port"], 82, "the first by name");
    cts.until_logged("named ports of which none is the default")
        .await;
    cts.stop().await;
}
