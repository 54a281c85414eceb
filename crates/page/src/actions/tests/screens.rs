//! Screens of actions with unusual data.

use cts_core::callers::Role;
use serde_json::json;

use super::fake::{Fake, shown};

#[tokio::test]
async fn a_confirmation_has_no_button_when_nothing_is_left_to_do() {
    let ended = json!({"run": {"id": "1", "task_name": "web", "status": "succeeded"}});
    let api = Fake::new(&[
        ("GET /v1/status/tasks/web", 200, json!({"web": {}})),
        ("GET /v1/runs/1", 200, ended),
        ("GET /v1/brake", 200, json!({"set": false})),
        (
            "GET /v1/approvals?task=%2A",
            200,
            json!({"approvals": [], "set": ""}),
        ),
    ]);
    for path in [
        "tasks/web/release",
        "runs/1/cancel",
        "brake/release",
        "approvals/approve",
    ] {
        let html = shown(&api, Role::Admin, path).await;
        assert!(
            html.contains("id=\"confirm\"") && !html.contains("<button"),
            "{html}"
        );
    }
}

#[tokio::test]
async fn foreign_text_stays_text() {
    let evil = "<script>\u{202e}\"'&";
    let approval = json!({"run_id": evil, "task_name": evil, "effect": evil, "state": "rejected",
        "decided_by": evil, "comment": evil, "cause": [evil], "differs": [evil], "unclear": [evil]});
    let api = Fake::new(&[
        (
            "GET /v1/approvals",
            200,
            json!({"approvals": [approval], "set": ""}),
        ),
        ("GET /v1/approvals/x", 200, json!({"approval": approval})),
    ]);
    for address in ["approvals", "approvals/x"] {
        let html = shown(&api, Role::Admin, address).await;
        assert!(
            !html.contains("<script>") && !html.contains("\"'&"),
            "{html}"
        );
        assert!(html.contains("U+202E"), "{html}");
    }
}
