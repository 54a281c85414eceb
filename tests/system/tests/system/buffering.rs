//! Changes that come close together make one run.

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Driver, Instance, RECORDER, Site, task};
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn five_quick_changes_make_one_run(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver_anywhere(driver).await;
    site.write("modules/pool/main.tf", RECORDER);
    let buffered = r#"buffer_period { min = "2s", max = "8s" }"#;
    let pool = task("pool", "./modules/pool", &["web"], buffered);
    site.configure(&consul.address(), Backend::Local, &pool);
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("pool", 1).await;

    for number in 1..=5 {
        let id = format!("web-{number}");
        consul.register_service("web", &id, number, &[], &[]).await;
    }
    let all = ["web-1", "web-2", "web-3", "web-4", "web-5"];
    site.wait_for_ids("pool", &all).await;
    let events = cts.api.wait_for_events("pool", 2).await;
    assert_eq!(events.len(), 2, "{events:?}");
    cts.stop().await;
}
