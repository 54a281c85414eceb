//! SIGTERM ends the process well, whatever it does.

use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use cts_testkit::{ConsulAgent, eventually, free_port};
use cts_tests::{Backend, DEADLINE, Instance, Site, assert_successful, met, task};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// More than this has an exit code of its own.
const GRACEFUL: Duration = Duration::from_secs(10);

/// Panics if a lock of the task's state is left.
pub(crate) async fn assert_no_lock(
    backend: Backend,
    consul: &ConsulAgent,
    site: &Site,
    task: &str,
) {
    match backend {
        Backend::Consul => {
            let keys = consul.get("/v1/kv/consul-terraform-sync?keys").await;
            let state = format!("consul-terraform-sync/terraform-env:{task}");
            assert_eq!(keys, json!([state]));
        }
        Backend::Local | Backend::Shared => {
            let state = site.state_path(task);
            for entry in fs::read_dir(state.parent().unwrap()).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(!name.ends_with(".lock.info"), "{name} is left");
            }
        }
    }
}

async fn terraform_is_interrupted(backend: Backend) {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), backend, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    site.hold();
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    let terraform = site.wait_for_step("pool", "begin", "web-1,web-2").await;

    let exit = cts.terminate().await;
    exit.assert_code(0);
    assert!(exit.took < GRACEFUL, "{:?}", exit.took);
    exit.says(["Interrupt received"]);
    let left = site.terraform_processes();
    assert!(!left.contains(&terraform), "{left:?}");
    site.wait_until_quiet().await;
    assert_no_lock(backend, &consul, &site, "pool").await;

    site.release();
    let cts = Instance::start(&site).await;
    site.wait_for_step("pool", "end", "web-1,web-2").await;
    let events = cts.api.wait_for_events("pool", 2).await;
    assert_successful(&events);
    assert_no_lock(backend, &consul, &site, "pool").await;
    cts.stop().await;
}

#[tokio::test]
async fn an_apply_is_interrupted_with_the_state_in_consul() {
    terraform_is_interrupted(Backend::Consul).await;
}

#[tokio::test]
async fn an_apply_is_interrupted_with_the_state_in_the_task_directory() {
    terraform_is_interrupted(Backend::Local).await;
}

#[tokio::test]
async fn an_idle_process_ends_at_once() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &pool);
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    let exit = cts.terminate().await;
    exit.assert_code(0);
    assert!(exit.took < GRACEFUL, "{:?}", exit.took);
}

/// Starts against `consul`, which will not do, and ends it while it waits.
async fn ends_while_waiting(consul: &str) {
    let site = Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(consul, Backend::Local, &pool);
    let port = free_port();
    let process = site.run_cts(port, &[]);
    // Signals are taken over before the port is bound.
    eventually(DEADLINE, async || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await
    })
    .await;
    let exit = process.terminate().await;
    exit.assert_code(0);
    assert!(exit.took < GRACEFUL, "{:?}", exit.took);
    assert!(!site.work().exists(), "nothing had begun");
}

#[tokio::test]
async fn a_process_that_waits_for_an_answer_of_consul_ends_at_once() {
    let consul = ConsulAgent::start().await;
    consul.pause();
    ends_while_waiting(&consul.address()).await;
}

/// A Consul without a leader, as long as the set lives. A development agent cannot show this: it has elected
/// itself when it answers.
async fn leaderless() -> (String, JoinSet<()>) {
    let leaderless = Router::new().route("/v1/status/leader", get(async || "\"\""));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut serving = JoinSet::new();
    serving.spawn(async { axum::serve(listener, leaderless).await.unwrap() });
    (address, serving)
}

#[tokio::test]
async fn a_process_that_waits_for_a_leader_ends_at_once() {
    let (address, _serving) = leaderless().await;
    ends_while_waiting(&address).await;
}

#[tokio::test]
async fn a_pass_that_has_not_begun_is_no_success() {
    let (address, _serving) = leaderless().await;
    let site = Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&address, Backend::Local, &pool);
    let process = site.run_cts(free_port(), &["-once"]);
    // Signals are taken over before the first line.
    eventually(DEADLINE, async || {
        let output = process.output();
        met(
            output.contains(concat!("cli: ", env!("CARGO_PKG_VERSION"))),
            output,
        )
    })
    .await;
    let exit = process.terminate().await;
    exit.assert_code(12).says(["0 of 1 tasks"]);
    assert!(exit.took < GRACEFUL, "{:?}", exit.took);
}
