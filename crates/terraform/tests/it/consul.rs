use std::net::TcpListener;
use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio_util::task::TaskTracker;

use crate::fixture::{KEEPS_SERVICES, Sandbox, TAKES_LONG, instance, object, tool, wait_for};

/// A Consul agent that lives as long as the value.
struct Agent {
    address: String,
    _process: Child,
}

impl Agent {
    async fn start() -> Self {
        // Held together, so that all three differ. Consul cannot be given bound sockets.
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [http, server, serf] = listeners
            .each_ref()
            .map(|listener| listener.local_addr().unwrap().port());
        drop(listeners);
        let mut process = Command::new(tool("CTS_TEST_CONSUL", "consul"))
            .args([
                "agent",
                "-dev",
                "-bind=127.0.0.1",
                "-dns-port=-1",
                "-grpc-port=-1",
            ])
            .arg("-serf-wan-port=-1")
            .arg(format!("-http-port={http}"))
            .arg(format!("-server-port={server}"))
            .arg(format!("-serf-lan-port={serf}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        loop {
            let line = lines
                .next_line()
                .await
                .unwrap()
                .expect("consul ended early");
            if line.contains("New leader elected") || line.contains("cluster leadership acquired") {
                break;
            }
        }
        TaskTracker::new()
            .spawn(async move { while let Ok(Some(_line)) = lines.next_line().await {} });
        Self {
            address: format!("127.0.0.1:{http}"),
            _process: process,
        }
    }
}

async fn sandbox(agent: &Agent, module: &str) -> Sandbox {
    let mut sandbox = Sandbox::new(module).await;
    sandbox.settings.backend.kind = "consul".into();
    sandbox.settings.backend.arguments =
        object(json!({ "address": agent.address, "gzip": true, "path": "test/terraform" }));
    sandbox.extra_environment = vec![("CONSUL_HTTP_ADDR".into(), agent.address.clone())];
    sandbox
}

/// All keys in Consul.
async fn keys(agent: &Agent) -> Vec<String> {
    let output = Command::new(tool("CTS_TEST_CONSUL", "consul"))
        .args(["kv", "get", "-keys", "-separator="])
        .arg(format!("-http-addr={}", agent.address))
        .output()
        .await
        .unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn the_first_apply_creates_the_state_of_the_workspace() {
    let agent = Agent::start().await;
    let sandbox = sandbox(&agent, KEEPS_SERVICES).await;
    let root = sandbox.write(vec![instance("a", "${x}")]);
    let (attempt, _lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    sandbox.terraform.apply(&attempt).await.unwrap();
    assert_eq!(keys(&agent).await, ["test/terraform-env:edge"]);

    // A new directory finds the state again.
    std::fs::remove_dir_all(sandbox.directory().path()).unwrap();
    let root = sandbox.write(vec![instance("a", "${x}")]);
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    assert!(
        !sandbox
            .terraform
            .plan(&attempt)
            .await
            .unwrap()
            .changes_present
    );
}

#[tokio::test]
async fn an_interrupted_apply_releases_the_lock() {
    let agent = Agent::start().await;
    let sandbox = sandbox(&agent, TAKES_LONG).await;
    let root = sandbox.write(Vec::new());
    let (attempt, mut lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    let cancel_when_started = async {
        wait_for(&mut lines, "(local-exec): started").await;
        let locks = keys(&agent).await;
        assert!(locks.iter().any(|key| key.ends_with("/.lock")), "{locks:?}");
        attempt.stop.cancel();
    };
    let (result, ()) = tokio::join!(sandbox.terraform.apply(&attempt), cancel_when_started);
    assert!(result.unwrap_err().is_interrupted());
    // Whoever gets the lock now proves that it is free.
    let (next, _lines) = sandbox.attempt();
    sandbox.terraform.plan(&next).await.unwrap();
}
