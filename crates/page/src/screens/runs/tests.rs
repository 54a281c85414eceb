use http::StatusCode;
use serde_json::{Value, json};

use crate::testing::FakeApi;

const CAUSE: &str = "0197a000-0000-7000-8000-000000000002";

fn runs() -> Value {
    json!({
        "request_id": "r",
        "runs": [
            {"id": "id-3", "task_name": "web<b>\u{202e}", "kind": "apply", "status": "queued", "state": "waiting",
             "queued_at": "2026-02-03T10:15:05Z", "cause_ids": [CAUSE]},
            {"id": "id-2", "task_name": "web", "kind": "destroy_plan", "status": "failed",
             "queued_at": "2026-02-03T10:15:05Z", "started_at": "2026-02-03T10:15:06Z",
             "finished_at": "2026-02-03T10:19:26Z", "requested_by": "token \"ci\"",
             "details": {"resources": {"added": 1}, "error_code": "terraform-failed"}},
            {"id": "id-1", "task_name": "web", "kind": "apply", "status": "succeeded", "cause_ids": ["a", "b"]},
        ],
        "next": "p 2",
    })
}

#[tokio::test]
async fn runs_are_rows_with_their_state_in_words() {
    let api = FakeApi::new(&[("/v1/runs?", &runs().to_string())]);
    insta::assert_snapshot!(api.fragment("runs", "", "runs").await);
    api.page_of_fragments("runs", "").await;
}

#[tokio::test]
async fn filters_and_place_are_in_the_address_and_in_the_call() {
    let call = format!("/v1/runs?task=web+1&status=failed&cause={CAUSE}&after=p+1");
    let causes = json!({"causes": [{"id": CAUSE, "at": "2026-02-03T10:15:05Z", "lines": ["web −40 <b>"],
                        "tasks": [{"state": "applied", "count": 30}, {"state": "failed", "count": 2}]}]});
    let api = FakeApi::new(&[
        (&call, &runs().to_string()),
        (
            &format!("/v1/causes?limit=1&from={CAUSE}"),
            &causes.to_string(),
        ),
    ]);
    let query = format!("task=web+1&status=failed&cause={CAUSE}&after=p+1");
    let page = api.page_of_fragments("runs", &query).await;
    for part in [
        // Another status begins with the newest run.
        &format!(
            "<a href=\"/ui/runs?task=web+1&#38;cause={CAUSE}&#38;status=waiting\">waiting</a>"
        ),
        &format!(
            "<a href=\"/ui/runs?task=web+1&#38;cause={CAUSE}&#38;status=failed\" aria-current=\"true\">failed</a>"
        ),
        "<input name=\"task\" value=\"web 1\"",
        "<input type=\"hidden\" name=\"status\" value=\"failed\">",
        &format!(
            "href=\"/ui/runs?task=web+1&#38;status=failed&#38;cause={CAUSE}&#38;after=p+2\" rel=\"next\""
        ),
        &format!("href=\"/ui/runs?task=web+1&#38;status=failed&#38;cause={CAUSE}\">Newest</a>"),
        "<li><bdi>web −40 &lt;b&gt;</bdi></li>",
        "<p>30 applied, 2 failed</p>",
        "<a href=\"/ui/runs?task=web+1&#38;status=failed\">Runs of all changes</a>",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[tokio::test]
async fn a_refused_list_is_named_in_its_place() {
    let api =
        FakeApi::default().refusing("/v1/runs?status=x", StatusCode::BAD_REQUEST, "bad <status>");
    let page = api.page("runs", "status=x").await;
    assert!(
        page.contains("<p class=\"problem\">bad &lt;status&gt;</p>"),
        "{page}"
    );
    let waiting = FakeApi::new(&[("/v1/runs?state=waiting", &runs().to_string())]);
    assert!(
        waiting
            .page("runs", "status=waiting")
            .await
            .contains("id-3")
    );
    let none = FakeApi::new(&[("/v1/runs?", "{\"runs\":[]}")]);
    assert!(
        none.page("runs", "")
            .await
            .contains("No such runs are kept.")
    );
}
