//! The calls of all screens against the document of the page.

use std::collections::BTreeSet;

use serde_json::json;

use crate::testing::{FakeApi, calls_of_page};

const ID: &str = "0197a000-0000-7000-8000-000000000001";

/// The call `GET path` as the document has it: without a query, and with names in the place of the task and the run.
fn documented(path: &str) -> String {
    let path = path.split('?').next().unwrap();
    let segments = path.split('/').map(|segment| match segment {
        "web" => "{name}",
        ID => "{id}",
        other => other,
    });
    format!("GET {}", segments.collect::<Vec<_>>().join("/"))
}

#[tokio::test]
async fn each_screen_makes_the_calls_of_the_document() {
    let run = json!({ "run": { "id": ID } });
    let api = FakeApi::new(&[
        ("/v1/tasks/web", json!({ "task": {} })),
        (
            "/v1/tasks/web/explain",
            json!({ "explanation": { "enabled": true } }),
        ),
        (&format!("/v1/runs/{ID}?include=cause,attempts"), run),
        (
            &format!("/v1/approvals/{ID}"),
            json!({ "approval": { "run_id": ID } }),
        ),
    ]);
    let rows = calls_of_page();
    let (run, approval) = (format!("runs/{ID}"), format!("approvals/{ID}"));
    for (path, query) in [
        ("", ""),
        ("tasks", ""),
        ("tasks/web", ""),
        ("runs", "cause=1"),
        (run.as_str(), "search=a"),
        ("approvals", ""),
        (approval.as_str(), ""),
        ("cluster", ""),
        ("audit", ""),
    ] {
        let _page = api.page(path, query).await;
        let made: BTreeSet<String> = api.paths().iter().map(|path| documented(path)).collect();
        let request = documented(path);
        let row = rows
            .iter()
            .find(|(requests, _)| requests.contains(&*request));
        let (_, calls) = row.unwrap_or_else(|| panic!("{request} is not in the document"));
        let calls: BTreeSet<String> = calls.iter().map(|call| (*call).to_owned()).collect();
        assert_eq!(made, calls, "{request}");
    }
}
