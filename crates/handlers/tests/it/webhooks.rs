//! Messages to receivers.

use std::time::Duration;

use cts_handlers::{HandlersError, WebhookSettings};
use cts_testkit::{ScriptedAnswer, ScriptedHttp, assert_contains};
use cts_tls::ClientFiles;
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;

use crate::stage::{PACE, applied, handlers, request};

const SECRET: &str = "signing-secret";

fn settings(url: &str) -> WebhookSettings {
    WebhookSettings {
        name: "tickets".to_owned(),
        url: url.into(),
        secret: Some(SECRET.into()),
        timeout: Duration::from_secs(5),
        retries: 3,
        tls: ClientFiles::default(),
        server_name: None,
    }
}

async fn deliver(webhook: WebhookSettings) -> Result<(), HandlersError> {
    let mut request = request();
    request.names = vec![webhook.name.clone()];
    request.webhooks = vec![webhook];
    let chain = handlers(PACE).prepare(&request).unwrap();
    chain.run(&applied()).await
}

fn status(status: u16) -> ScriptedAnswer {
    ScriptedAnswer::Json(status, Value::Null)
}

fn url(receiver: &ScriptedHttp) -> String {
    format!(
        "http://{}/hooks/token-in-path?key=in-query",
        receiver.address()
    )
}

#[tokio::test]
async fn a_message_says_what_was_applied_and_is_signed() {
    let receiver = ScriptedHttp::start([status(204)]).await;
    deliver(settings(&url(&receiver))).await.unwrap();
    let [sent] = receiver.requests().try_into().unwrap();
    assert_eq!(sent.line, "POST /hooks/token-in-path?key=in-query");
    let body: Value = serde_json::from_str(&sent.body).unwrap();
    let expected = json!({
        "version": 1, "event": "task.applied", "webhook": "tickets", "task": "edge",
        "run": "00000000-0000-7000-8000-000000000001", "attempt": 2, "time": "2023-11-14T22:13:20.005Z",
        "input": "0123", "services": ["api", "web"], "service_count": 2,
    });
    assert_eq!(body, expected);
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(
        sent.header("idempotency-key"),
        Some("00000000-0000-7000-8000-000000000001.3.0123/tickets")
    );
    let timestamp = sent.header("x-cts-timestamp").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{timestamp}.{}", sent.body).as_bytes());
    let signature = format!("{:x}", mac.finalize().into_bytes());
    assert_eq!(
        sent.header("x-cts-signature"),
        Some(format!("v1={signature}").as_str())
    );
}

#[tokio::test]
async fn without_a_secret_there_is_no_signature() {
    let receiver = ScriptedHttp::start([status(200)]).await;
    let unsigned = WebhookSettings {
        secret: None,
        ..settings(&url(&receiver))
    };
    deliver(unsigned).await.unwrap();
    assert_eq!(receiver.requests()[0].header("x-cts-signature"), None);
}

#[tokio::test]
async fn temporary_failures_are_retried_with_the_same_key() {
    let script = [status(503), status(429), ScriptedAnswer::Close, status(200)];
    let receiver = ScriptedHttp::start(script).await;
    deliver(settings(&url(&receiver))).await.unwrap();
    let requests = receiver.requests();
    assert_eq!(requests.len(), 4);
    for again in &requests {
        assert_eq!(again.body, requests[0].body);
        assert_eq!(
            again.header("idempotency-key"),
            requests[0].header("idempotency-key")
        );
    }
}

#[tokio::test]
async fn lasting_failure_is_an_error_after_all_retries() {
    let receiver = ScriptedHttp::start(vec![status(500); 9]).await;
    let text = deliver(settings(&url(&receiver)))
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(receiver.requests().len(), 4);
    assert_contains(
        &text,
        ["webhook \"tickets\" was not delivered: the receiver answers 500"],
    );
    assert!(!text.contains("token-in-path"), "{text}");
}

#[tokio::test]
async fn other_refusals_and_redirects_are_final() {
    let elsewhere = ScriptedHttp::start([status(200)]).await;
    let redirect = ScriptedAnswer::Redirect(307, url(&elsewhere));
    for (answer, expected) in [
        (status(400), "400"),
        (status(401), "401"),
        (redirect, "307"),
    ] {
        let receiver = ScriptedHttp::start([answer, status(200)]).await;
        let text = deliver(settings(&url(&receiver)))
            .await
            .unwrap_err()
            .to_string();
        assert_contains(&text, [&format!("the receiver answers {expected}")]);
        assert_eq!(receiver.requests().len(), 1);
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_an_error_without_the_url() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let text = deliver(settings(&format!("http://{address}/token-in-path"))).await;
    let text = text.unwrap_err().to_string();
    assert!(text.contains("the receiver cannot be reached"), "{text}");
    assert!(!text.contains("token-in-path"), "{text}");
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_is_given_up() {
    let receiver = ScriptedHttp::start([ScriptedAnswer::Hang]).await;
    let hasty = WebhookSettings {
        timeout: Duration::from_millis(200),
        retries: 0,
        ..settings(&url(&receiver))
    };
    let text = deliver(hasty).await.unwrap_err().to_string();
    assert!(text.contains("the receiver cannot be reached"), "{text}");
}

#[tokio::test]
async fn preparation_refuses_unknown_and_unusable_webhooks() {
    let mut request = request();
    request.names = vec!["tickets".to_owned()];
    let prepared = |request: &cts_handlers::HandlerRequest| {
        let error = handlers(PACE).prepare(request).unwrap_err();
        cts_core::Chain(&error).to_string()
    };
    let unknown = "the task names the webhook \"tickets\", but the configuration of this worker has no such `webhook` block";
    assert_eq!(prepared(&request), unknown);
    for wrong in ["token-in-path", "ftp://h/token-in-path"] {
        request.webhooks = vec![settings(wrong)];
        let text = prepared(&request);
        assert_contains(&text, ["webhook \"tickets\" cannot be used: `url` is not"]);
        assert!(!text.contains("token-in-path"), "{text}");
    }
    let mut untrusting = settings("https://h/");
    untrusting.tls.authorities = cts_tls::Authorities::of(Some("/nowhere/ca.pem".as_ref()), None);
    request.webhooks = vec![untrusting];
    assert!(prepared(&request).contains("/nowhere/ca.pem"));
}

#[tokio::test]
async fn url_and_secret_are_known_as_secrets() {
    let mut request = request();
    request.names = vec!["tickets".to_owned()];
    request.webhooks = vec![settings(
        "https://user:pass-word@h/token-in-path?key=in-query",
    )];
    let chain = handlers(PACE).prepare(&request).unwrap();
    let secrets: Vec<_> = chain.secrets().collect();
    for secret in [
        "https://user:pass-word@h/token-in-path?key=in-query",
        "pass-word",
        "key=in-query",
        SECRET,
    ] {
        assert!(secrets.contains(&secret), "{secret}");
    }
}
