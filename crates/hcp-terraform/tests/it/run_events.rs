//! The user that has ended a run.

use cts_testkit::ScriptedAnswer;
use serde_json::{Value, json};

use crate::{json_answer, scripted};

fn events(actions: &[(&str, &str)]) -> ScriptedAnswer {
    let events = actions.iter().map(|(action, user)| {
        json!({
            "id": "re-1", "type": "run-events", "attributes": { "action": action },
            "relationships": { "actor": { "data": { "type": "users", "id": user } } },
        })
    });
    json_answer(json!({ "data": events.collect::<Vec<Value>>() }))
}

#[tokio::test]
async fn the_user_of_the_last_end_is_named() {
    let user = json!({ "data": {
        "id": "user-2", "type": "users", "attributes": { "username": "ada\u{1b}" } } });
    let actions = [
        ("queued", "user-1"),
        ("canceled", "user-1"),
        ("force_canceled", "user-2"),
        ("commented", "user-3"),
    ];
    let (http, server) = scripted([events(&actions), json_answer(user)]).await;
    let name = server.ended_by("run-1").await.unwrap();
    assert!(name.is_some_and(|name| name.starts_with("ada") && !name.contains('\u{1b}')));
    let requests = http.lines();
    assert!(requests[1].starts_with("GET /api/v2/runs/run-1/run-events"));
    assert!(requests[2].starts_with("GET /api/v2/users/user-2"));
}

#[tokio::test]
async fn a_server_that_does_not_show_the_user_is_no_failure() {
    let missing = || ScriptedAnswer::Json(404, json!({}));
    for script in [
        vec![missing()],
        vec![events(&[("queued", "user-1")])],
        vec![events(&[("discarded", "user-1")]), missing()],
    ] {
        let (_http, server) = scripted(script).await;
        assert_eq!(server.ended_by("run-1").await.unwrap(), None);
    }
}
