//! A Consul that refuses the key of Terraform's state (docs/terraform.md#state).

use cts_testkit::{ConsulAgent, NewerConsul, assert_contains};
use cts_tests::{Backend, Instance, RECORDER, Site, task};

#[tokio::test]
async fn the_first_error_names_the_version_and_the_remedy() {
    let agent = ConsulAgent::start().await;
    agent.register_service("web", "web-1", 80, &[], &[]).await;
    let consul = NewerConsul::start(agent.address(), "1.21.5").await;
    let site = Site::new();
    site.write("modules/edge/main.tf", RECORDER);
    let task = task("edge", "./modules/edge", &["web"], "");
    site.configure(&consul.address(), Backend::Consul, &task);
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    let error = events[0]["error"]["message"].as_str().unwrap();
    let parts = [
        "invalid key name",
        "Consul 1.21.5 refuses the keys of Terraform's states",
        "update Consul",
        "`backend` in the driver block",
    ];
    assert_contains(error, parts);
    cts.stop().await;
}
