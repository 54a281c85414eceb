//! Real servers end with their owner.

#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod postgres;

use std::path::PathBuf;
use std::time::Duration;

use cts_testkit::{ConsulAgent, eventually};

const DEADLINE: Duration = Duration::from_secs(20);

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
