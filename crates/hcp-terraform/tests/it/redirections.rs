//! Redirections, and what goes with them.

use cts_hcp_terraform::ApiError;
use cts_testkit::{ScriptedAnswer, ScriptedHttp};
use serde_json::json;

use crate::{discover, json_answer, report, run, scripted, services, settings};

fn planning() -> ScriptedAnswer {
    json_answer(json!({ "data": run("run-1", "planning", "m") }))
}

#[tokio::test]
async fn the_token_stays_with_the_origin_of_the_api() {
    let other = ScriptedHttp::start([planning()]).await;
    let elsewhere = format!("http://{}/moved", other.address());
    let script = [
        ScriptedAnswer::Redirect(302, "/api/v2/moved".to_owned()),
        planning(),
        ScriptedAnswer::Redirect(307, elsewhere),
    ];
    let (http, server) = scripted(script).await;
    server.run("run-1").await.unwrap();
    server.run("run-1").await.unwrap();
    let requests = http.requests();
    assert_eq!(requests[2].line, "GET /api/v2/moved");
    assert!(requests[2].header("authorization").is_some());
    let moved = &other.requests()[0];
    assert_eq!(moved.line, "GET /moved");
    assert_eq!(moved.header("authorization"), None);
}

#[tokio::test]
async fn a_change_goes_to_no_other_host_and_is_never_made_a_read() {
    let other = ScriptedHttp::start([planning()]).await;
    let elsewhere = format!("http://{}/moved", other.address());
    let done = ScriptedAnswer::Text(202, "text/plain", String::new());
    let script = [
        ScriptedAnswer::Redirect(302, "/api/v2/moved".to_owned()),
        ScriptedAnswer::Redirect(307, elsewhere),
        ScriptedAnswer::Redirect(308, "/api/v2/moved".to_owned()),
        done,
    ];
    let (http, server) = scripted(script).await;
    for _ in 0..2 {
        let error = server.discard_run("run-1", "newer").await.unwrap_err();
        assert!(matches!(error, ApiError::Protocol { .. }), "{error:?}");
    }
    assert!(other.requests().is_empty());
    server.discard_run("run-1", "newer").await.unwrap();
    let lines = http.lines();
    assert_eq!(
        lines.last().unwrap(),
        r#"POST /api/v2/moved {"comment":"newer"}"#
    );
}

#[tokio::test]
async fn redirections_end_and_lead_to_https() {
    let mut script = vec![ScriptedAnswer::Redirect(302, "/api/v2/again".to_owned()); 6];
    script.push(ScriptedAnswer::Redirect(
        302,
        "ftp://127.0.0.1/x".to_owned(),
    ));
    script.push(ScriptedAnswer::Redirect(302, "http://[".to_owned()));
    let (_http, server) = scripted(script).await;
    for expected in [
        "after many others",
        "to something else than https",
        "to nowhere",
    ] {
        let error = server.run("run-1").await.unwrap_err();
        assert!(report(&error).contains(expected), "{}", report(&error));
    }
}

#[tokio::test]
async fn the_discovery_document_may_be_elsewhere() {
    let other = ScriptedHttp::start([json_answer(services()), planning()]).await;
    let elsewhere = format!("http://{}/terraform.json", other.address());
    let http = ScriptedHttp::start([ScriptedAnswer::Redirect(301, elsewhere)]).await;
    let server = discover(&settings(http.address())).await.unwrap();
    assert_eq!(
        server.base().as_str(),
        format!("http://{}/api/v2/", other.address())
    );
    server.run("run-1").await.unwrap();
}
