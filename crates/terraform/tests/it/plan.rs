//! Plans: the changes that an apply would make.

use cts_terraform::{CommandFailure, Step};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::fixture::{CANNOT_BE_PLANNED, KEEPS_SERVICES, Sandbox, instance, wait_for};

/// A module that reads from an address while it is planned.
fn reads_from(address: std::net::SocketAddr) -> String {
    format!(
        r#"
variable "services" {{
  type = any
}}

data "terraform_remote_state" "slow" {{
  backend = "http"
  config  = {{ address = "http://{address}/state" }}
}}
"#
    )
}

#[tokio::test]
async fn a_plan_is_told_whole_and_shown_live() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let (attempt, mut lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    while lines.try_recv().is_ok() {}
    let plan = sandbox.terraform.plan(&attempt).await.unwrap();
    assert!(plan.changes_present);
    assert!(plan.text.contains("Plan: 1 to add"), "{}", plan.text);
    assert!(!plan.text.contains('\u{1b}'), "no colours");
    drop(attempt);
    let mut shown = String::new();
    while let Ok(line) = lines.try_recv() {
        shown.push_str(&line.text);
        shown.push('\n');
    }
    assert_eq!(shown, plan.text);
    let state = sandbox.directory().path().join("terraform.tfstate.d/edge");
    assert!(
        !state.join("terraform.tfstate").exists(),
        "nothing is applied"
    );
}

#[tokio::test]
async fn a_plan_without_changes_says_so() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    sandbox.terraform.apply(&attempt).await.unwrap();
    let state = sandbox.state();
    let plan = sandbox.terraform.plan(&attempt).await.unwrap();
    assert!(!plan.changes_present);
    assert!(plan.text.contains("No changes"), "{}", plan.text);
    assert_eq!(sandbox.state(), state);
}

#[tokio::test]
async fn a_plan_that_fails_tells_the_error() {
    let sandbox = Sandbox::new(CANNOT_BE_PLANNED).await;
    let (attempt, _lines) = sandbox.prepared(Vec::new()).await;
    let error = sandbox.terraform.plan(&attempt).await.unwrap_err();
    assert_eq!(error.step, Step::Plan);
    assert!(!error.is_interrupted());
    let text = error.to_string();
    assert!(
        text.starts_with("error tf-plan for 'edge': exit status 1\n"),
        "{text}"
    );
    assert!(text.contains("there are too few of them"), "{text}");
}

#[tokio::test]
async fn a_cancelled_plan_ends_gently() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let module = reads_from(listener.local_addr().unwrap());
    let sandbox = Sandbox::new(&module).await;
    let (attempt, mut lines) = sandbox.prepared(Vec::new()).await;
    let cancel_while_it_reads = async {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        assert_ne!(connection.read(&mut request).await.unwrap(), 0);
        attempt.stop.cancel();
        wait_for(&mut lines, "Gracefully shutting down").await;
        let nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        connection.write_all(nothing).await.unwrap();
    };
    let (result, ()) = tokio::join!(sandbox.terraform.plan(&attempt), cancel_while_it_reads);
    let error = result.unwrap_err();
    assert!(error.is_interrupted(), "{error}");
    let CommandFailure::Exit { status, .. } = &error.failure else {
        panic!("{error}");
    };
    assert_eq!(status.code(), Some(1), "it ended by itself");
    let lock = sandbox
        .directory()
        .path()
        .join("terraform.tfstate.d/edge/.terraform.tfstate.lock.info");
    assert!(!lock.exists());
}
