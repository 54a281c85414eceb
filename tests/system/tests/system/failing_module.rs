//! A module that fails is tried three times, on a server once, and concerns no other task.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Driver, Instance, Site, met, task};
use rstest::rstest;
use serde_json::Value;

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

/// A secret of the configuration.
const TOKEN: &str = "b6aa2e57-9a1e-4bd5-8a0c-7e0f3c0d9f42";

/// Errors whose summaries are general: of a condition, of a command and of a provider. With each its one line.
const REASONS: [(&str, &str, &str); 3] = [
    (
        "condition",
        "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    precondition {\n      condition     = \
         length(var.services) > 9\n      error_message = \"The firewall refuses port 4430 to b6aa2e57-9a1e-4bd5-8a0c-7e0f3c0d9f42. \
         Its owners know why.\"\n    }\n  }\n}\n",
        "Resource precondition failed (PLACE): The firewall refuses port 4430 to (hidden)",
    ),
    (
        "command",
        "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"echo 'The firewall refuses port \
         4431 to b6aa2e57-9a1e-4bd5-8a0c-7e0f3c0d9f42.' >&2; exit 3\"\n  }\n}\n",
        "local-exec provisioner error (PLACE): The firewall refuses port 4431 to (hidden)",
    ),
    (
        "provider",
        "data \"terraform_remote_state\" \"a\" {\n  backend = \"local\"\n  config  = { path = \"./missing\" }\n}\n",
        "Unable to find remote state (PLACE): No stored state was found for the given workspace in the given backend",
    ),
];

#[rstest]
#[tokio::test]
async fn the_reason_of_a_failure_has_the_words_of_its_author(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let mut site = Site::with_driver(driver).await;
    site.set_environment("CONSUL_HTTP_TOKEN", TOKEN);
    let mut tasks = String::new();
    for (name, module, _) in REASONS {
        let module = format!("variable \"services\" {{\n  type = any\n}}\n\n{module}");
        site.write(&format!("modules/{name}/main.tf"), &module);
        tasks += &task(name, &format!("./modules/{name}"), &["web"], "");
    }
    site.configure(&consul.address(), Backend::Local, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    for (name, _, line) in REASONS {
        // Between two attempts the state has other words.
        let events = cts.api.wait_for_events(name, 1).await;
        let (before, after) = line.split_once("PLACE").unwrap();
        eventually(DEADLINE, async || {
            let states = cts.api.get("/v1/overview/tasks").await;
            let mut states = states["tasks"].as_array().unwrap().iter();
            let state = states.find(|task| task["name"] == name).cloned();
            let state = state.unwrap_or_default();
            let text = state["state"]["text"].as_str().unwrap_or_default();
            let has_reason = text.contains(before) && text.contains(after);
            met(has_reason, state)
        })
        .await;
        let explained = cts.api.get(&format!("/v1/tasks/{name}/explain")).await;
        let text = explained["explanation"]["state"]["text"].as_str();
        assert!(text.unwrap().contains(after), "{explained}");
        eventually(DEADLINE, async || {
            let overview: Value = cts.api.get("/v1/overview").await;
            let has_reason = overview["problems"].to_string().contains(after);
            met(has_reason, overview)
        })
        .await;
        cts.until_logged(after).await;
        let message = events[0]["error"]["message"].as_str().unwrap();
        assert!(
            cts_core::runs::brief_newest_error(message).contains(after),
            "{message}"
        );
    }
    assert!(!cts.output().contains(TOKEN));
    cts.stop().await;
}
