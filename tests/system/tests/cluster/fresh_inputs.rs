//! A run that began before a view was read is followed by another run, whichever scheduler leads.

use cts_testkit::{ConsulAgent, Link, TcpProxy, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, KEY_RECORDER, Plan, RECORDER, Service, Site, task};
use serde_json::json;

/// Waits until this number of requests for the key waits at the proxy.
async fn until_held(proxy: &TcpProxy, requests: usize) {
    eventually(DEADLINE, async || match proxy.held() {
        held if held >= requests => Ok(()),
        held => Err(held),
    })
    .await;
}

#[tokio::test]
async fn a_view_that_is_read_after_the_leader_was_killed_runs_its_task_once_more() {
    let consul = ConsulAgent::start().await;
    let address = consul.address();
    let server = address.rsplit("//").next().unwrap_or_default();
    let proxy = TcpProxy::start(server.parse().unwrap()).await;
    let site = Site::new();
    site.write("modules/pool/main.tf", &format!("{RECORDER}{KEY_RECORDER}"));
    let keys = r#"module_input "consul-kv" { path = "limits" }"#;
    let pool = task("pool", "./modules/pool", &["web"], keys);
    let behind = format!("http://{}", proxy.address());
    site.configure(&behind, Backend::Shared, &pool);
    consul.kv_put("limits", "1").await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut cluster = Cluster::start(&site, Plan::of(1, 2, 1, 1)).await;
    site.wait_for_keys("pool", &json!({"limits": "1"})).await;

    // The watcher knows the second value, which triggers nothing, and its next read is held, with the third one.
    proxy.set_link(Link::Hold("GET /v1/kv/limits"));
    consul.kv_put("limits", "2").await;
    until_held(&proxy, 1).await;
    consul.kv_put("limits", "3").await;
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_ids("pool", &["web-1", "web-2"]).await;
    site.wait_for_keys("pool", &json!({"limits": "2"})).await;
    let leader = cluster.wait_for_leader().await;
    cluster.kill(Service::Scheduler, leader).await;
    let next = cluster.wait_for_leader().await;
    assert_ne!(next, leader);
    proxy.set_link(Link::Open);
    site.wait_for_keys("pool", &json!({"limits": "3"})).await;
}
