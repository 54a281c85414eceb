//! Faults that a test sets.

use std::time::Duration;

use cts_testkit::hcp::{Fault, HcpSettings, Phase};
use serde_json::json;
use tokio::time::Instant;

use crate::client::Session;
use crate::table::run;

const PATH: &str = "/workspaces/{ws}";

#[tokio::test]
async fn requests_fail_as_often_as_the_test_wants() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session
        .server
        .fault(Fault::status("GET", "/workspaces/*", 503).after(1).times(2));
    for status in [200, 503, 503, 200] {
        session.table(&format!("GET {PATH} -> {status}")).await;
    }
    session.server.fault(Fault::close("*", "/**"));
    assert!(session.get(PATH).await.is_err());
    session.server.fault(Fault::cut("GET", "/workspaces/*"));
    let cut = session.get(PATH).await.unwrap();
    assert_eq!(cut.status(), 200);
    assert!(cut.bytes().await.is_err());
    let delay = Duration::from_millis(200);
    session
        .server
        .fault(Fault::delay("GET", "/workspaces/*", delay));
    let begin = Instant::now();
    session.table("GET /workspaces/{ws} -> 200").await;
    assert!(begin.elapsed() >= delay);
    assert_eq!(session.server.count("GET", "/workspaces/*"), 7);
    assert!(
        session
            .server
            .requests()
            .iter()
            .all(|request| request.bearer)
    );
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
    let request = session.server.requests().pop().unwrap();
    assert_eq!(
        (request.path.as_str(), request.status),
        ("/runs", Some(201))
    );
    assert_eq!(request.body["data"]["attributes"]["message"], "once");
}

#[tokio::test]
async fn runs_go_on_while_the_server_is_down() {
    let mut session =
        Session::with_workspace(HcpSettings::default(), json!({"auto-apply": true})).await;
    session.server.hold(Phase::Planning);
    session.table("POST /runs run {} -> 201 as run").await;
    session.server.go_down().await;
    let error = session.get(PATH).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    session.server.release(Phase::Planning);
    session.reached(Phase::Applied).await;
    session.server.come_up().await;
    session
        .table(r#"GET /runs/{run} -> 200 attributes {"status": "applied"}"#)
        .await;
}

#[tokio::test]
async fn requests_beyond_the_rate_are_refused_with_the_time_of_the_next() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session.server.limit_requests(Some(2));
    let mut refused = 0;
    for _ in 0..5 {
        let answer = session.get("/ping").await.unwrap();
        let header = |name: &str| {
            answer.headers()[name]
                .to_str()
                .unwrap()
                .parse::<f64>()
                .unwrap()
        };
        assert!(header("x-ratelimit-limit") > 1.5);
        assert!(header("x-ratelimit-reset") <= 1.0);
        refused += u32::from(answer.status() == 429);
    }
    assert!(refused > 0);
    session.server.limit_requests(None);
    session.server.limit_run_lists(Some(1));
    let rows = "
GET /workspaces/{ws}/runs -> 200
GET /workspaces/{ws}/runs -> 429 error too many requests
GET /workspaces/{ws} -> 200";
    session.table(rows).await;
}
