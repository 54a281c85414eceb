//! Proxies, gateways and external nodes in `terraform.tfvars`, whose text is that of the original but for its header.

use std::fs;

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, RECORDER, Site, ids_of};
use serde_json::json;

/// Every service but those of Consul itself, and of these the ones that are no proxies or gateways.
const TASKS: &str = r#"
task {
  name   = "everything"
  module = "./modules/pool"
  condition "services" {
    regexp = ""
    filter = "Service.Service != \"consul\""
  }
}

task {
  name   = "services"
  module = "./modules/pool"
  condition "services" {
    regexp = ""
    filter = "Service.Kind == \"\" and Service.Service != \"consul\""
  }
}
"#;

async fn register(consul: &ConsulAgent) {
    for (name, port, status) in [("api", 80, "critical"), ("web", 81, "passing")] {
        let check = json!({"CheckID": format!("proxy-{name}"), "TTL": "1h", "Status": status});
        let sidecar = json!({"Port": port + 21_000, "Check": check});
        let service = json!({
            "Name": name, "ID": format!("{name}-1"), "Port": port, "Tags": ["v1"],
            "Connect": {"SidecarService": sidecar},
        });
        consul.register(service).await;
    }
    let wan = json!({"wan": {"Address": "198.51.100.1", "Port": 443}});
    let gateway = json!({
        "Name": "edge", "Kind": "mesh-gateway", "Address": "10.0.0.9", "Port": 8443, "TaggedAddresses": wan,
    });
    consul.register(gateway).await;
    let native = json!({"Name": "native", "Port": 82, "Connect": {"Native": true}});
    consul.register(native).await;
    let external = json!({
        "Node": "far", "Address": "far.example", "ID": "5f0c3b1e-7d41-4a0e-9c55-2b6a1f4d8e90",
        "NodeMeta": {"external-node": "true", "external-probe": "true"},
        "Service": {"Service": "printer", "Port": 631, "Meta": {"floor": "2"}},
    });
    let external = external.to_string();
    consul.put("/v1/catalog/register", external).await;
}

#[tokio::test]
async fn proxies_and_gateways_have_their_kind_and_the_file_the_text_of_the_original() {
    let consul = ConsulAgent::start().await;
    register(&consul).await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    site.configure(&consul.address(), Backend::Shared, TASKS);
    let exit = site.run_cts(free_port(), &["-once"]).wait().await;
    exit.assert_code(0);
    let text = fs::read_to_string(site.work().join("everything/terraform.tfvars")).unwrap();
    let (_header, text) = text.split_once("\n\n").unwrap();
    let node = consul.get("/v1/catalog/node/cts-test").await;
    let id = node["Node"]["ID"].as_str().unwrap();
    insta::assert_snapshot!("mesh_services", text.replace(id, "<id of the node>"));
    let services = site.recorded("services").unwrap();
    assert_eq!(ids_of(&services), ["api-1", "native", "printer", "web-1"]);
}
