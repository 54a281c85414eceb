use http::StatusCode;
use serde_json::{Value, json};

use crate::testing::FakeApi;

const HOSTILE: &str = "<b>\u{202e}";

fn overview() -> Value {
    json!({
        "at": "2026-02-03T10:20:00Z",
        "members": [
            {"id": "s-1", "healthy": true, "leader": true, "silent_for_seconds": 1},
            {"id": HOSTILE, "healthy": false, "leader": false, "silent_for_seconds": 60},
        ],
        "workers": [
            {"id": "w-1-a", "host": "w-1", "version": "0.2.0", "condition": "active", "running": 1, "slots": 4,
             "engines": ["terraform 1.11.4"], "silent_for_seconds": 2, "since": "2026-02-03T10:00:00Z"},
            {"id": "w-2-a", "host": HOSTILE, "version": "0.1.0", "condition": "lost", "running": 0, "slots": 4,
             "other_settings": ["provider aws", HOSTILE], "silent_for_seconds": 120, "problem": HOSTILE},
        ],
        "watchers": [
            {"address": "watcher-1:8561", "socket": "10.0.0.1:8561", "healthy": false,
             "since": "2026-02-03T10:10:00Z", "reason": HOSTILE},
            {"address": "watcher-2:8561", "healthy": false},
        ],
        "queue": {"queued": 7, "awaiting_consent": 6, "ready": 5, "running": 1, "slots": 4,
                  "waiting": [{"reason": "all slots are taken", "runs": 2, "oldest_seconds": 9, "task_name": "web"}]},
        "data": {"views": 9, "unreadable": 1, "unreadable_since": "2026-02-03T10:19:00Z", "reason": HOSTILE},
        "tasks": {},
        "brake": {"configured": true, "set": true, "since": "2026-02-03T10:15:30Z", "lost": 230, "of": 1000,
                  "limit": 200, "losses": [{"service": HOSTILE, "datacenter": "dc2", "before": 120, "now": 3}],
                  "more_losses": 4, "held": 41,
                  "leased": [{"task_name": "edge", "run_id": "id-1", "address": "https://tfe.example/r", "to_confirm": true}]},
    })
}

fn configuration() -> Value {
    let member = |id: &str, in_force: bool, ttl: &str| {
        json!({"id": id, "address": "h:1", "digest": "d", "in_force": in_force, "differences": [],
               "settings": {"session_ttl": ttl, "same": "1"}, "registered_at": "2026-02-03T10:00:00Z"})
    };
    let mut other = member("s-2", false, "30s");
    let difference = json!({"task_name": HOSTILE, "difference": "added"});
    other["differences"] = vec![difference; 23].into();
    json!({
        "in_force": {"number": 2, "digest": "d", "decided_by": HOSTILE, "decided_at": "2026-02-03T10:00:00Z",
                     "tasks": ["web"], "fleet_max_shrink": "20% within 600 s"},
        "members": [member("s-1", true, "15s"), other],
        "workers": [{"id": "w-2-a", "host": "w-2", "blocks": ["provider aws"]}],
    })
}

fn api_of(overview: &Value) -> FakeApi {
    FakeApi::new(&[
        ("/v1/overview", &overview.to_string()),
        ("/v1/cluster/configuration", &configuration().to_string()),
    ])
}

#[tokio::test]
async fn a_cluster_is_the_document_of_its_fragments() {
    let api = api_of(&overview());
    api.page_of_fragments("cluster", "").await;
    for id in ["brake", "workers", "configuration"] {
        insta::assert_snapshot!(id, api.fragment("cluster", "", id).await);
    }
}

#[tokio::test]
async fn ages_of_healthy_processes_change_no_byte() {
    let mut later = overview();
    later["at"] = "2026-02-03T10:20:03Z".into();
    later["members"][0]["silent_for_seconds"] = 3.into();
    later["workers"][0]["silent_for_seconds"] = 4.into();
    later["members"][1]["silent_for_seconds"] = 63.into();
    later["workers"][1]["silent_for_seconds"] = 123.into();
    later["queue"]["waiting"][0]["oldest_seconds"] = 12.into();
    for id in ["queue", "workers", "schedulers", "watchers", "brake"] {
        let now = api_of(&overview()).fragment("cluster", "", id).await;
        assert_eq!(now, api_of(&later).fragment("cluster", "", id).await);
    }
}

#[tokio::test]
async fn what_a_credential_may_not_see_is_named() {
    let limited = json!({"workers": [{"id": "a", "condition": "active"}], "brake": null});
    let api = FakeApi::new(&[("/v1/overview", &limited.to_string())]).refusing(
        "/v1/cluster/configuration",
        StatusCode::FORBIDDEN,
        "only for all tasks",
    );
    let page = api.page("cluster", "").await;
    for part in [
        "<p class=\"missing\">only for all tasks</p>",
        "<span class=\"muted\">not shown</span>",
        "Not configured, or not shown to this credential.",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}
