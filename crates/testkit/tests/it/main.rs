//! The real Consul can be started, handled and got rid of.

#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod postgres;
mod proxy;

use std::path::PathBuf;
use std::time::Duration;

use cts_testkit::{ConsulAgent, eventually};
use serde_json::json;

const DEADLINE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn data_of_consul_lasts_until_the_restart() {
    let mut consul = ConsulAgent::start().await;
    consul
        .register_service("web", "web-1", 80, &[("k", "v")], &["b", "a"])
        .await;
    consul.kv_put("some/key", "value").await;
    let services = consul.get("/v1/agent/services").await;
    assert_eq!(services["web-1"]["Meta"]["k"], json!("v"));
    assert_eq!(consul.kv_get("some/key").await, Some(b"value".to_vec()));

    let address = consul.address();
    consul.restart().await;
    assert_eq!(consul.address(), address);
    assert_eq!(consul.kv_get("some/key").await, None);
    assert_eq!(consul.get("/v1/agent/services").await, json!({}));
    consul.stop().await;
}

#[tokio::test]
async fn a_paused_agent_answers_after_it_is_resumed() {
    let consul = ConsulAgent::start().await;
    consul.pause();
    let read = consul.get("/v1/status/leader");
    tokio::pin!(read);
    let early = tokio::time::timeout(Duration::from_millis(300), &mut read).await;
    assert!(early.is_err());
    consul.resume();
    assert_ne!(read.await, json!(""));
}

#[tokio::test]
async fn a_dropped_agent_is_gone() {
    let consul = ConsulAgent::start().await;
    let process = PathBuf::from(format!("/proc/{}/exe", consul.pid()));
    assert!(std::fs::read_link(&process).is_ok());
    drop(consul);
    eventually(DEADLINE, async || match std::fs::read_link(&process) {
        Ok(program) => Err(format!("{} runs on", program.display())),
        Err(_gone) => Ok(()),
    })
    .await;
}

#[tokio::test]
async fn agents_do_not_disturb_each_other() {
    let (first, second) = tokio::join!(ConsulAgent::start(), ConsulAgent::start());
    first.kv_put("k", "1").await;
    assert_eq!(second.kv_get("k").await, None);
}

#[tokio::test]
async fn a_durable_agent_can_lose_its_data_and_get_back_an_older_state() {
    let mut consul = ConsulAgent::start_durable().await;
    consul.kv_put("k", "old").await;
    let snapshot = consul.snapshot().await;
    consul.kv_put("k", "new").await;
    consul.restart().await;
    assert_eq!(consul.kv_get("k").await, Some(b"new".to_vec()));
    consul.restore(snapshot).await;
    assert_eq!(consul.kv_get("k").await, Some(b"old".to_vec()));
    consul.restart_empty().await;
    assert_eq!(consul.kv_get("k").await, None);
}
