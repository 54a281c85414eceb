//! Where the API is.

use cts_hcp_terraform::{ApiError, ProtocolProblem};
use cts_testkit::{ScriptedAnswer, ScriptedHttp};
use serde_json::{Value, json};

use crate::{discover, json_answer, report, run, scripted, settings};

async fn base(service: Value) -> Result<String, ApiError> {
    let http = ScriptedHttp::start([json_answer(json!({ "tfe.v2": service }))]).await;
    let server = discover(&settings(http.address())).await?;
    let own = format!("http://{}", http.address());
    Ok(server.base().as_str().replace(&own, "OWN"))
}

#[tokio::test]
async fn the_base_is_relative_or_absolute_and_may_be_on_another_host() {
    for (service, expected) in [
        ("/api/v2/", "OWN/api/v2/"),
        ("/api/v2", "OWN/api/v2/"),
        ("../prefix/api", "OWN/prefix/api/"),
        (
            "https://api.example.net:8443/v2/",
            "https://api.example.net:8443/v2/",
        ),
        ("https://api.example.net", "https://api.example.net/"),
    ] {
        assert_eq!(base(json!(service)).await.unwrap(), expected, "{service}");
    }
}

#[tokio::test]
async fn a_host_without_a_usable_service_is_refused() {
    for service in [
        json!(null),
        json!({}),
        json!("ftp://x/"),
        json!("/api/v2/?x=y"),
        json!("https://user:word@x/"),
    ] {
        let error = base(service.clone()).await.unwrap_err();
        let is_expected = matches!(
            &error,
            ApiError::Protocol {
                problem: ProtocolProblem::NoService,
                ..
            }
        );
        assert!(is_expected, "{service}: {}", report(&error));
    }
    let page = ScriptedAnswer::Text(200, "text/html", "<html>".to_owned());
    let http = ScriptedHttp::start([page]).await;
    let error = discover(&settings(http.address())).await.unwrap_err();
    let text = report(&error);
    assert!(
        text.contains("GET /.well-known/terraform.json at 127.0.0.1:"),
        "{text}"
    );
    assert!(text.contains("not the documented JSON"), "{text}");
}

#[tokio::test]
async fn the_document_is_read_once_without_the_token() {
    let run = run("run-1", "planning", "m");
    let answers = [json!({ "data": run.clone() }), json!({ "data": run })];
    let (http, server) = scripted(answers.map(json_answer)).await;
    server.run("run-1").await.unwrap();
    server.clone().run("run-1").await.unwrap();
    let requests = http.requests();
    let lines: Vec<_> = requests.iter().map(|request| &*request.line).collect();
    assert_eq!(
        lines,
        [
            "GET /.well-known/terraform.json",
            "GET /api/v2/runs/run-1",
            "GET /api/v2/runs/run-1"
        ]
    );
    assert_eq!(requests[0].header("authorization"), None);
    assert!(requests[1].header("authorization").is_some());
}

#[tokio::test]
async fn plain_http_is_refused_in_what_a_secure_host_names() {
    let mut settings = settings("127.0.0.1:1");
    settings.allow_plain_http = false;
    let error = discover(&settings).await.unwrap_err();
    assert!(report(&error).contains("only used with https"), "{error}");
}
