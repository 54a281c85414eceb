//! A restart runs Terraform only where something has changed.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Driver, Instance, Site, task};
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn an_unchanged_task_is_not_run_again_but_an_edited_module_is(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    let first = cts.api.wait_for_events("pool", 1).await;
    cts.stop().await;
    let before = site.state("pool").await.unwrap();

    let cts = Instance::start(&site).await;
    eventually(DEADLINE, async || {
        if cts
            .output()
            .contains("task input is unchanged, no run needed")
        {
            Ok(())
        } else {
            Err("not decided yet")
        }
    })
    .await;
    assert_eq!(
        cts.api.events("pool").await,
        first,
        "events survive, none is added"
    );
    cts.stop().await;
    assert_eq!(site.state("pool").await.unwrap(), before);
    assert_eq!(site.journal("pool").len(), 2, "one begin and one end");

    let module = site.path().join("modules/pool/main.tf");
    let edited = std::fs::read_to_string(module).unwrap()
        + "resource \"terraform_data\" \"added\" { input = \"by an edit\" }\n";
    site.write("modules/pool/main.tf", &edited);
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("pool", 2).await;
    assert_eq!(events[1], first[0]);
    cts.stop().await;
    let after = String::from_utf8(site.state("pool").await.unwrap()).unwrap();
    assert!(after.contains("by an edit"), "{after}");
}
