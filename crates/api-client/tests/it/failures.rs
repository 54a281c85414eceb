//! Errors of calls that fail.

use cts_api_client::{ApiClient, CallError, ClientSettings, ErrorForm};
use cts_testkit::ScriptedAnswer::{Close, Json, Text};
use cts_testkit::{ScriptedHttp, assert_contains, free_port};
use serde_json::json;

use crate::client;

const NEW: ErrorForm = ErrorForm::New;
const LEGACY: ErrorForm = ErrorForm::Legacy;

#[tokio::test]
async fn refusals_of_both_families_are_unpacked() {
    let server = ScriptedHttp::start([
        Json(
            404,
            json!({"error": {"message": "no task 'x'"}, "request_id": "5f0c2a52"}),
        ),
        Json(400, json!({"error": {"message": "no task name"}})),
        Text(
            400,
            "text/plain; charset=utf-8",
            r#"{"error":{"message":"schema"},"request_id":"71a5b3b0"}"#.into(),
        ),
        Text(502, "text/html", "<h1>Bad Gateway</h1>".into()),
    ])
    .await;
    let client = client(&server);
    let unknown = client.delete_task("x", false).await.unwrap_err();
    assert!(unknown.is_not_found());
    assert_eq!(
        unknown.report(NEW),
        "404 Not Found: no task 'x', see logs for more details (Request ID: 5f0c2a52)"
    );
    let refused = client.disable_task("x").await.unwrap_err();
    assert_eq!(
        refused.report(LEGACY),
        "request returned 400 status code with error: no task name"
    );
    let refused = client
        .create_task(&serde_json::Map::new())
        .await
        .unwrap_err();
    assert_eq!(
        refused.report(NEW),
        "400 Bad Request: schema, see logs for more details (Request ID: 71a5b3b0)"
    );
    let proxy = client.disable_task("x").await.unwrap_err();
    assert_eq!(
        proxy.report(LEGACY),
        "request returned 502 status code with error: <h1>Bad Gateway</h1>"
    );
}

#[tokio::test]
async fn success_that_is_none_of_the_api_is_no_success() {
    let server = ScriptedHttp::start([
        Text(200, "text/html", "<html>hello</html>".into()),
        Json(200, json!({})),
        Json(
            200,
            json!({"other": {"task_name": "other", "status": "x", "enabled": true}}),
        ),
        Json(200, json!({"run": {"changes_present": true}})),
    ])
    .await;
    let client = client(&server);
    let page = client
        .delete_task("web", false)
        .await
        .unwrap_err()
        .report(NEW);
    assert_contains(&page, ["is not one of the API", "<html>hello</html>"]);
    let no_plan = client.inspect_enabling("web").await.unwrap_err();
    assert!(matches!(no_plan, CallError::Lacking { .. }), "{no_plan:?}");
    let another = client.task_status("web").await.unwrap_err();
    assert!(matches!(another, CallError::Lacking { .. }), "{another:?}");
    let no_plan = client.inspect_task(&serde_json::Map::new()).await;
    let no_plan = no_plan.unwrap_err().report(NEW);
    assert!(no_plan.contains("missing field `plan`"), "{no_plan}");
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_given_up() {
    let long = "x".repeat((256 << 20) + 1);
    let server = ScriptedHttp::start([Text(200, "application/json", long)]).await;
    let error = client(&server).tasks().await.unwrap_err().report(NEW);
    assert!(error.ends_with("is longer than 256 MiB"), "{error}");
}

#[tokio::test]
async fn reports_address_and_cause_when_no_server_answers() {
    let port = free_port();
    let settings = ClientSettings {
        address: format!("http://me:hunter2@127.0.0.1:{port}/p"),
        ..ClientSettings::default()
    };
    let client = ApiClient::new(&settings).unwrap();
    let refused = client.tasks().await.unwrap_err();
    assert_eq!(
        refused.report(NEW),
        format!(
            "no answer from the API at http://***@127.0.0.1:{port}/p: \
             Connection refused (os error 111)"
        )
    );
    assert_eq!(refused.hint(), None);
    assert!(!format!("{refused:?} {client:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_connection_that_only_ends_may_want_tls() {
    let server = ScriptedHttp::start([Close]).await;
    let closed = client(&server).disable_task("web").await.unwrap_err();
    let text = closed.report(LEGACY);
    assert_contains(&text, ["connection closed before message completed"]);
    let hint = closed.hint().unwrap();
    assert!(
        hint.contains("sent an HTTP request to an HTTPS server"),
        "{hint}"
    );
}
