//! Wrong numbers of arguments, and where options may stand.

use insta::assert_snapshot;
use serde_json::json;

use super::call::Call;
use super::{Conversation, accepted, ok};

#[tokio::test]
async fn one_name_is_needed() {
    assert_snapshot!(Call::original(&["task", "delete"]).run().await);
    for command in ["enable", "disable"] {
        let said = Call::original(&["task", command]).run().await;
        assert_eq!(said.code, Some(13), "{said}");
        assert_eq!(
            said.stderr,
            "==> Error: this command requires one argument\n"
        );
    }
    for command in ["show", "events", "run"] {
        let said = Call::cts(&["task", command]).run().await;
        assert_eq!(said.code, Some(13), "{said}");
        assert_eq!(said.stdout, "", "{said}");
        assert!(said.stderr.contains("<TASK NAME>"), "{said}");
    }
}

#[tokio::test]
async fn one_name_is_enough() {
    assert_snapshot!(Call::cts(&["task", "disable", "web", "api"]).run().await);
}

#[tokio::test]
async fn original_takes_an_option_after_the_name_as_another_name() {
    let call = Call::original(&["task", "delete", "web", "-auto-approve"]);
    assert_snapshot!(call.run().await);
}

#[tokio::test]
async fn cts_accepts_an_option_after_the_name() {
    let here = ok(json!({"task": {"name": "web"}}));
    let server = Conversation::with([here, accepted()]).await;
    let call = Call::cts(&["task", "delete", "web", "-auto-approve"]);
    let requests = ["GET /v1/tasks/web", "DELETE /v1/tasks/web"];
    let said = server.run(call, &requests).await;
    assert_eq!(said.code, Some(0), "{said}");
}

#[tokio::test]
async fn options_that_do_not_exist_are_no_options() {
    for call in [
        Call::original(&["task", "disable", "-auto-approve", "web"]),
        Call::original(&["task", "delete", "-wait", "web"]),
        Call::original(&["task", "delete", "-retain", "web"]),
        Call::original(&["task", "delete", "-port=x", "web"]),
        Call::cts(&["task", "show", "-o", "yaml", "web"]),
    ] {
        let said = call.run().await;
        assert_eq!(said.code, Some(14), "{said}");
    }
}

#[tokio::test]
async fn a_switch_can_be_set_to_false() {
    let here = ok(json!({"task": {"name": "web"}}));
    let server = Conversation::with([here]).await;
    let call = Call::original(&["task", "delete", "-auto-approve=false", "web"]).input("no\n");
    let said = server.run(call, &["GET /v1/tasks/web"]).await;
    said.stdout_has(["Cancelled deleting task 'web'"]);
}

#[tokio::test]
async fn a_name_may_look_like_anything() {
    let server = Conversation::with([ok(json!({})), ok(json!({}))]).await;
    let said = server
        .call(Call::original(&["task", "disable", "--", "-x"]))
        .run()
        .await;
    assert_eq!(said.code, Some(0), "{said}");
    let said = server
        .call(Call::original(&["task", "disable", "a/b"]))
        .run()
        .await;
    assert_eq!(said.code, Some(0), "{said}");
    let expected = [
        r#"PATCH /v1/tasks/-x {"Enabled":false}"#,
        r#"PATCH /v1/tasks/a%2Fb {"Enabled":false}"#,
    ];
    assert_eq!(server.server.lines(), expected);
}
