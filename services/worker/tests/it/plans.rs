//! Runs that only plan.

use cts_proto::run::v1::RunKind;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::stage::{KEEPS, SECRET, Stage};

const CANNOT_BE_PLANNED: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "never" {
  lifecycle {
    precondition {
      condition     = length(var.services) > 7
      error_message = "there are too few of them"
    }
  }
}
"#;

#[tokio::test]
async fn a_plan_is_reported_and_nothing_is_applied() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.grant(RunKind::Plan, stage.input());
    let plan = stage.strings.planned().await;
    assert!(plan.changes_present);
    assert!(plan.text.contains("Plan: 1 to add"), "{}", plan.text);
    let log = stage.strings.log();
    assert!(log.contains(plan.text.trim_end()), "{log}");
    assert!(!stage.state().exists());
}

#[tokio::test]
async fn a_plan_shows_no_secret() {
    let module = KEEPS.replace("var.services", &format!("\"<{SECRET}>\""));
    let mut stage = Stage::new(&module).await;
    stage.strings.grant(RunKind::Plan, stage.input());
    let plan = stage.strings.planned().await;
    for text in [plan.text, stage.strings.log()] {
        assert!(text.contains("\"<(hidden)>\""), "{text}");
        assert!(!text.contains(SECRET), "{text}");
    }
}

/// The name of a member is enough, at any depth, and so is a place in a URL.
#[tokio::test]
async fn a_plan_shows_no_hidden_part_of_a_variable() {
    let variable = "variable \"conf\" {\n  type = any\n}\n";
    let module = KEEPS.replace("var.services", "var.conf") + variable;
    let mut stage = Stage::new(&module).await;
    let conf = json!({
        "region": "eu-west-1", "endpoints": [{"api_token": "nested-api-token"}],
        "repository": "see https://user:url-password@localhost/x",
    });
    let input = stage.input_of(|definition| drop(definition.variables.insert("conf".into(), conf)));
    stage.strings.grant(RunKind::Plan, input);
    let plan = stage.strings.planned().await;
    for text in [plan.text, stage.strings.log()] {
        assert!(text.contains("eu-west-1"), "{text}");
        for secret in ["nested-api-token", "url-password"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[tokio::test]
async fn an_error_shows_no_secret() {
    let module = CANNOT_BE_PLANNED.replace("too few", SECRET);
    let mut stage = Stage::new(&module).await;
    stage.strings.grant(RunKind::Plan, stage.input());
    let error = stage.strings.failed().await;
    let text = error;
    assert!(text.starts_with("error tf-plan for 'edge'"), "{text}");
    assert!(text.contains("there are (hidden) of them"), "{text}");
    assert!(!text.contains(SECRET), "{text}");
}

#[tokio::test]
async fn a_plan_is_interrupted_gently_when_the_worker_stops() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let module = format!(
        r#"
variable "services" {{
  type = any
}}

data "terraform_remote_state" "slow" {{
  backend = "http"
  config  = {{ address = "http://{address}/state" }}
}}
"#
    );
    let mut stage = Stage::new(&module).await;
    stage.strings.grant(RunKind::Plan, stage.input());
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut request = [0; 1024];
    assert_ne!(connection.read(&mut request).await.unwrap(), 0);
    stage.shutdown.drain.cancel();
    stage.shutdown.stop.cancel();
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(20));
    while !stage.strings.log().contains("Gracefully shutting down") {
        looks.tick().await;
    }
    let nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    connection.write_all(nothing).await.unwrap();
    stage.strings.interrupted().await;
}
