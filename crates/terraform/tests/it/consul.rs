use cts_testkit::ConsulAgent;
use serde_json::json;
use tokio::process::Command;

use crate::fixture::{KEEPS_SERVICES, Sandbox, TAKES_LONG, instance, object, tool, wait_for};

async fn sandbox(agent: &ConsulAgent, module: &str) -> Sandbox {
    let mut sandbox = Sandbox::new(module).await;
    sandbox.settings.backend.kind = "consul".into();
    sandbox.settings.backend.arguments =
        object(json!({ "address": agent.address(), "gzip": true, "path": "test/terraform" }));
    sandbox.extra_environment = vec![("CONSUL_HTTP_ADDR".into(), agent.address())];
    sandbox
}

/// All keys in Consul.
async fn keys(agent: &ConsulAgent) -> Vec<String> {
    let output = Command::new(tool("CTS_TEST_CONSUL", "consul"))
        .args(["kv", "get", "-keys", "-separator="])
        .arg(format!("-http-addr={}", agent.address()))
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
    let agent = ConsulAgent::start().await;
    let sandbox = sandbox(&agent, KEEPS_SERVICES).await;
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "${x}")]).await;
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
    let agent = ConsulAgent::start().await;
    let sandbox = sandbox(&agent, TAKES_LONG).await;
    let (attempt, mut lines) = sandbox.prepared(Vec::new()).await;
    let cancel_when_started = async {
        wait_for(&mut lines, "(local-exec): started").await;
        let locks = keys(&agent).await;
        assert!(locks.iter().any(|key| key.ends_with("/.lock")), "{locks:?}");
        attempt.stop.cancel();
    };
    let (result, ()) = tokio::join!(sandbox.terraform.apply(&attempt), cancel_when_started);
    assert!(result.unwrap_err().is_interrupted());
    // A plan gets the lock now, so the lock is free.
    let (next, _lines) = sandbox.attempt();
    sandbox.terraform.plan(&next).await.unwrap();
}
