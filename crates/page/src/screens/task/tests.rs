use http::StatusCode;
use serde_json::json;

use super::*;
use crate::testing::{FakeApi, HOSTILE, admin, html};
use crate::viewer::{Leave, Viewer};

const RUN: &str = "0197a000-0000-7000-8000-00000000000";

fn run(number: u32, minute: u32, status: &str) -> Value {
    json!({
        "id": format!("{RUN}{number}"), "task_name": "web", "kind": "apply", "status": status, "attempts": 1,
        "triggered_at": format!("2026-02-03T10:{minute:02}:00Z"), "queued_at": format!("2026-02-03T10:{minute:02}:05Z"),
        "started_at": format!("2026-02-03T10:{minute:02}:06Z"), "finished_at": format!("2026-02-03T10:{minute:02}:16Z"),
        "cause": ["web: +web-3, api-2 port 80 → 81"], "cause_ids": ["c-1"],
        "details": { "resources": { "added": 1, "changed": 2, "destroyed": 0, "imported": 0 },
            "phases_ms": { "init": 1100, "apply": 8000 } },
    })
}

fn explanation() -> Value {
    json!({ "explanation": {
        "task_name": "web", "revision": 7, "enabled": true, "phase": "ready", "as_of": "2026-02-03T11:00:00Z",
        "views": [
            { "name": "health.service(web)", "complete": true, "triggers": true, "changed_at": "2026-02-03T10:59:00Z" },
            { "name": "kv(edge)", "complete": true, "triggers": false, "changed_at": "2026-02-03T10:40:00Z",
              "problem": { "text": "403", "since": "2026-02-03T10:45:00Z" } },
            { "name": "health.service(api)", "complete": true, "triggers": true, "changed_at": "2026-02-03T10:15:00Z" },
        ],
        "buffered_until": "2026-02-03T11:00:05Z",
        "last_decision": { "kind": "skipped_unchanged", "at": "2026-02-03T10:50:00Z", "text": "nothing is new" },
        "last_run": run(1, 15, "succeeded"),
        "obstacles": [{ "kind": "buffering", "text": "the buffer period", "until": "2026-02-03T11:00:05Z" }],
        "state": { "name": "waiting", "until": "2026-02-03T11:00:05Z", "text": "the buffer period" },
    } })
}

fn task(name: &str) -> Value {
    json!({ "task": {
        "name": name, "module": "./modules/lb", "description": "Pool", "enabled": true, "version": "",
        "providers": ["bigip.east", "dns"], "variables": { "size": "3" },
        "condition": { "services": { "names": ["web", "api"], "use_as_module_input": true, "regexp": null } },
        "buffer_period": { "enabled": true, "min": "5s", "max": "20s" },
    } })
}

fn state() -> Value {
    json!({ "task": "web", "state": { "lineage": "0b6ac7e1", "serial": 12, "moves": 1,
        "recorded_at": "2026-02-03T10:15:30Z" }, "conflict": null, "keep": null, "from": null })
}

fn api() -> FakeApi {
    FakeApi::new(&[
        ("/v1/tasks/web", task("web")),
        ("/v1/tasks/web/explain", explanation()),
        ("/v1/tasks/web/state", state()),
        (
            "/v1/runs?task=web&limit=20",
            json!({ "runs": [run(2, 20, "failed"), run(1, 15, "succeeded")] }),
        ),
    ])
}

#[tokio::test]
async fn a_task_is_its_fragments() {
    let page = api().page_of_fragments("tasks/web", "").await;
    assert!(page.contains("<h1><bdi>web</bdi></h1>"), "{page}");
    assert!(page.contains("data-live=\"task:web\""), "{page}");
    assert!(
        page.contains(&format!("<a href=\"/ui/runs/{RUN}1#input\">")),
        "{page}"
    );
}

#[tokio::test]
async fn why_tells_what_changed_what_ran_and_what_it_waits_for() {
    insta::assert_snapshot!(api().fragment("tasks/web", "", "why").await);
}

#[tokio::test]
async fn time_between_two_runs_is_folded() {
    let mut answer = explanation();
    let told = &mut answer["explanation"];
    told["views"] = json!([]);
    told["last_decision"] = Value::Null;
    told["current_run"] = run(2, 50, "running");
    let explanation: Explanation = serde_json::from_value(answer["explanation"].take()).unwrap();
    let items = timeline::fold(story(&explanation));
    let shown = items.iter().map(|item| match item {
        Item::Entry(entry) => entry.word.to_owned(),
        Item::Idle {
            length, entries, ..
        } => format!("idle {:?} {}", length.unwrap(), entries.len()),
    });
    let expected = [
        "changed",
        "buffered",
        "queued",
        "ran",
        "wrote",
        "idle Millis(2084000) 0",
        "changed",
        "buffered",
        "queued",
        "ran",
        "wrote",
        "waits",
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn runs_are_bars_with_a_table() {
    let runs = api().fragment("tasks/web", "", "runs").await;
    insta::assert_snapshot!(runs.replace("<polygon", "\n<polygon"));
}

#[tokio::test]
async fn settings_have_their_names_and_no_empty_values() {
    let facts = api().fragment("tasks/web", "", "definition").await;
    let facts = facts.replace("<bdi>", "").replace("</bdi>", "");
    for part in [
        "<dt>condition.services.names</dt><dd><code>web, api</code>",
        "<dt>buffer_period.min</dt><dd><code>5s</code>",
        "<dt>variables.size</dt>",
    ] {
        assert!(facts.contains(part), "{part}: {facts}");
    }
    assert!(
        !facts.contains("regexp") && !facts.contains("version"),
        "{facts}"
    );
}

#[tokio::test]
async fn a_state_that_is_not_certain_shows_both_places() {
    let conflict = json!({ "task": "web", "state": null, "keep": "old", "from": null, "conflict": {
        "reason": "the new backend has the state of something else", "at": "2026-02-03T10:20:00Z",
        "old": { "backend": "local", "workspace": "web", "lineage": "0b6ac7e1", "serial": 12, "resources": 4 },
        "new": { "backend": "consul", "workspace": "web" } } });
    let api = api().with("/v1/tasks/web/state", StatusCode::OK, &conflict);
    insta::assert_snapshot!(api.fragment("tasks/web", "", "state").await);
    let known = self::api().fragment("tasks/web", "", "state").await;
    assert!(
        known.contains("0b6ac7e1") && !known.contains("problem"),
        "{known}"
    );
}

#[tokio::test]
async fn commands_have_a_token_where_callers_need_one() {
    let open = api().fragment("tasks/web", "", "commands").await;
    assert!(
        open.contains("curl &quot;$CTS_ADDRESS/v1/tasks/web/explain&quot;"),
        "{open}"
    );
    let viewer = Viewer {
        leave: Leave::Logout,
        ..admin()
    };
    let closed = api()
        .show_to(&viewer, "tasks/web", "fragment=commands")
        .await;
    let (_, closed) = html(closed);
    assert!(closed.contains("Bearer $CTS_TOKEN"), "{closed}");
    assert_eq!(
        commands("a'b;rm", Leave::Nothing)[0],
        "cts task explain 'a'\\''b;rm'"
    );
}

#[tokio::test]
async fn a_task_that_is_unknown_or_forbidden_is_no_screen() {
    let (status, _) = html(api().show("tasks/none", "").await);
    assert_eq!(status, StatusCode::NOT_FOUND);
    let reason = "you may not see that";
    let api = api().refusing("/v1/tasks/db", StatusCode::FORBIDDEN, reason);
    let (status, page) = html(api.show("tasks/db", "").await);
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(page.contains("you may not see that"), "{page}");
    let away = api.refusing("/v1/tasks/web", StatusCode::SERVICE_UNAVAILABLE, reason);
    let page = away.page_of_fragments("tasks/web", "").await;
    assert!(
        page.contains("Why?") && page.contains("<p class=\"problem\">you may not see that</p>"),
        "{page}"
    );
}

#[tokio::test]
async fn texts_of_others_stay_text() {
    let mut run = run(1, 15, "failed");
    for member in ["error", "requested_by", "waiting_for", "worker_id", "id"] {
        run[member] = json!(HOSTILE);
    }
    run["cause"] = json!([HOSTILE, "x".repeat(1_000_000)]);
    run["cause_ids"] = json!([HOSTILE]);
    let mut answer = explanation();
    let told = &mut answer["explanation"];
    told["views"] = json!([{ "name": HOSTILE, "problem": { "text": HOSTILE } }]);
    told["obstacles"] = json!([{ "text": HOSTILE }]);
    told["last_decision"] = json!({ "kind": "failed", "text": HOSTILE });
    told["last_run"] = run.clone();
    told["state"] = json!({ "name": "running", "text": HOSTILE, "worker": HOSTILE });
    let place =
        json!({ "backend": HOSTILE, "workspace": HOSTILE, "lineage": HOSTILE, "serial": 1 });
    let state = json!({ "task": "web", "state": { "lineage": HOSTILE, "serial": 1 }, "keep": HOSTILE, "from": HOSTILE,
        "conflict": { "reason": HOSTILE, "old": place, "new": null } });
    let mut task = task(HOSTILE);
    task["task"]["variables"] = json!({ HOSTILE: HOSTILE });
    task["task"]["description"] = json!(HOSTILE);
    let name = escape(HOSTILE);
    let api = FakeApi::new(&[
        (&format!("/v1/tasks/{name}"), task),
        (&format!("/v1/tasks/{name}/explain"), answer),
        (&format!("/v1/tasks/{name}/state"), state),
        (
            &format!("/v1/runs?task={name}&limit=20"),
            json!({ "runs": [run] }),
        ),
    ]);
    let page = api.page_of_fragments(&format!("tasks/{name}"), "").await;
    assert!(page.contains("&lt;script&gt;"), "{page}");
    assert!(page.len() < 60_000, "{}", page.len());
}
