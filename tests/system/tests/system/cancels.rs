//! Runs are cancelled over the API (docs/runs.md#cancelling-a-run).

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Driver, Instance, LOCAL_BACKEND, MADE_FILE, Site, met, task};
use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

pub(super) async fn cancel(cts: &Instance, run: &str, body: Option<Value>) -> (u16, Value) {
    cts.api
        .send(Method::POST, &format!("/v1/runs/{run}/cancel"), body)
        .await
}

/// The newest run of a task, when it has this status.
async fn run_with(cts: &Instance, name: &str, status: &str) -> Value {
    let path = format!("/v1/runs?task={name}&limit=1");
    eventually(DEADLINE, async || {
        let runs = cts.api.get(&path).await;
        let run = runs["runs"][0].clone();
        if run["status"] == status {
            Ok(run)
        } else {
            Err(format!("not {status}: {run}"))
        }
    })
    .await
}

fn id(run: &Value) -> String {
    run["id"].as_str().unwrap().to_owned()
}

/// A task whose second apply waits.
async fn applying(driver: Driver) -> (ConsulAgent, Site, Instance, String) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    site.hold();
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_step("pool", "begin", "web-1,web-2").await;
    let run = id(&run_with(&cts, "pool", "running").await);
    (consul, site, cts, run)
}

#[rstest]
#[tokio::test]
async fn a_running_apply_stops_gently_and_runs_with_the_next_change(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let (consul, site, cts, run) = applying(driver).await;
    let (status, answer) = cancel(&cts, &run, None).await;
    assert_eq!(
        (status, &answer["run"]["status"]),
        (202, &json!("running")),
        "{answer}"
    );
    let events = cts.api.wait_for_events("pool", 2).await;
    assert_eq!(events[0]["success"], false, "{events:?}");
    let error = events[0]["error"]["message"].as_str().unwrap();
    assert!(error.starts_with("cancelled"), "{error}");
    let ended = run_with(&cts, "pool", "failed").await;
    assert_eq!(id(&ended), run, "no other run follows");
    site.wait_until_quiet().await;

    let (status, answer) = cancel(&cts, &run, None).await;
    assert_eq!(status, 409, "{answer}");
    // A restart does not begin the cancelled run again either.
    let cts = {
        cts.stop().await;
        Instance::start(&site).await
    };
    site.release();
    consul.register_service("web", "web-3", 3, &[], &[]).await;
    site.wait_for_step("pool", "end", "web-1,web-2,web-3").await;
    let events = cts.api.wait_for_events("pool", 3).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    let begun = site.journal("pool");
    let begun = begun
        .iter()
        .filter(|line| line.starts_with("begin") && line.ends_with(" web-1,web-2"));
    assert_eq!(begun.count(), 1);
    cts.stop().await;
}

#[tokio::test]
async fn a_cancelled_destruction_is_suspended_and_goes_on() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    let path = site.path().to_str().unwrap();
    site.write("modules/file/main.tf", &MADE_FILE.replace("@SITE@", path));
    let made = task(
        "made",
        "./modules/file",
        &["web"],
        "on_delete = \"destroy\"",
    );
    site.configure_driver(&consul.address(), LOCAL_BACKEND, &made);
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("made", 1).await;
    site.hold();
    let (status, answer) = cts.api.send(Method::DELETE, "/v1/tasks/made", None).await;
    assert_eq!(status, 202, "{answer}");
    let begun = site.path().join("begun");
    eventually(DEADLINE, async || met(begun.exists(), "not begun")).await;
    let run = id(&run_with(&cts, "made", "running").await);
    assert_eq!(cancel(&cts, &run, None).await.0, 202);
    eventually(DEADLINE, async || {
        let task = cts.api.get("/v1/tasks/made").await;
        met(
            task["task"]["destruction"] == "suspended",
            format!("{task}"),
        )
    })
    .await;
    let explained = cts.api.get("/v1/tasks/made/explain").await.to_string();
    assert!(explained.contains("destruction suspended"), "{explained}");
    site.wait_until_quiet().await;
    site.release();
    assert!(site.path().join("made").exists());
    assert_eq!(cancel(&cts, &run, None).await.0, 409);

    cts.stop().await;
    let cts = Instance::start(&site).await;
    let task = cts.api.get("/v1/tasks/made").await;
    assert_eq!(task["task"]["destruction"], "suspended", "{task}");
    let (status, answer) = cts.api.send(Method::DELETE, "/v1/tasks/made", None).await;
    assert_eq!(status, 202, "{answer}");
    eventually(DEADLINE, async || {
        match cts.api.ask("/v1/tasks/made").await {
            Ok((404, _)) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    cts.stop().await;
}
