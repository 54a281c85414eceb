//! A change in Consul becomes an applied run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Driver, Instance, RECORDER, Site, met, task};
use rstest::rstest;
use serde_json::{Value, json};

const STATE_KEY: &str = "consul-terraform-sync/terraform-env:edge";

fn edge_task() -> String {
    r#"
    task {
      name        = "edge"
      description = "keep the edge in step"
      module      = "./modules/edge"
      condition "services" {
        names  = ["web", "api"]
        filter = "\"canary\" not in Service.Tags"
      }
    }
    "#
    .to_owned()
}

/// Two services with an instance each that must arrive, one that fails, and one that is filtered out.
async fn populated_consul() -> ConsulAgent {
    let consul = ConsulAgent::start().await;
    consul
        .register_service("web", "web-1", 8001, &[], &["blue"])
        .await;
    consul
        .register_service("api", "api-1", 9001, &[], &[])
        .await;
    consul
        .register_service("api", "api-canary", 9002, &[], &["canary"])
        .await;
    let check = json!({"CheckID": "alive", "TTL": "1h", "Status": "critical"});
    consul
        .register(json!({"Name": "web", "ID": "web-2", "Port": 8002, "Check": check}))
        .await;
    consul
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

/// Nobody but cts and its group can read the files of a task.
fn assert_modes(directory: &Path) {
    assert_eq!(mode(directory), 0o750);
    for file in [
        "main.tf",
        "variables.tf",
        "terraform.tfvars",
        "providers.auto.tfvars",
    ] {
        assert_eq!(mode(&directory.join(file)), 0o640, "{file}");
    }
}

#[tokio::test]
async fn every_change_is_applied_once_with_the_state_in_consul() {
    let consul = populated_consul().await;
    let site = Site::new();
    site.write_steps("edge");
    // As people paste it. The Consul client of Terraform would take the slash for a part of the port.
    let pasted = format!("http://{}/", consul.address());
    site.configure(&pasted, Backend::Consul, &edge_task());
    let cts = Instance::start(&site).await;

    site.wait_for_step("edge", "end", "api-1,web-1").await;
    cts.api.wait_for_events("edge", 1).await;
    consul.set_check("alive", "pass").await;
    site.wait_for_step("edge", "end", "api-1,web-1,web-2").await;
    cts.api.wait_for_events("edge", 2).await;
    consul.deregister("api-1").await;
    site.wait_for_step("edge", "end", "web-1,web-2").await;
    cts.api.wait_for_events("edge", 3).await;
    consul.set_check("alive", "fail").await;
    site.wait_for_step("edge", "end", "web-1").await;
    cts.api.wait_for_events("edge", 4).await;
    consul.deregister("web-1").await;
    site.wait_for_step("edge", "end", "").await;

    let events = cts.api.wait_for_events("edge", 5).await;
    assert!(events.iter().all(|event| event["success"] == true));
    let journal = site.journal("edge");
    assert_eq!(journal.len(), 10, "one step for each change: {journal:?}");

    let keys = consul.get("/v1/kv/consul-terraform-sync?keys").await;
    assert_eq!(keys, json!([STATE_KEY]), "no lock may be left");
    let state = consul.kv_get(STATE_KEY).await.unwrap();
    assert_eq!(state[..2], [0x1f, 0x8b], "compressed by default");
    cts.stop().await;
}

/// Waits until the instances of a task have these statuses.
async fn wait_for_statuses(site: &Site, task: &str, expected: &[(&str, &str)]) {
    eventually(DEADLINE, async || {
        let services = site.recorded(task)?;
        let all = services.as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let found = all.map(|(_key, service)| (text(&service["id"]), text(&service["status"])));
        let mut found: Vec<_> = found.collect();
        found.sort();
        let is_so = found.iter().map(|(id, status)| (&**id, &**status));
        let is_so = is_so.eq(expected.iter().copied());
        met(is_so, format!("{found:?}"))
    })
    .await;
}

#[tokio::test]
async fn an_instance_leaves_the_pool_in_maintenance_and_comes_back() {
    let consul = ConsulAgent::start().await;
    for id in ["web-1", "web-2"] {
        consul.register_service("web", id, 1, &[], &[]).await;
    }
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let buffered = "buffer_period {\n    min = \"1s\"\n    max = \"4s\"\n  }";
    let pool = task("pool", "./modules/pool", &["web"], buffered);
    let all = "task {\n  name = \"all\"\n  module = \"./modules/pool\"\n  condition \"services\" {\n    \
               names  = [\"web\"]\n    filter = \"Checks.Status != \\\"\\\"\"\n  }\n}\n";
    site.configure(&consul.address(), Backend::Shared, &(pool + all));
    let cts = Instance::start(&site).await;
    site.wait_for_ids("pool", &["web-1", "web-2"]).await;
    let of_instance = async |enable: bool| {
        let path = format!("/v1/agent/service/maintenance/web-1?enable={enable}");
        consul.put(&path, "").await;
    };
    let of_node = async |enable: bool| {
        let path = format!("/v1/agent/maintenance?enable={enable}");
        consul.put(&path, "").await;
    };
    let (up, down) = ("passing", "maintenance");

    of_instance(true).await;
    wait_for_statuses(&site, "all", &[("web-1", down), ("web-2", up)]).await;
    site.wait_for_ids("pool", &["web-2"]).await;
    // Three changes within the buffer period.
    for enable in [false, true, false] {
        of_instance(enable).await;
    }
    wait_for_statuses(&site, "all", &[("web-1", up), ("web-2", up)]).await;
    site.wait_for_ids("pool", &["web-1", "web-2"]).await;
    of_node(true).await;
    wait_for_statuses(&site, "all", &[("web-1", down), ("web-2", down)]).await;
    site.wait_for_ids("pool", &[]).await;
    of_node(false).await;
    wait_for_statuses(&site, "all", &[("web-1", up), ("web-2", up)]).await;
    site.wait_for_ids("pool", &["web-1", "web-2"]).await;
    cts.stop().await;
}

#[rstest]
#[tokio::test]
async fn all_attributes_arrive(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = populated_consul().await;
    let site = Site::with_driver_anywhere(driver).await;
    site.write("modules/edge/main.tf", RECORDER);
    site.configure(&consul.address(), Backend::Local, &edge_task());
    let cts = Instance::start(&site).await;

    let services = site.wait_for_ids("edge", &["api-1", "web-1"]).await;
    let node = &consul.get("/v1/catalog/node/cts-test").await["Node"];
    let expected = json!({
        "id": "web-1", "name": "web", "kind": "", "address": "127.0.0.1", "port": 8001,
        "meta": {}, "tags": ["blue"], "namespace": "", "status": "passing",
        "node": "cts-test", "node_id": node["ID"], "node_address": "127.0.0.1",
        "node_datacenter": "dc1", "node_tagged_addresses": node["TaggedAddresses"],
        "node_meta": node["Meta"], "cts_user_defined_meta": {},
    });
    assert_eq!(services["web-1.cts-test.dc1"], expected);

    cts.api.wait_for_events("edge", 1).await;
    consul.deregister("web-1").await;
    consul.deregister("api-1").await;
    site.wait_for_ids("edge", &[]).await;

    if driver == Driver::Terraform {
        assert_modes(&site.work().join("edge"));
    }
    cts.stop().await;
}

#[rstest]
#[tokio::test]
async fn the_api_tells_what_happened(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = populated_consul().await;
    let site = Site::with_driver_anywhere(driver).await;
    site.write("modules/edge/main.tf", RECORDER);
    let absent = task("absent", "./modules/edge", &["nobody"], "enabled = false");
    let tasks = edge_task() + &absent;
    site.configure(&consul.address(), Backend::Local, &tasks);
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("edge", 1).await;

    assert_eq!(cts.api.get("/v1/health").await, json!({}));
    let overall = json!({"task_summary": {
        "status": {"successful": 1, "errored": 0, "critical": 0, "unknown": 1},
        "enabled": {"true": 1, "false": 1},
    }});
    assert_eq!(cts.api.get("/v1/status").await, overall);

    let mut status = cts.api.task_status("edge").await;
    let events = status["events"].take();
    let expected = json!({
        "task_name": "edge", "status": "successful", "enabled": true, "events": null,
        "events_url": "/v1/status/tasks/edge?include=events", "providers": [], "services": [],
    });
    assert_eq!(status, expected);
    let event = &events[0];
    assert_eq!(event["success"], true);
    assert_eq!(event["error"], Value::Null);
    assert_eq!(event["task_name"], "edge");
    let source = site.path().join("modules/edge");
    assert_eq!(event["config"]["source"], source.to_str().unwrap());

    let answer = cts.api.get("/v1/tasks/edge").await;
    let shown = &answer["task"];
    assert_eq!(shown["module"], "./modules/edge");
    assert_eq!(shown["description"], "keep the edge in step");
    let condition = &shown["condition"]["services"];
    assert_eq!(condition["names"], json!(["web", "api"]));
    assert_eq!(condition["filter"], r#""canary" not in Service.Tags"#);
    let (missing, _) = cts.api.ask("/v1/tasks/nobody").await.unwrap();
    assert_eq!(missing, 404);
    cts.stop().await;
}
