//! Logs by offset.

use cts_hcp_terraform::{ApiError, LogPiece, SignedUrl};
use cts_testkit::ScriptedAnswer;
use serde_json::json;

use crate::{json_answer, scripted};

fn text(text: &str) -> ScriptedAnswer {
    ScriptedAnswer::Text(200, "text/plain", text.to_owned())
}

fn log() -> SignedUrl {
    SignedUrl::from("/signed/log?s=1".to_owned())
}

#[tokio::test]
async fn a_log_is_read_piece_by_piece_to_its_end() {
    let beyond = ScriptedAnswer::Text(416, "text/plain", String::new());
    let script = [text("\u{2}ab"), beyond, text("cd\u{3}")];
    let (http, server) = scripted(script).await;
    let piece = |content: &str, next_offset, is_last| LogPiece {
        content: content.as_bytes().to_vec(),
        next_offset,
        is_last,
    };
    let log = log();
    assert_eq!(
        server.log_piece(&log, 0, 64).await.unwrap(),
        piece("ab", 3, false)
    );
    assert_eq!(
        server.log_piece(&log, 3, 64).await.unwrap(),
        piece("", 3, false)
    );
    assert_eq!(
        server.log_piece(&log, 3, 64).await.unwrap(),
        piece("cd", 6, true)
    );
    assert_eq!(
        http.requests()[3].line,
        "GET /signed/log?s=1&limit=64&offset=3"
    );
}

#[tokio::test]
async fn refuses_log_pieces_longer_than_requested() {
    let (_http, server) = scripted([text("longer")]).await;
    let error = server.log_piece(&log(), 0, 3).await.unwrap_err();
    assert!(matches!(error, ApiError::Protocol { .. }), "{error:?}");
}

#[tokio::test]
async fn a_plan_names_its_log() {
    let plan = json!({ "data": { "id": "plan-1", "type": "plans", "attributes": {
        "status": "managed_queued", "has-changes": true, "resource-additions": 2,
        "resource-changes": null, "log-read-url": "https://archivist/secret" } } });
    let (_http, server) = scripted([json_answer(plan)]).await;
    let log = server.plan_log("plan-1").await.unwrap();
    assert!(log.is_some());
    assert!(!format!("{log:?}").contains("secret"));
}
