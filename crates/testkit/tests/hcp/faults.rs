//! Faults that a test sets.

use std::time::Duration;

use cts_testkit::hcp::{Fault, HcpSettings};
use serde_json::json;
use tokio::time::Instant;

use crate::client::Session;
use crate::table::run;

#[tokio::test]
async fn requests_fail_as_the_test_wants() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session
        .server
        .fault(Fault::status("GET", "/workspaces/*", 503).times(2));
    for status in [503, 503, 200] {
        session
            .table(&format!("GET /workspaces/{{ws}} -> {status}"))
            .await;
    }
    let delay = Duration::from_millis(200);
    session
        .server
        .fault(Fault::delay("GET", "/workspaces/*", delay));
    let begin = Instant::now();
    session.table("GET /workspaces/{ws} -> 200").await;
    assert!(begin.elapsed() >= delay);
    assert_eq!(session.server.count("GET", "/workspaces/*"), 4);
}

#[tokio::test]
async fn a_run_exists_although_the_answer_to_its_creation_was_lost() {
    let session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session.server.fault(Fault::lose_answer("POST", "/runs"));
    let sent = session
        .send("POST", "/runs", &run(json!({"message": "once"})))
        .await;
    assert!(sent.is_err());
    let runs = session.server.runs("web");
    assert_eq!((runs.len(), runs[0].message.as_str()), (1, "once"));
}
