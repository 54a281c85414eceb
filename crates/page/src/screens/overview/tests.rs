use http::StatusCode;
use serde_json::{Value, json};

use super::*;
use crate::testing::{FakeApi, HOSTILE, admin, html};
use crate::viewer::Viewer;

const AT: &str = "2026-02-03T10:15:30Z";

fn overview() -> Value {
    json!({
        "problems": [
            { "text": "no scheduler leads, so changes are not looked at; see the logs of the schedulers" },
            { "task_name": "web", "text": "exit status 1",
              "state": { "name": "retrying", "since": AT, "until": "2026-02-03T10:16:30Z", "text": "exit status 1" } },
        ],
        "more_problems": 3,
        "members": [{ "id": "cts-1", "healthy": true, "leader": false, "silent_for_seconds": 2 }],
        "workers": [{ "id": "w-1", "host": "w-1", "condition": "active", "running": 1, "slots": 4,
            "problem": "no room" }],
        "watchers": [{ "address": "10.0.0.1:8561", "healthy": false, "since": AT, "reason": "refused" }],
        "queue": { "queued": 3, "awaiting_consent": 1, "ready": 2, "running": 1, "slots": 4, "waiting": [] },
        "data": { "views": 41, "incomplete": 0, "unreadable": 1, "unreadable_since": AT, "reason": "403" },
        "tasks": { "retrying": 1, "successful": 9 },
        "at": AT,
        "brake": null,
    })
}

fn causes() -> Value {
    json!({ "causes": [{
        "id": "0197a000-0000-7000-8000-000000000001",
        "at": AT,
        "lines": ["web −40", "api +1", "db −1", "kv edge"],
        "tasks": [
            { "state": "applied", "count": 30, "names": ["web", "api"] },
            { "state": "failed", "count": 1, "names": ["db"] },
        ],
    }] })
}

fn running() -> Value {
    json!({ "total": 23, "pages": 1, "tasks": [{ "name": "web", "state": {
        "name": "running", "since": AT, "text": "apply", "run_id": "0197a000-0000-7000-8000-000000000002",
        "worker": "w-1", "phase": "init", "phase_since": AT } }] })
}

fn times() -> Value {
    let phases = |count| json!({ "applied": { "count": count, "p50_ms": 6291, "p95_ms": 12582, "p99_ms": 29360 } });
    json!({
        "interval_seconds": 3600,
        "total": { "at": "2026-02-02T10:00:00Z", "phases": phases(812) },
        "intervals": [
            { "at": "2026-02-02T10:00:00Z", "phases": phases(31) },
            { "at": "2026-02-03T09:00:00Z", "phases": phases(1) },
            { "at": "2026-02-03T10:00:00Z", "phases": { "waiting": { "count": 1 } } },
        ],
    })
}

fn api(overview: Value) -> FakeApi {
    FakeApi::new(&[
        (OVERVIEW, overview),
        (CAUSES, causes()),
        (RUNNING, running()),
        (TIMES, times()),
    ])
}

#[tokio::test]
async fn the_overview_is_its_fragments_and_asks_once_for_each_answer() {
    let api = api(overview());
    let page = api.page_of_fragments("", "").await;
    for part in [
        "5 problems.",
        "10 tasks<bdi>: 1 retrying, 9 successful</bdi>.",
        "web −40",
        "Why?",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    api.paths();
    let _page = api.page("", "").await;
    let mut paths = api.paths();
    paths.sort();
    let mut expected = [OVERVIEW, CAUSES, RUNNING, TIMES];
    expected.sort_unstable();
    assert_eq!(paths, expected);
}

#[tokio::test]
async fn stages_that_stand_still_are_marked_by_a_word() {
    insta::assert_snapshot!(api(overview()).fragment("", "", "pipeline").await);
    let well = json!({
        "members": [{ "id": "cts-1", "healthy": true, "leader": true }],
        "workers": [{ "id": "w-1", "condition": "active" }],
        "tasks": { "successful": 2 },
    });
    let strip = api(well).fragment("", "", "pipeline").await;
    assert!(!strip.contains("stale"), "{strip}");
    assert!(strip.contains("within the scheduler"), "{strip}");
}

#[tokio::test]
async fn problems_have_their_next_step() {
    insta::assert_snapshot!(api(overview()).fragment("", "", "problems").await);
    let none = api(json!({})).fragment("", "", "problems").await;
    assert!(none.contains("None."), "{none}");
}

#[tokio::test]
async fn causes_are_cards_with_what_came_of_them() {
    insta::assert_snapshot!(api(overview()).fragment("", "", "causes").await);
}

#[tokio::test]
async fn running_tasks_have_their_phase() {
    let table = api(overview()).fragment("", "", "running").await;
    for part in [
        "init",
        "<time datetime=\"2026-02-03T10:15:30Z\">",
        "w-1",
        "All 23 running tasks",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
}

#[tokio::test]
async fn times_are_a_band_and_a_table() {
    insta::assert_snapshot!(
        api(overview())
            .fragment("", "", "times")
            .await
            .replace("<rect", "\n<rect")
    );
    let none = api(overview()).with(TIMES, StatusCode::OK, &json!({ "intervals": [] }));
    let none = none.fragment("", "", "times").await;
    assert!(none.contains("No change was applied."), "{none}");
}

#[tokio::test]
async fn a_set_brake_is_the_first_line() {
    let mut answer = overview();
    answer["brake"] = json!({
        "configured": true, "set": true, "since": AT, "lost": 230, "of": 1000, "limit": 200, "held": 41,
        "losses": [{ "service": "web", "datacenter": "dc2", "before": 120, "now": 3 }], "more_losses": 4,
        "leased": [{ "task_name": "edge", "run_id": "r", "to_confirm": true }],
    });
    let page = api(answer.clone()).page_of_fragments("", "").await;
    let place = |text: &str| page.find(text).unwrap();
    assert!(place("230 of 1000 instances are lost") < place("5 problems."));
    assert!(
        page.contains("web</bdi> in <bdi>dc2</bdi>: 120 → 3"),
        "{page}"
    );
    assert!(page.contains("and 4 more services"), "{page}");
    answer["brake"]["set"] = json!(false);
    let line = api(answer).fragment("", "", "brake").await;
    assert!(
        line.ends_with("data-live=\"overview\"></section>"),
        "{line}"
    );
}

#[tokio::test]
async fn an_answer_that_is_missing_is_shown_in_its_place() {
    let api = api(overview()).refusing(
        CAUSES,
        StatusCode::NOT_IMPLEMENTED,
        "the schedulers are of an earlier version",
    );
    let page = api.page_of_fragments("", "").await;
    assert!(page.contains("<p class=\"missing\">the schedulers are of an earlier version</p>"));
    assert!(page.contains("5 problems."));
    let away = FakeApi::default();
    let page = away.page_of_fragments("", "").await;
    assert!(
        page.contains("<p class=\"problem\">no /v1/overview</p>"),
        "{page}"
    );
}

#[tokio::test]
async fn a_caller_who_sees_some_tasks_is_not_shown_the_times_of_all() {
    let viewer = Viewer {
        all_tasks: false,
        ..admin()
    };
    let api = api(json!({}));
    let (_, page) = html(api.show_to(&viewer, "", "").await);
    assert!(!page.contains("id=\"times\""), "{page}");
    assert!(page.contains("not shown to you"), "{page}");
}

#[tokio::test]
async fn names_of_others_stay_text() {
    let hostile = json!({
        "problems": [{ "text": HOSTILE }, { "task_name": HOSTILE, "state": { "name": "errored", "text": HOSTILE } }],
        "members": [{ "id": HOSTILE, "leader": true }],
        "watchers": [{ "address": HOSTILE, "reason": HOSTILE }],
        "tasks": { HOSTILE: 1 },
        "brake": { "set": true, "losses": [{ "service": HOSTILE, "datacenter": HOSTILE }] },
    });
    let cause = json!({ "causes": [{ "id": HOSTILE, "lines": [HOSTILE, "x".repeat(1_000_000)],
        "tasks": [{ "state": "failed", "count": 1, "names": [HOSTILE] }] }] });
    let running = json!({ "total": 1, "pages": 1, "tasks": [{ "name": HOSTILE, "state": {
        "name": "running", "text": HOSTILE, "run_id": HOSTILE, "worker": HOSTILE } }] });
    let api = FakeApi::new(&[(OVERVIEW, hostile), (CAUSES, cause), (RUNNING, running)]);
    let page = api.page_of_fragments("", "").await;
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;<i class=\"code\">U+202E</i>"),
        "{page}"
    );
    assert!(page.len() < 30_000, "{}", page.len());
}
