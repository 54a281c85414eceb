//! Runs with the real Terraform.

use cts_testkit::eventually;
use cts_testkit::hcp::{HcpSettings, Phase};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::client::{DEADLINE, Session};

/// Prints `started`, and ends by itself after a minute only.
const TAKES_LONG: &str = r#"
resource "terraform_data" "quick" {
}

resource "terraform_data" "slow" {
  depends_on = [terraform_data.quick]
  provisioner "local-exec" {
    command = "echo started $$; exec sleep 60"
  }
}
"#;

/// A session whose run `{run}` provisions, and the process of the provisioner.
async fn provisioning() -> (Session, i32) {
    let attributes = json!({"auto-apply": true, "structured-run-output-enabled": false});
    let mut session = Session::with_workspace(HcpSettings::with_terraform(), attributes).await;
    session.upload(&[("main.tf", TAKES_LONG)]);
    session.table("POST /runs run {} -> 201 as run").await;
    let process = provisioner(&session).await;
    (session, process)
}

#[tokio::test]
async fn cancel_ends_terraform_gently_and_keeps_the_state() {
    let (mut session, process) = provisioning().await;
    session
        .table("POST /runs/{run}/actions/cancel -> 202")
        .await;
    let id = session.reached(Phase::Canceled).await;
    gone(process).await;
    let log = session.server.apply_log(&id);
    assert!(log.contains("Interrupt received"), "{log}");
    let state = session.server.state("web").unwrap();
    assert_eq!(state["resources"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_terraform_that_does_not_listen_is_killed_by_force() {
    let (mut session, process) = provisioning().await;
    let terraform = Pid::from_raw(parent(process));
    kill(terraform, Signal::SIGSTOP).unwrap();
    let rows = r#"
POST /runs/{run}/actions/cancel -> 202
GET /runs/{run} -> 200 attributes {"status": "applying", "actions": {"is-cancelable": false}}"#;
    session.table(rows).await;
    eventually(DEADLINE, async || {
        let run = &session.kept["run"];
        let is_forced = session.server.try_on_run(run, "force-cancel");
        is_forced.then_some(()).ok_or("it cannot be forced yet")
    })
    .await;
    session.reached(Phase::ForceCanceled).await;
    gone(process).await;
}

#[tokio::test]
async fn a_dropped_server_leaves_no_process() {
    let (session, process) = provisioning().await;
    drop(session);
    gone(process).await;
}

/// Waits for the provisioner of the run and returns its process.
async fn provisioner(session: &Session) -> i32 {
    eventually(DEADLINE, async || {
        let log = session.server.apply_log(&session.kept["run"]);
        let ids = log.split("started ").skip(1).filter_map(|rest| {
            let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
            digits.and_then(|digits| digits.parse().ok())
        });
        ids.last().ok_or(log)
    })
    .await
}

/// Fields of `/proc/<id>/stat` after the name of the program: state, parent and more.
fn stat(process: i32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split_whitespace().map(str::to_owned).collect()
}

fn parent(process: i32) -> i32 {
    stat(process)[1].parse().unwrap()
}

async fn gone(process: i32) {
    eventually(DEADLINE, async || match stat(process).first() {
        None => Ok(()),
        Some(state) if state == "Z" => Ok(()),
        Some(state) => Err(state.clone()),
    })
    .await;
}
