//! Lists of several pages.

use cts_hcp_terraform::{ApiError, ProtocolProblem};
use serde_json::{Value, json};

use crate::{json_answer, run, scripted};

fn pool(name: &str) -> Value {
    json!({ "id": format!("apool-{name}"), "type": "agent-pools", "attributes": { "name": name } })
}

fn page(data: &[Value], next: Option<u32>) -> Value {
    json!({ "data": data, "meta": { "pagination": { "next-page": next, "total-pages": 9 } } })
}

#[tokio::test]
async fn a_pool_is_found_by_its_exact_name_on_any_page() {
    let script = [
        page(&[pool("edge-2"), pool("my-edge")], Some(2)),
        page(&[pool("edge")], None),
        page(&[pool("Edge")], None),
    ];
    let (http, server) = scripted(script.map(json_answer)).await;
    let found = server.agent_pool("acme corp", "edge").await.unwrap();
    assert_eq!(found.unwrap().id, "apool-edge");
    assert_eq!(server.agent_pool("acme", "edge").await.unwrap(), None);
    assert_eq!(
        http.lines()[1..3],
        [
            "GET /api/v2/organizations/acme%20corp/agent-pools?q=edge&page%5Bnumber%5D=1&page%5Bsize%5D=100",
            "GET /api/v2/organizations/acme%20corp/agent-pools?q=edge&page%5Bnumber%5D=2&page%5Bsize%5D=100",
        ]
    );
}

#[tokio::test]
async fn a_list_without_numbers_is_one_page() {
    let (_http, server) = scripted([json_answer(json!({ "data": [] }))]).await;
    assert!(server.variables("ws-1").await.unwrap().is_empty());
}

#[tokio::test]
async fn pages_that_lead_back_are_not_followed() {
    let script = [page(&[], Some(2)), page(&[], Some(2))];
    let (_http, server) = scripted(script.map(json_answer)).await;
    let error = server.tags("ws-1").await.unwrap_err();
    let is_expected = matches!(
        error,
        ApiError::Protocol {
            problem: ProtocolProblem::EndlessPages,
            ..
        }
    );
    assert!(is_expected, "{error}");
}

#[tokio::test]
async fn a_run_is_found_by_its_message_then_by_the_search() {
    let newest = page(&[run("run-9", "pending", "other [b]")], Some(2));
    let searched = page(
        &[
            run("run-1", "applied", "task: change [a]"),
            run("run-0", "applied", "[a]"),
        ],
        None,
    );
    let (http, server) = scripted([newest.clone(), newest, searched].map(json_answer)).await;
    let found = async |part| {
        let found = server.run_with_message("ws-1", part).await.unwrap();
        found.map(|run| run.id)
    };
    assert_eq!(found("[b]").await.as_deref(), Some("run-9"));
    assert_eq!(found("[a]").await.as_deref(), Some("run-1"));
    let lines = http.lines();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[3].contains("search%5Bbasic%5D=%5Ba%5D"), "{lines:?}");
}
