//! Queued runs go to workers with the settings in force: destructions, and runs that have lost their worker.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Api, Cluster, DEADLINE, MADE_FILE, Plan, Service, Site, task};
use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster::worker_loss::STARTED;

/// A driver block for the file of one worker, whose states are in this directory of the site.
fn write_driver(site: &Site, worker: usize, states: &str) {
    let directory = site.path().join(states);
    let text = format!(
        "log_level = \"DEBUG\"\ndriver \"terraform\" {{\n  shared_local_backend = true\n  \
         backend \"local\" {{ workspace_dir = \"{}\" }}\n}}\n",
        directory.display()
    );
    site.write(&format!("worker-{worker}-driver.hcl"), &text);
}

/// One process of each kind, with slots for one run, where each worker has a driver block of its own.
async fn start(site: &Site) -> Cluster {
    let mut plan = Plan {
        slots: 1,
        ..Plan::of(1, 1, 1, 1)
    };
    let file = |service, name: &str| (Some(service), name.to_owned());
    plan.files = vec![
        file(Service::Watcher, "cts.hcl"),
        file(Service::Scheduler, "cts.hcl"),
        file(Service::Worker, "{name}-driver.hcl"),
    ];
    write_driver(site, 0, "state");
    write_driver(site, 1, "elsewhere");
    Cluster::start(site, plan).await
}

async fn ask(api: &Api, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let client = reqwest::Client::builder().no_proxy().timeout(DEADLINE);
    let request = client.build().unwrap().request(method, api.url(path));
    let answer = request.json(body).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap())
}

async fn wait_for_line(cluster: &Cluster, text: &str) {
    eventually(DEADLINE, async || {
        let output = cluster.output(Service::Scheduler, 0);
        if output.contains(text) {
            Ok(())
        } else {
            Err(output)
        }
    })
    .await;
}

/// A worker with another backend would find nothing to destroy there, and the task would be gone.
#[tokio::test]
async fn a_worker_with_another_backend_destroys_nothing() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("pool");
    let path = site.path().to_str().unwrap();
    site.write("modules/file/main.tf", &MADE_FILE.replace("@SITE@", path));
    let tasks = task("pool", "./modules/pool", &["web"], "")
        + &task(
            "made",
            "./modules/file",
            &["api"],
            "on_delete = \"destroy\"",
        );
    site.configure_driver(&consul.address(), &site.shared_backend(), &tasks);
    let mut cluster = start(&site).await;
    let api = cluster.api(0);
    api.wait_for_events("pool", 1).await;
    api.wait_for_events("made", 1).await;
    let made = site.path().join("made");
    assert!(made.exists());

    // The worker with the settings in force has no slot, the other one has.
    site.hold();
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    site.wait_for_step("pool", "begin", "web-1").await;
    let other = cluster.add(Service::Worker);
    cluster.run(Service::Worker, other).await;
    wait_for_line(&cluster, "a worker has other settings").await;
    let (status, answer) = ask(&api, Method::DELETE, "/v1/tasks/made", &json!({})).await;
    assert_eq!(status, 202, "{answer}");
    eventually(DEADLINE, async || {
        let explained = api.get("/v1/tasks/made/explain").await;
        let obstacles = explained["explanation"]["obstacles"].to_string();
        if obstacles.contains("no_free_slot") {
            Ok(())
        } else {
            Err(explained)
        }
    })
    .await;
    assert!(made.exists());
    site.release();
    eventually(DEADLINE, async || match api.ask("/v1/tasks/made").await {
        Ok((404, _)) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    assert!(!made.exists());
    let output = cluster.output(Service::Worker, other);
    assert!(!output.contains(STARTED), "{output}");
}

/// Worker 0 leaves while it has the run, the settings of another worker take effect, and worker 0 dies. Returns
/// the other worker.
async fn lose_last_worker(site: &Site, cluster: &mut Cluster) -> usize {
    site.wait_for_step("new", "begin", "web-1").await;
    let other = cluster.add(Service::Worker);
    cluster.run(Service::Worker, other).await;
    cluster.signal(Service::Worker, 0, Signal::SIGTERM);
    let line = "the workers have other settings, which are in force now";
    wait_for_line(cluster, line).await;
    cluster.kill(Service::Worker, 0).await;
    site.wait_until_quiet().await;
    site.release();
    other
}

#[tokio::test]
async fn a_creation_outlives_its_worker_and_its_settings() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("new");
    site.configure_driver(&consul.address(), &site.shared_backend(), "");
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut cluster = start(&site).await;
    site.hold();
    let api = cluster.api(0);
    let new = json!({"task": {
        "name": "new", "module": site.path().join("modules/new"),
        "condition": {"services": {"names": ["web"]}},
    }});
    let creation = ask(&api, Method::POST, "/v1/tasks?run=now", &new);
    let course = lose_last_worker(&site, &mut cluster);
    let ((status, answer), other) = tokio::join!(creation, course);
    assert_eq!(status, 201, "{answer}");
    let output = cluster.output(Service::Worker, other);
    assert!(output.contains(STARTED), "{output}");
    let (status, answer) = api.ask("/v1/tasks/new").await.unwrap();
    assert_eq!(status, 200, "{answer}");
}
