//! `task disable` (docs/cli.md#cts-task).

use cts_testkit::ScriptedAnswer::Text;
use insta::assert_snapshot;
use serde_json::json;

use super::call::Call;
use super::{Conversation, ok, refused};

const DISABLE: &str = r#"PATCH /v1/tasks/web {"Enabled":false}"#;

fn disable() -> Call {
    Call::original(&["task", "disable", "web"])
}

#[tokio::test]
async fn done() {
    let server = Conversation::with([ok(json!({}))]).await;
    assert_snapshot!(server.run(disable(), &[DISABLE]).await);
}

#[tokio::test]
async fn refusals_have_the_form_of_this_command() {
    let legacy = json!({"error": {"message": "no task name"}});
    let proxy = Text(502, "text/html", "<h1>Bad Gateway</h1>\n".into());
    for (answer, expected) in [
        (
            cts_testkit::ScriptedAnswer::Json(400, legacy),
            "request returned 400 status code with error: no task name",
        ),
        (
            refused(501, "not yet"),
            "request returned 501 status code with error: not yet",
        ),
        (
            proxy,
            "request returned 502 status code with error: <h1>Bad Gateway</h1>",
        ),
    ] {
        let server = Conversation::with([answer]).await;
        let said = server.run(disable(), &[DISABLE]).await;
        assert_eq!(said.code, Some(11), "{said}");
        assert!(
            said.stdout.ends_with(&format!("    {expected}\n")),
            "{said}"
        );
    }
}
