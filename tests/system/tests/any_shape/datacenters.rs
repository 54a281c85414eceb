//! Tasks over several datacenters, of which one is unknown or does not answer.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Instance, RECORDER, Site, met};
use serde_json::{Value, json};

/// A task over `web` in a datacenter; without a name, in that of the agent.
fn task(name: &str, datacenter: &str) -> String {
    format!(
        "task {{\n  name = \"{name}\"\n  module = \"./modules/pool\"\n  condition \"services\" {{\n    \
         names = [\"web\"]\n    datacenter = \"{datacenter}\"\n  }}\n}}\n"
    )
}

/// Two joined datacenters. The agent of the first datacenter translates addresses of the second datacenter. There, an
/// instance has a WAN address of its own, and a further instance lies on a node with a WAN address.
async fn datacenters() -> (ConsulAgent, ConsulAgent) {
    let near = ConsulAgent::start_with(json!({"translate_wan_addrs": true})).await;
    let far = ConsulAgent::start_with(json!({"datacenter": "dc2"})).await;
    near.join_datacenter(&far).await;
    eventually(DEADLINE, async || {
        let known = near.get("/v1/catalog/datacenters").await;
        let is_joined = known.as_array().is_some_and(|known| known.len() == 2);
        met(is_joined, known)
    })
    .await;
    near.register_service("web", "web-1", 1, &[], &[]).await;
    // The agent adds `wan_ipv4` with the address in the network where it is missing, and Consul prefers it.
    let wan = json!({"Address": "198.51.100.2", "Port": 8002});
    let wan = json!({"wan": wan, "wan_ipv4": wan});
    let own = json!({
        "Name": "web", "ID": "web-2", "Address": "10.2.0.2", "Port": 2, "TaggedAddresses": wan,
    });
    far.register(own).await;
    let of_node = json!({
        "Node": "edge", "Address": "10.2.0.3",
        "TaggedAddresses": {"lan": "10.2.0.3", "wan": "198.51.100.3"},
        "Service": {"ID": "web-3", "Service": "web", "Port": 3},
    });
    far.put("/v1/catalog/register", of_node.to_string()).await;
    (near, far)
}

/// Asserts that the instances have the addresses that Consul translates.
fn assert_translated(services: &Value) {
    let own = &services["web-2.cts-test.dc2"];
    assert_eq!(own["address"], "198.51.100.2", "{services}");
    assert_eq!(own["port"], 8002, "{services}");
    let of_node = &services["web-3.edge.dc2"];
    for key in ["address", "node_address"] {
        assert_eq!(of_node[key], "198.51.100.3", "{services}");
    }
    assert_eq!(of_node["port"], 3, "{services}");
    let addresses = &of_node["node_tagged_addresses"];
    assert_eq!(addresses["lan"], "10.2.0.3", "{services}");
    assert_eq!(addresses["wan"], "198.51.100.3", "{services}");
}

#[tokio::test]
async fn an_unknown_and_a_silent_datacenter_hold_up_no_task_of_another() {
    let (near, far) = datacenters().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let tasks = [task("near", ""), task("far", "dc2"), task("gone", "dc3")];
    site.configure(&near.address(), Backend::Shared, &tasks.concat());
    let cts = Instance::start(&site).await;
    site.wait_for_ids("near", &["web-1"]).await;
    let services = site.wait_for_ids("far", &["web-2", "web-3"]).await;
    assert_translated(&services);
    for name in ["near", "far"] {
        cts.api.wait_for_events(name, 1).await;
    }
    eventually(DEADLINE, async || {
        let explained = cts.api.get("/v1/tasks/gone/explain").await.to_string();
        let is_named = explained.contains("No path to datacenter");
        met(is_named, explained)
    })
    .await;

    far.pause();
    near.register_service("web", "web-4", 4, &[], &[]).await;
    site.wait_for_ids("near", &["web-1", "web-4"]).await;
    site.wait_for_ids("far", &["web-2", "web-3"]).await;
    assert_eq!(cts.api.task_status("far").await["status"], "successful");
    far.resume();
    far.register_service("web", "web-5", 5, &[], &[]).await;
    site.wait_for_ids("far", &["web-2", "web-3", "web-5"]).await;
    cts.api.wait_for_events("far", 2).await;
    let never = cts.api.events("gone").await;
    assert!(never.is_empty(), "{never:?}");
    cts.stop().await;
}
