//! A module that fails is tried three times, on a server once, and concerns no other task.

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Driver, Instance, Site, task};
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn all_attempts_make_one_event_and_other_tasks_go_on(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    site.write_steps("fragile");
    site.write_steps("sound");
    let tasks = task("fragile", "./modules/fragile", &["web"], "")
        + &task("sound", "./modules/sound", &["api"], "");
    site.configure(&consul.address(), Backend::Local, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("fragile", 1).await;
    cts.api.wait_for_events("sound", 1).await;

    consul
        .register_service("web", "web-1", 1, &[], &["broken"])
        .await;
    site.wait_for_step("fragile", "begin", "web-1").await;
    consul.register_service("api", "api-1", 1, &[], &[]).await;
    site.wait_for_step("sound", "end", "api-1").await;

    let events = cts.api.wait_for_events("fragile", 2).await;
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["success"], false);
    let message = events[0]["error"]["message"].as_str().unwrap();
    assert_eq!(
        message.matches("broken for <web-1>").count(),
        driver.attempts(),
        "every attempt's own words:\n{message}"
    );
    let begun = |lines: &[String]| {
        lines
            .iter()
            .filter(|line| line.starts_with("begin"))
            .count()
    };
    // The first is the successful one.
    assert_eq!(begun(&site.journal("fragile")), 1 + driver.attempts());
    assert_eq!(cts.api.task_status("fragile").await["status"], "errored");
    cts.api.wait_for_events("sound", 2).await;
    assert_eq!(cts.api.task_status("sound").await["status"], "successful");

    consul
        .register_service("web", "web-1", 1, &[], &["mended"])
        .await;
    let events = cts.api.wait_for_events("fragile", 3).await;
    assert_eq!(events[0]["success"], true);
    assert_eq!(cts.api.task_status("fragile").await["status"], "successful");
    assert_eq!(begun(&site.journal("fragile")), 2 + driver.attempts());
    cts.stop().await;
}
