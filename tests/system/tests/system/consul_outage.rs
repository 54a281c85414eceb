//! Consul goes away and comes back with other contents.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Driver, Instance, RECORDER, Site, met, task};
use rstest::rstest;
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Two views wait twice as long after each failure: of so many tries each view has made more than one.
const TRIES: usize = 8;

#[rstest]
#[tokio::test]
async fn data_of_a_restarted_consul_is_applied_without_help(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let mut consul = ConsulAgent::start().await;
    let site = Site::with_driver_anywhere(driver).await;
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web", "api"], "");
    site.configure(&consul.address(), Backend::Local, &pool);
    // Many changes, so that the index of the new Consul is far lower than that of the old one.
    for port in 1..=20 {
        consul
            .register_service("web", "web-1", port, &[], &[])
            .await;
    }
    consul.register_service("api", "api-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    site.wait_for_ids("pool", &["api-1", "web-1"]).await;

    consul.kill().await;
    // Its port counts the tries now, and answers none.
    let port = TcpListener::bind(consul.address()).await.unwrap();
    for _ in 0..TRIES {
        drop(timeout(DEADLINE, port.accept()).await.unwrap().unwrap());
    }
    // A refused connection is another failure, after which the next try is stored again: some seconds ahead.
    drop(port);
    let mut shown = BTreeSet::new();
    eventually(DEADLINE, async || {
        cts.api.get("/v1/health").await;
        cts.api.get("/v1/status").await;
        let answer = cts.api.get("/v1/tasks/pool/explain").await;
        let views = answer["explanation"]["views"].as_array().cloned();
        let views = views.ok_or_else(|| format!("no views in {answer}"))?;
        for view in views {
            if view["problem"]["next_try"].is_string() {
                shown.insert(view["name"].to_string());
            }
        }
        met(
            shown.len() == 2,
            format!("the next try is shown of {shown:?} only: {answer}"),
        )
    })
    .await;
    let overview = cts.api.get("/v1/overview").await;
    let problems = overview["problems"].as_array().unwrap();
    let text = problems[0]["text"].as_str().unwrap();
    let all = "2 of 2 views of Consul cannot be read, so 1 task does not see changes: ";
    assert!(text.starts_with(all) && problems.len() == 1, "{overview}");
    let unreachable = format!("Consul at {} is unreachable: ", consul.address());
    let missed = cts.output().matches(&unreachable).count();
    assert_eq!(missed, 1, "once for both views, not for each try");
    consul.restart().await;
    consul.register_service("web", "web-7", 7, &[], &[]).await;
    consul.register_service("web", "web-8", 8, &[], &[]).await;
    site.wait_for_ids("pool", &["web-7", "web-8"]).await;
    cts.api.get("/v1/health").await;
    assert_eq!(cts.api.task_status("pool").await["status"], "successful");

    // The watcher goes on from there.
    consul.deregister("web-7").await;
    site.wait_for_ids("pool", &["web-8"]).await;
    cts.stop().await;
}

#[tokio::test]
async fn a_consul_that_stands_still_is_a_problem_within_a_minute_and_no_outage() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    site.wait_for_ids("pool", &["web-1"]).await;
    cts.api.wait_for_events("pool", 1).await;

    consul.pause();
    let begin = format!("Consul at {} stands still: it ", consul.address());
    let overview = eventually(Duration::from_mins(1), async || {
        let overview = cts.api.get("/v1/overview").await;
        let text = overview["problems"][0]["text"].as_str().unwrap_or_default();
        let is_shown = text.starts_with(&begin);
        is_shown.then_some(overview.clone()).ok_or(overview)
    })
    .await;
    assert_eq!(overview["problems"].as_array().unwrap().len(), 1);
    assert_eq!(overview["tasks"]["successful"], 1, "{overview}");
    assert_eq!(overview["data"]["unreadable"], 0, "{overview}");
    let output = cts.output();
    assert_eq!(output.matches(&begin).count(), 1, "{output}");
    let unreachable = format!("Consul at {} is unreachable", consul.address());
    assert!(!output.contains(&unreachable), "{output}");

    consul.resume();
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_ids("pool", &["web-1", "web-2"]).await;
    eventually(DEADLINE, async || {
        let overview = cts.api.get("/v1/overview").await;
        let problems = overview["problems"].as_array().unwrap();
        met(problems.is_empty(), overview)
    })
    .await;
    cts.until_logged("no longer stands still").await;
    cts.stop().await;
}
