use http::StatusCode;
use serde_json::json;

use crate::testing::FakeApi;

const FIRST: &str = "/v1/audit?limit=200";

#[tokio::test]
async fn records_name_caller_call_and_outcome() {
    let records = json!({"records": [
        {"number": 7, "time": "2026-02-03T10:15:30Z", "caller_kind": "user", "caller": "ann\u{202e}<b>",
         "issuer": "https://login.example", "address": "10.0.0.1", "action": "task.update", "target": "web",
         "arguments": {"enabled": "true", "run": "now"}, "outcome": "done", "request_id": "q-1", "count": 1},
        {"number": 6, "caller_kind": "anonymous", "action": "request", "target": "GET /v1/tasks",
         "outcome": "refused", "reason": "no credential", "count": 50},
    ]});
    let api = FakeApi::new(&[(FIRST, &records.to_string())]);
    api.page_of_fragments("audit", "").await;
    insta::assert_snapshot!(api.fragment("audit", "", "records").await);
}

#[tokio::test]
async fn pages_go_on_with_smaller_numbers() {
    let records: Vec<_> = (301..=500)
        .rev()
        .map(|number| json!({"number": number}))
        .collect();
    let page = json!({ "records": records }).to_string();
    let api = FakeApi::new(&[(FIRST, &page), ("/v1/audit?limit=200&before=501", &page)]);
    let newest = api.page("audit", "before=x").await;
    assert!(
        newest.contains("<a href=\"/ui/audit?before=301\" rel=\"next\">Older</a>"),
        "{newest}"
    );
    assert!(!newest.contains("Newest"));
    let later = api.page("audit", "before=501").await;
    assert!(
        later.contains("<a href=\"/ui/audit\">Newest</a>"),
        "{later}"
    );
}

#[tokio::test]
async fn without_authentication_the_reason_stands_in_the_place_of_the_records() {
    let reason = "the audit records need authentication (security.require_auth)";
    let api = FakeApi::default().refusing(FIRST, StatusCode::FORBIDDEN, reason);
    let page = api.page("audit", "").await;
    assert!(
        page.contains(&format!("<p class=\"missing\">{reason}</p>")),
        "{page}"
    );
}
