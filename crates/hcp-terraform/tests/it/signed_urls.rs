//! Signed URLs: without the token, and never shown.

use std::sync::Arc;

use bytes::Bytes;
use cts_hcp_terraform::{ApiError, Server, SignedUrl};
use cts_testkit::{ScriptedAnswer, ScriptedHttp};
use serde_json::json;

use crate::{Recorder, discover, json_answer, report, scripted, services, settings};

const SIGNATURE: &str = "b3c1-signature";

fn done() -> ScriptedAnswer {
    ScriptedAnswer::Text(200, "text/plain", String::new())
}

#[tokio::test]
async fn an_archive_is_uploaded_without_the_token_and_without_a_permit() {
    let archivist = ScriptedHttp::start([ScriptedAnswer::Close, done()]).await;
    let url = format!(
        "http://{}/object/{SIGNATURE}?s={SIGNATURE}",
        archivist.address()
    );
    let created = json!({ "data": { "id": "cv-1", "type": "configuration-versions", "attributes": {
        "status": "pending", "upload-url": url, "speculative": true, "error": null } } });
    let http = ScriptedHttp::start([json_answer(services()), json_answer(created)]).await;
    let budget = Arc::new(Recorder::default());
    let server = Server::discover(&settings(http.address()), Arc::clone(&budget) as _)
        .await
        .unwrap();
    let version = server
        .create_configuration_version("ws-1", true)
        .await
        .unwrap();
    assert!(!format!("{version:?}").contains(SIGNATURE), "{version:?}");
    assert!(version.speculative);
    let url = version.attributes.upload_url.unwrap();
    let archive = Bytes::from_static(b"archive");
    server.upload_configuration(&url, archive).await.unwrap();
    let upload = &archivist.requests()[1];
    assert_eq!(
        upload.line,
        format!("PUT /object/{SIGNATURE}?s={SIGNATURE}")
    );
    assert_eq!(upload.header("authorization"), None);
    assert_eq!(
        upload.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(upload.body, "archive");
    assert_eq!(*budget.permits.lock(), 1);
}

#[tokio::test]
async fn no_error_shows_a_signed_url_or_an_answer_that_may_quote_it() {
    let echo = format!("SignatureDoesNotMatch {SIGNATURE}");
    let script = [
        ScriptedAnswer::Text(403, "application/xml", echo.clone()),
        ScriptedAnswer::Text(500, "application/xml", echo.clone()),
        ScriptedAnswer::Text(418, "application/xml", echo),
        ScriptedAnswer::Redirect(302, format!("ftp://x/{SIGNATURE}")),
        ScriptedAnswer::Close,
    ];
    let archivist = ScriptedHttp::start(script).await;
    let (_http, server) = {
        let http = ScriptedHttp::start([json_answer(services())]).await;
        let mut settings = settings(http.address());
        settings.limits.retry_for = std::time::Duration::ZERO;
        let server = discover(&settings).await.unwrap();
        (http, server)
    };
    let url = |url: String| SignedUrl::from(url);
    let own = format!("http://{}/{SIGNATURE}?s={SIGNATURE}", archivist.address());
    let mut errors = Vec::new();
    for _ in 0..5 {
        errors.push(server.download_state(&url(own.clone())).await.unwrap_err());
    }
    for unusable in ["http://[", "ftp://x/", "http://127.0.0.1:1/"] {
        let unusable = url(format!("{unusable}{SIGNATURE}"));
        errors.push(server.log_piece(&unusable, 0, 10).await.unwrap_err());
        assert!(!format!("{unusable:?}").contains(SIGNATURE));
    }
    assert!(
        matches!(errors[0], ApiError::ExpiredUrl(_)),
        "{:?}",
        errors[0]
    );
    for error in errors {
        for shown in [report(&error), format!("{error:?}")] {
            assert!(!shown.contains(SIGNATURE), "{shown}");
            assert!(shown.contains("(signed URL)"), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_url_of_the_api_itself_gets_the_token_only_after_a_refusal() {
    let state = ScriptedAnswer::Text(200, "application/json", "{}".to_owned());
    let refused = ScriptedAnswer::Json(401, json!({}));
    let other = ScriptedHttp::start([refused.clone()]).await;
    let (http, server) = scripted([refused, state]).await;
    let url = SignedUrl::from("/api/state-versions/sv-1/hosted_state".to_owned());
    assert_eq!(server.download_state(&url).await.unwrap(), b"{}");
    let requests = http.requests();
    assert_eq!(requests[1].header("authorization"), None);
    assert!(requests[2].header("authorization").is_some());
    let url = SignedUrl::from(format!("http://{}/x", other.address()));
    let error = server.download_state(&url).await.unwrap_err();
    assert!(matches!(error, ApiError::ExpiredUrl(_)), "{error:?}");
    assert_eq!(other.requests().len(), 1);
}
