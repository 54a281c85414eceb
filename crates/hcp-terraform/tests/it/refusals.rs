//! Refusals, and how they are shown.

use cts_hcp_terraform::{ApiError, ProtocolProblem};
use cts_testkit::ScriptedAnswer;
use serde_json::json;

use crate::{TOKEN, json_answer, report, scripted};

type IsVariant = fn(&ApiError) -> bool;

#[tokio::test]
async fn each_refusal_is_a_variant_with_method_path_and_reasons() {
    let variants: [(u16, IsVariant); 9] = [
        (401, |error| matches!(error, ApiError::Unauthorized(_))),
        (403, |error| matches!(error, ApiError::Forbidden(_))),
        (404, |error| matches!(error, ApiError::NotFound(_))),
        (409, |error| matches!(error, ApiError::Conflict(_))),
        (400, |error| matches!(error, ApiError::Invalid(_))),
        (412, |error| matches!(error, ApiError::Invalid(_))),
        (422, |error| matches!(error, ApiError::Invalid(_))),
        (402, |error| matches!(error, ApiError::Refused(_))),
        (304, |error| matches!(error, ApiError::Protocol { .. })),
    ];
    for (status, is_expected) in variants {
        let body = json!({ "errors": [{
            "status": status.to_string(), "title": "no", "detail": "because",
            "source": { "pointer": "/data" },
        }] });
        let (http, server) = scripted([ScriptedAnswer::Json(status, body)]).await;
        let error = server.workspace("ws-1").await.unwrap_err();
        assert!(is_expected(&error), "{status}: {error:?}");
        assert!(!error.is_transient());
        assert_eq!(http.requests().len(), 2, "{status} is final");
        let text = report(&error);
        assert!(
            text.contains("GET /api/v2/workspaces/ws-1 at 127.0.0.1:"),
            "{text}"
        );
        if status != 304 {
            let refusal = error.refusal().unwrap();
            assert_eq!((refusal.status, refusal.details.len()), (status, 1));
            assert!(
                text.ends_with(&format!("has status {status}: no: because (/data)")),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn hostile_text_stays_on_one_line_and_the_token_is_left_out() {
    let text = format!("\u{1b}[31mred\r\nnext {TOKEN} {}", "y".repeat(1 << 20));
    let body = json!({ "errors": [{ "title": "t", "detail": text.clone() }] });
    let refusals = [
        ScriptedAnswer::Json(422, body),
        ScriptedAnswer::Text(422, "text/html", text),
    ];
    let (_http, server) = scripted(refusals).await;
    for _ in 0..2 {
        let error = server.workspace("ws-1").await.unwrap_err();
        for shown in [report(&error), format!("{error:?}")] {
            assert!(!shown.contains(TOKEN), "{shown}");
            assert!(!shown.chars().any(char::is_control), "{shown}");
            assert!(shown.len() < 1500, "{}", shown.len());
        }
    }
}

#[tokio::test]
async fn a_missing_workspace_or_state_is_no_error() {
    let missing = ScriptedAnswer::Json(404, json!({ "errors": [{ "title": "not found" }] }));
    let (_http, server) = scripted([missing.clone(), missing.clone(), missing]).await;
    assert_eq!(server.workspace_named("acme", "web").await.unwrap(), None);
    assert!(
        server
            .current_state_version("ws-1")
            .await
            .unwrap()
            .is_none()
    );
    let error = server.workspace("ws-1").await.unwrap_err();
    assert!(matches!(error, ApiError::NotFound(_)));
}

#[tokio::test]
async fn answers_that_are_too_long_or_incomplete_are_refused() {
    let huge = format!("{{\"data\": \"{}\"}}", "x".repeat(11 << 20));
    let script = [
        ScriptedAnswer::Text(200, "application/json", huge),
        json_answer(json!({ "data": { "id": "ws-1" } })),
    ];
    let (_http, server) = scripted(script).await;
    let error = server.workspace("ws-1").await.unwrap_err();
    let is_expected = matches!(
        error,
        ApiError::Protocol {
            problem: ProtocolProblem::TooLong { .. },
            ..
        }
    );
    assert!(is_expected, "{error:?}");
    let error = server.workspace("ws-1").await.unwrap_err();
    assert!(
        report(&error).contains("missing field `attributes`"),
        "{}",
        report(&error)
    );
}

#[tokio::test]
async fn names_that_would_be_another_path_are_not_sent() {
    let missing = ScriptedAnswer::Json(404, json!({}));
    let (http, server) = scripted([missing]).await;
    for name in ["", ".", ".."] {
        let error = server.workspace_named("acme", name).await.unwrap_err();
        assert!(matches!(error, ApiError::InvalidName { .. }), "{error}");
    }
    assert_eq!(http.requests().len(), 1);
    assert_eq!(server.workspace_named("a/b", "c?d#e").await.unwrap(), None);
    assert_eq!(
        http.requests()[1].line,
        "GET /api/v2/organizations/a%2Fb/workspaces/c%3Fd%23e"
    );
}
