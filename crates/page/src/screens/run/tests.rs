mod logs;

use http::StatusCode;
use serde_json::{Value, json};

use crate::testing::FakeApi;

const ID: &str = "0197a000-0000-7000-8000-000000000001";
const RUN: &str = "/v1/runs/0197a000-0000-7000-8000-000000000001?include=cause,attempts";
const PLAN: &str = "/v1/runs/0197a000-0000-7000-8000-000000000001/plan";
const INPUT: &str = "/v1/runs/0197a000-0000-7000-8000-000000000001/input";

/// Markup, an escape of a terminal and a mark that turns the direction of text.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\u{1b}[2J\u{202e}\"'&";
const SHOWN: &str = "&lt;img src=x onerror=alert(1)&gt;<i class=\"code\">U+001B</i>[2J\
                     <i class=\"code\">U+202E</i>&quot;&#39;&amp;";

fn screen() -> String {
    format!("runs/{ID}")
}

fn log(query: &str) -> String {
    format!("/v1/runs/{ID}/log?format=ndjson&{query}")
}

fn run() -> Value {
    json!({
        "id": ID, "task_name": "web", "kind": "apply", "status": "failed", "attempts": 2,
        "error": "exit status 1", "cause": ["web: +web-3"], "requested_by": "token \"ci\"",
        "cause_ids": ["0197a000-0000-7000-8000-000000000002"],
        "triggered_at": "2026-02-03T10:15:00Z", "queued_at": "2026-02-03T10:15:05Z",
        "started_at": "2026-02-03T10:15:06Z", "finished_at": "2026-02-03T10:15:26Z",
        "details": {"resources": {"added": 1, "changed": 0, "destroyed": 2, "imported": 0},
                    "error_code": "terraform-failed", "worker_version": "0.2.0"},
        "attempt_records": [
            {"number": 1, "worker": "w-1", "worker_id": "w-1-a", "ending": "lease_lost", "phase": "apply",
             "leased_at": "2026-02-03T10:15:06Z", "renewed_at": "2026-02-03T10:15:08Z",
             "ended_at": "2026-02-03T10:15:16Z"},
            {"number": 2, "worker": "w-2", "worker_id": "w-2-a", "ending": "failed", "error": "exit status 1",
             "leased_at": "2026-02-03T10:15:16Z", "renewed_at": "2026-02-03T10:15:20Z",
             "ended_at": "2026-02-03T10:15:26Z", "phases_ms": {"render": 500, "init": 1500, "apply": 7000}}
        ]
    })
}

fn plan() -> Value {
    let change = |address: &str, action: &str, attributes: Value| json!({"address": address, "action": action, "attributes": attributes});
    json!({
        "format_version": "1.2", "engine_version": "1.9.8", "extent": "all", "effect": "0af1",
        "counts": {"created": 1, "updated": 1, "deleted": 1, "replaced": 1, "read": 1, "unchanged": 1},
        "changes": [
            change("t.same", "none", json!([])),
            change("data.t.read", "read", json!([])),
            change("t.new", "create", json!([{"path": "id", "after": {"unknown": true}, "changed": true}])),
            change("t.changed", "update", json!([
                {"path": "port", "before": {"value": 80}, "after": {"value": 81.10}, "changed": true},
                {"path": "name", "before": {"value": "a"}, "after": {"value": "a"}, "changed": false},
            ])),
            change("t.replaced", "delete_then_create", json!([{"path": "zone", "before": {"value": "a"},
                "after": {"hidden": true}, "changed": true, "forces_replacement": true}])),
            change("t.gone", "delete", json!([{"path": "id", "before": {"value": "x"}, "changed": true}])),
        ],
        "outputs": [{"name": "address", "action": "update", "before": {"value": "a"}, "after": {"unknown": true}}],
    })
}

fn input() -> Value {
    json!({
        "task_name": "web", "basis": "applied", "compared_with": "0197a000-0000-7000-8000-000000000009",
        "notes": ["the module was changed"],
        "items": [
            {"list": "consul_kv", "name": "app/key", "value": {"hidden": true}},
            {"list": "services", "name": "web-1.n.dc1", "service": "web", "changed": true,
             "value": {"value": {"address": "10.0.0.1", "port": 81}},
             "before": {"value": {"address": "10.0.0.1", "port": 80}}},
            {"list": "services", "name": "web-2.n.dc1", "service": "web", "changed": true,
             "before": {"value": {"address": "10.0.0.2"}}},
        ],
    })
}

fn line(position: u64, text: &str) -> Value {
    json!({"position": position, "stream": "stdout", "text": text})
}

fn window() -> Value {
    json!({
        "lines": [
            line(3, "Initializing the backend..."),
            line(4, "t.gone: Destroying..."),
            {"position": 5, "stream": "stderr", "text": "Error: full"},
            line(6, "Initializing the backend..."),
        ],
        "last_position": 6,
        "attempts": [{"number": 1, "first_position": 1, "lines": 5}, {"number": 2, "first_position": 6, "lines": 1}],
    })
}

/// Answers about a run: itself, its plan, its input and the last lines of its log.
fn api_of(run: &Value, plan: &Value, input: &Value, window: &Value) -> FakeApi {
    let body = |name: &str, value: &Value| json!({ "request_id": "r", name: value }).to_string();
    FakeApi::new(&[
        (RUN, &body("run", run)),
        (PLAN, &body("plan", plan)),
        (INPUT, &input.to_string()),
        (&log("tail=1000"), &format!("{window}\n")),
    ])
}

fn api() -> FakeApi {
    api_of(&run(), &plan(), &input(), &window())
}

#[tokio::test]
async fn a_run_is_the_document_of_its_fragments() {
    let page = api().page_of_fragments(&screen(), "").await;
    let titles = ["Facts", "Time", "Plan", "Input", "Log"];
    let places = titles.map(|title| page.find(&format!("<h2>{title}</h2>")));
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}");
    assert!(!page.contains("id=\"found\""));
}

#[tokio::test]
async fn facts_name_state_reasons_times_and_results() {
    insta::assert_snapshot!(api().fragment(&screen(), "", "facts").await);
}

#[tokio::test]
async fn a_plan_begins_with_what_it_destroys() {
    insta::assert_snapshot!(api().fragment(&screen(), "", "plan").await);
}

#[tokio::test]
async fn an_input_begins_with_what_differs() {
    insta::assert_snapshot!(api().fragment(&screen(), "", "input").await);
}

#[tokio::test]
async fn hostile_text_stays_text_everywhere() {
    let mut run = run();
    for member in [
        "error",
        "waiting_for",
        "requested_by",
        "worker_id",
        "task_name",
    ] {
        run[member] = HOSTILE.into();
    }
    run["cause"] = json!([HOSTILE]);
    run["attempt_records"][1]["worker"] = HOSTILE.into();
    run["attempt_records"][1]["error"] = HOSTILE.into();
    run["remote_run"] = json!({"url": "javascript:alert(1)", "id": HOSTILE, "status": HOSTILE});
    run["details"]["diagnostics"] =
        json!([{"severity": "error", "summary": HOSTILE, "detail": HOSTILE, "snippet": HOSTILE}]);
    run["details"]["outputs"] = json!([{"name": HOSTILE, "value": HOSTILE}]);
    let mut plan = plan();
    plan["unclear"] = json!([HOSTILE]);
    plan["changes"][3]["address"] = HOSTILE.into();
    plan["changes"][3]["reason"] = HOSTILE.into();
    plan["changes"][3]["attributes"][0] = json!({"path": HOSTILE, "before": {"value": HOSTILE}, "after": {"value": {HOSTILE: 1}}, "changed": true});
    let mut input = input();
    input["notes"] = json!([HOSTILE]);
    input["items"][1]["name"] = HOSTILE.into();
    input["items"][1]["value"]["value"] = json!({HOSTILE: HOSTILE});
    let mut window = window();
    window["lines"][0]["text"] = HOSTILE.into();
    let page = api_of(&run, &plan, &input, &window)
        .page(&screen(), "")
        .await;
    for (part, times) in [
        ("<img", 0),
        ("\u{202e}", 0),
        ("\u{1b}", 0),
        ("href=\"javascript", 0),
    ] {
        assert_eq!(page.matches(part).count(), times, "{part:?}");
    }
    // In JSON, controls are escapes already.
    assert!(
        page.matches(SHOWN).count() >= 14,
        "{}",
        page.matches(SHOWN).count()
    );
}

#[tokio::test]
async fn parts_that_are_refused_say_why_and_break_nothing() {
    let outdated = "the scheduler is of an earlier version";
    let hidden = "values are hidden";
    let api = api()
        .refusing(PLAN, StatusCode::NOT_IMPLEMENTED, outdated)
        .refusing(INPUT, StatusCode::NOT_IMPLEMENTED, outdated)
        .refusing(&log("tail=1000"), StatusCode::FORBIDDEN, hidden);
    let page = api.page(&screen(), "").await;
    for section in [
        format!("<h2>Plan</h2>\n<p class=\"missing\"><bdi>{outdated}</bdi></p>"),
        format!("<h2>Input</h2>\n<p class=\"missing\">{outdated}</p>"),
        format!("<h2>Log</h2>\n<p class=\"missing\">The log is not shown: {hidden}</p>"),
    ] {
        assert!(page.contains(&section), "{section}\n{page}");
    }
    let failed = api.refusing(PLAN, StatusCode::SERVICE_UNAVAILABLE, "later");
    let plan = failed.fragment(&screen(), "", "plan").await;
    assert!(
        plan.contains("<h2>Plan</h2>\n<p class=\"problem\">later</p>"),
        "{plan}"
    );
}

#[tokio::test]
async fn without_a_plan_as_data_the_text_of_terraform_is_shown() {
    let mut run = run();
    run["plan"] =
        json!({"text": "Plan: 1 to add\n", "changes_present": true, "would_wait": "rule destroy"});
    let api = api_of(&run, &plan(), &input(), &window()).refusing(
        PLAN,
        StatusCode::NOT_FOUND,
        "no plan is kept",
    );
    let plan = api.fragment(&screen(), "", "plan").await;
    assert!(
        plan.contains("<p class=\"missing\"><bdi>no plan is kept</bdi></p>"),
        "{plan}"
    );
    assert!(
        plan.contains("<pre><bdi>Plan: 1 to add\n</bdi></pre>"),
        "{plan}"
    );
    let facts = api.fragment(&screen(), "", "facts").await;
    let consent = format!("<a href=\"/ui/approvals/{ID}\">An apply would wait for a person</a>");
    assert!(facts.contains(&consent), "{facts}");
}

#[tokio::test]
async fn limited_plans_say_what_is_missing() {
    for (extent, limit) in [
        (
            "addresses",
            "The plan was too large: its values are not kept.",
        ),
        ("counts", "Only the numbers of the changes are kept."),
    ] {
        let mut plan = plan();
        plan["extent"] = extent.into();
        let api = api_of(&run(), &plan, &input(), &window());
        let plan = api.fragment(&screen(), "", "plan").await;
        assert!(plan.contains(limit), "{plan}");
    }
}

#[tokio::test]
async fn a_huge_plan_is_counted_beyond_what_fits() {
    let mut plan = plan();
    let value = json!({"value": "v".repeat(4000)});
    let attributes: Vec<_> = (0..300)
        .map(|number| json!({"path": format!("a[{number}]"), "after": value, "changed": true}))
        .collect();
    plan["changes"][2]["attributes"] = attributes.into();
    let api = api_of(&run(), &plan, &input(), &window());
    let plan = api.fragment(&screen(), "", "plan").await;
    assert!(plan.len() < 1024 * 1024, "{}", plan.len());
    assert!(plan.contains("<summary>Attributes: 300</summary>"));
    assert!(plan.contains("Attributes that do not fit here: "));
    assert!(plan.find("t.gone") < plan.find("t.new"));
}

#[tokio::test]
async fn a_run_without_an_input_says_so() {
    let api = api().refusing(INPUT, StatusCode::CONFLICT, "the run has no input yet");
    let input = api.fragment(&screen(), "", "input").await;
    assert!(
        input.contains("<p class=\"missing\"><bdi>the run has no input yet</bdi></p>"),
        "{input}"
    );
}

#[tokio::test]
async fn an_unknown_run_has_no_screen() {
    use crate::reply::Reply;
    let reply = FakeApi::default().show("runs/%2e%2e%2Fx", "").await;
    let Reply::Page { status, html } = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        html.contains("no /v1/runs/..%2Fx?include=cause,attempts"),
        "{html}"
    );
}
