//! Requests as the client sends them.

use cts_api_client::{ApiClient, AuditQuery, ClientSettings, TokenSource};
use cts_testkit::ScriptedAnswer::{Json, Redirect};
use cts_testkit::ScriptedHttp;
use serde_json::{Map, Value, json};

use crate::{client, client_below};

fn task() -> Map<String, Value> {
    let Value::Object(task) = json!({"name": "web", "variables": {}}) else {
        panic!("an object");
    };
    task
}

#[tokio::test]
async fn every_call_asks_for_what_it_is_about() {
    let inspection = json!({"changes_present": true, "plan": "p"});
    let server = ScriptedHttp::start([
        Json(200, json!({"tasks": []})),
        Json(200, json!({"task": {"name": "web"}})),
        Json(200, json!({})),
        Json(
            200,
            json!({"web": {"task_name": "web", "status": "unknown", "enabled": true}}),
        ),
        Json(200, json!({"run": {"plan": "p"}})),
        Json(201, json!({"task": {"name": "web"}})),
        Json(200, json!({"task": {"name": "web"}, "revision": 2})),
        Json(202, json!({"request_id": "71a5b3b0"})),
        Json(200, json!({ "inspect": inspection })),
        Json(200, json!({})),
        Json(200, json!({})),
        Json(200, json!({})),
    ])
    .await;
    let client = client(&server);
    client.tasks().await.unwrap();
    client.task("web").await.unwrap();
    client.task_statuses().await.unwrap();
    client.task_status("web").await.unwrap();
    client.inspect_task(&task()).await.unwrap();
    client.create_task(&task()).await.unwrap();
    client
        .replace_task("web", &task(), false, true)
        .await
        .unwrap();
    assert_eq!(client.delete_task("web", false).await.unwrap(), "71a5b3b0");
    client.inspect_enabling("web").await.unwrap();
    client.enable_task("web").await.unwrap();
    client.run_task("web", true).await.unwrap();
    client.disable_task("web").await.unwrap();

    let body = r#"{"task":{"name":"web","variables":{}}}"#;
    let expected = [
        "GET /v1/tasks".to_owned(),
        "GET /v1/tasks/web".to_owned(),
        "GET /v1/status/tasks".to_owned(),
        "GET /v1/status/tasks/web?include=events".to_owned(),
        format!("POST /v1/tasks?run=inspect {body}"),
        format!("POST /v1/tasks?run=now {body}"),
        format!("PUT /v1/tasks/web?run=now {body}"),
        "DELETE /v1/tasks/web".to_owned(),
        r#"PATCH /v1/tasks/web?run=inspect {"Enabled":true}"#.to_owned(),
        r#"PATCH /v1/tasks/web {"Enabled":true}"#.to_owned(),
        r#"PATCH /v1/tasks/web?run=now {"Enabled":true}"#.to_owned(),
        r#"PATCH /v1/tasks/web {"Enabled":false}"#.to_owned(),
    ];
    assert_eq!(server.lines(), expected);
    let content_types: Vec<Option<String>> = server
        .requests()
        .iter()
        .map(|request| request.header("content-type").map(str::to_owned))
        .collect();
    let json = Some("application/json".to_owned());
    let with_body = |index| matches!(index, 4..=6);
    for (index, content_type) in content_types.into_iter().enumerate() {
        let expected = json.clone().filter(|_| with_body(index));
        assert_eq!(content_type, expected, "request {index}");
    }
}

#[tokio::test]
async fn a_prefix_of_the_address_is_kept_by_every_call() {
    let server = ScriptedHttp::start([
        Json(202, json!({})),
        Json(200, json!({})),
        Json(201, json!({"task": {"name": "web"}})),
        Json(200, json!({"tasks": []})),
    ])
    .await;
    let client = client_below(&server, "/edge/cts/");
    client.delete_task("web", false).await.unwrap();
    client.disable_task("web").await.unwrap();
    client.create_task(&Map::new()).await.unwrap();
    client.tasks().await.unwrap();
    let expected = [
        "DELETE /edge/cts/v1/tasks/web",
        r#"PATCH /edge/cts/v1/tasks/web {"Enabled":false}"#,
        r#"POST /edge/cts/v1/tasks?run=now {"task":{}}"#,
        "GET /edge/cts/v1/tasks",
    ];
    assert_eq!(server.lines(), expected);
}

#[tokio::test]
async fn a_name_stays_one_segment_whatever_is_in_it() {
    let server = ScriptedHttp::start([Json(202, json!({})), Json(202, json!({}))]).await;
    let client = client(&server);
    client.delete_task("a/b?run=now", false).await.unwrap();
    client.delete_task("é %2F", false).await.unwrap();
    let expected = [
        "DELETE /v1/tasks/a%2Fb%3Frun=now",
        "DELETE /v1/tasks/%C3%A9%20%252F",
    ];
    assert_eq!(server.lines(), expected);
}

#[tokio::test]
async fn names_that_would_change_the_path_are_not_asked_for() {
    let server = ScriptedHttp::start([]).await;
    let client = client(&server);
    for name in ["", ".", ".."] {
        let refused = client.delete_task(name, false).await.unwrap_err();
        assert!(refused.to_string().contains("cannot be the name"));
        client.task_status(name).await.unwrap_err();
    }
    assert_eq!(server.lines(), [""; 0]);
}

#[tokio::test]
async fn a_redirection_that_keeps_the_request_is_followed() {
    let target = ScriptedHttp::start([Json(200, json!({}))]).await;
    let to = format!("http://{}/v1/tasks/web", target.address());
    let server = ScriptedHttp::start([Redirect(307, to)]).await;
    client(&server).disable_task("web").await.unwrap();
    assert_eq!(target.lines(), [r#"PATCH /v1/tasks/web {"Enabled":false}"#]);
}

#[tokio::test]
async fn a_redirection_that_changes_the_request_is_not_followed() {
    let server = ScriptedHttp::start([Redirect(301, "https://cts.example/v1/tasks/web".into())]);
    let server = server.await;
    let client = client(&server);
    let refused = client
        .delete_task("web", false)
        .await
        .unwrap_err()
        .to_string();
    let expected = format!(
        "the API at http://{} redirects to https://cts.example/v1/tasks/web (status 301); ask there",
        server.address()
    );
    assert_eq!(refused, expected);
    assert_eq!(server.lines(), ["DELETE /v1/tasks/web"]);
}

/// A client with this token.
fn with_token(server: &ScriptedHttp, address: &str) -> ApiClient {
    let settings = ClientSettings {
        address: address.replace("SERVER", &server.address().to_string()),
        token: TokenSource::of(None, Some("cts_secret")),
        ..ClientSettings::default()
    };
    ApiClient::new(&settings).unwrap()
}

#[tokio::test]
async fn every_request_carries_the_token_and_nothing_shows_it() {
    for address in ["http://SERVER", "http://me:password@SERVER"] {
        let records = json!({"records": [], "request_id": "71a5b3b0"});
        let server = ScriptedHttp::start([Json(200, records), Json(404, json!({}))]).await;
        let client = with_token(&server, address);
        client.audit_records(AuditQuery::default()).await.unwrap();
        client.log("r", 0, true).await.unwrap_err();
        for request in server.requests() {
            assert_eq!(request.header("authorization"), Some("Bearer cts_secret"));
        }
        let shown = format!("{client:?}");
        assert!(!shown.contains("cts_secret"), "{shown}");
    }
}

#[tokio::test]
async fn a_token_does_not_follow_a_redirection_to_another_host() {
    let target = ScriptedHttp::start([Json(200, json!({}))]).await;
    let to = format!("http://{}/v1/tasks/web", target.address());
    let server = ScriptedHttp::start([Redirect(307, to)]).await;
    let client = with_token(&server, "http://SERVER");
    client.disable_task("web").await.unwrap();
    let headers = |server: &ScriptedHttp| {
        let request = server.requests().remove(0);
        request.header("authorization").map(str::to_owned)
    };
    assert_eq!(headers(&server).as_deref(), Some("Bearer cts_secret"));
    assert_eq!(headers(&target), None);
}

#[tokio::test]
async fn a_refused_credential_is_told_with_the_options_that_name_one() {
    for status in [401, 403] {
        let error = json!({"error": {"message": "no"}, "request_id": "71a5b3b0"});
        let server = ScriptedHttp::start([Json(status, error)]).await;
        let refused = client(&server).tasks().await.unwrap_err();
        let hint = refused.hint().unwrap();
        assert!(
            hint.contains("-token-file") && hint.contains("CTS_TOKEN"),
            "{hint}"
        );
    }
}

#[tokio::test]
async fn audit_records_are_asked_for_by_page() {
    let server = ScriptedHttp::start([Json(200, json!({"records": [{"number": 7}]}))]).await;
    let query = AuditQuery {
        limit: Some(5),
        before: Some(9),
    };
    let records = client(&server).audit_records(query).await.unwrap();
    assert_eq!(records[0].number, 7);
    assert_eq!(server.lines(), ["GET /v1/audit?limit=5&before=9"]);
}
