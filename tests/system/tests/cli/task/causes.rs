//! `cts causes`, and runs by cause.

use serde_json::{Value, json};

use super::call::Call;
use super::{Conversation, ok, refused};

const ID: &str = "0197a000-0000-7000-8000-000000000002";

fn cause() -> Value {
    json!({
        "id": ID, "at": "2026-02-03T09:15:30Z", "lines": ["web −40", "api −12\u{1b}[31m"],
        "tasks": [
            {"state": "applied", "count": 12, "names": ["a", "b"]},
            {"state": "blocked", "count": 1, "names": ["c"]},
        ],
    })
}

#[tokio::test]
async fn causes_are_listed_and_shown() {
    let list = || ok(json!({"request_id": "x", "causes": [cause()], "next": ID}));
    let server = Conversation::with([list()]).await;
    let said = server.run(Call::cts(&["causes"]), &["GET /v1/causes?limit=20"]);
    let text = said.await.stdout;
    assert!(text.starts_with("ID "), "{text}");
    let row = format!(
        "{ID}  2026-02-03 09:15:30  web −40, api −12\\u{{1b}}[31m  12 applied: a b …, 1 blocked: c"
    );
    assert!(text.contains(&row), "{text}");

    let request = format!("GET /v1/causes?limit=1&from={ID}");
    let server = Conversation::with([list()]).await;
    let said = server.run(Call::cts(&["causes", ID]), &[&request]).await;
    assert!(said.stdout.contains(&row), "{said}");

    let server = Conversation::with([list()]).await;
    let call = Call::cts(&["causes", "-limit=7", "-o", "json"]);
    let said = server.run(call, &["GET /v1/causes?limit=7"]).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["causes"][0]["tasks"], cause()["tasks"]);
}

#[tokio::test]
async fn a_cause_that_is_not_there_and_an_old_scheduler_are_errors() {
    let request = format!("GET /v1/causes?limit=1&from={ID}");
    let server = Conversation::with([ok(json!({"causes": []}))]).await;
    let said = server.run(Call::cts(&["causes", ID]), &[&request]).await;
    assert_eq!(said.code, Some(11), "{said}");
    assert!(
        said.stderr.contains(&format!("there is no cause '{ID}'")),
        "{said}"
    );
    let old = refused(501, "the scheduler is of an earlier version");
    let server = Conversation::with([old]).await;
    let said = server
        .run(Call::cts(&["causes"]), &["GET /v1/causes?limit=20"])
        .await;
    assert_eq!(said.code, Some(11), "{said}");
    assert!(said.stderr.contains("earlier version"), "{said}");
}

#[tokio::test]
async fn the_runs_of_a_cause_are_listed() {
    let request = format!("GET /v1/runs?cause={ID}&limit=20");
    let server = Conversation::with([ok(json!({"runs": []}))]).await;
    let call = Call::cts(&["runs", "list", "-cause", ID]);
    let said = server.run(call, &[&request]).await;
    assert_eq!(said.code, Some(0), "{said}");
    let said = Call::cts(&["runs", "list", "-cause", "web"]).run().await;
    assert_ne!(said.code, Some(0), "{said}");
}
