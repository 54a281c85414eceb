//! Consul's address and token can come from the `CONSUL_*` environment.

use cts_testkit::ConsulAgent;
use cts_tests::{Instance, Site, task};
use serde_json::json;

const TOKEN: &str = "6a0f9dd2-2f4b-4f0b-9a1c-6f3c1f1d2b77";

#[tokio::test]
async fn an_address_from_the_environment_serves_cts_and_the_state() {
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
    site.write_steps("pool");
    let text = "log_level = \"DEBUG\"\nworking_dir = \"work\"\nbuffer_period { enabled = false }\n";
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.write("cts.hcl", &format!("{text}{pool}"));
    site.set_environment("CONSUL_HTTP_ADDR", consul.address());
    // Without access control Consul takes any token.
    site.set_environment("CONSUL_HTTP_TOKEN", TOKEN);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;

    site.wait_for_step("pool", "end", "web-1").await;
    cts.api.wait_for_events("pool", 1).await;
    let keys = consul.get("/v1/kv/consul-terraform-sync?keys").await;
    assert_eq!(keys, json!(["consul-terraform-sync/terraform-env:pool"]));
    let root = std::fs::read_to_string(site.work().join("pool/main.tf")).unwrap();
    assert!(root.contains(&consul.address()), "{root}");
    assert!(!root.contains(TOKEN), "{root}");
    assert!(!cts.output().contains(TOKEN), "in the log");
    cts.stop().await;
}
