//! Sections 5 to 8: health and status.

use cts_testkit::assert_contains;
use serde_json::{Value, json};

use super::three_tasks;
use crate::api::row::{Body, Row, check, legacy_error, within};
use crate::api::scene::{MODULE, Scene};
use crate::api::wire::Request;

fn get(path: &str) -> Request {
    Request::new("GET", path)
}

fn rows() -> Vec<Row> {
    let names = |names: &[&str]| {
        let entries = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"task_name": name})));
        Body::Legacy(entries.collect::<Value>())
    };
    let all = || names(&["idle", "pool", "sick"]);
    let statuses = "'successful', 'errored', 'critical', 'unknown'";
    let list = |query: &str| get(&format!("/v1/status/tasks{query}"));
    vec![
        get("/v1/health").gives(200, Body::Legacy(json!({}))),
        get("/v1/health?x=1").gives(200, Body::Legacy(json!({}))),
        get("/v1/status").gives(
            200,
            Body::Legacy(json!({"task_summary": {
                "status": {"successful": 1, "errored": 1, "critical": 0, "unknown": 1},
                "enabled": {"true": 2, "false": 1},
            }})),
        ),
        list("").gives(200, all()),
        list("?status=successful").gives(200, names(&["pool"])),
        list("?status=SuccessFul").gives(200, names(&["pool"])),
        list("?status=errored").gives(200, names(&["sick"])),
        list("?status=unknown").gives(200, names(&["idle"])),
        list("?status=critical").gives(200, names(&[])),
        list("?Status=x&status=%zz&status=;").gives(200, all()),
        list("?status=").gives(400, legacy_error(statuses)),
        list("?status=well").gives(400, legacy_error("'well'")),
        list("?status=errored&status=errored").gives(400, legacy_error("status")),
        list("?include=").gives(400, legacy_error("include")),
        list("?include=Events").gives(400, legacy_error("'include=Events'")),
        list("?include=config").gives(400, legacy_error("'include=config'")),
        list("?include=events&include=events").gives(400, legacy_error("include")),
        list("/pool").gives(200, names(&["pool"])),
        list("/p%6Fol?status=successful").gives(200, names(&["pool"])),
        list("/pool?status=errored").gives(200, names(&[])),
        list("/idle?status=successful").gives(200, names(&["idle"])),
        list("/nobody").gives(404, legacy_error("'nobody'")),
        // Path, then status, then include, then existence.
        list("/a/b?status=x").gives(400, legacy_error("'/v1/status/tasks/a/b'")),
        list("/nobody?include=x&status=y").gives(400, legacy_error("'y'")),
        list("/nobody?include=x").gives(400, legacy_error("'include=x'")),
        list("/nobody?include=events").gives(404, legacy_error("'nobody'")),
    ]
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let scene = three_tasks().await;
    check(&scene, &rows()).await;
    // The rows name members that must be there; these are the whole answers.
    let numbers = scene
        .instance
        .api
        .get("/v1/status/tasks?status=critical")
        .await;
    assert_eq!(numbers, json!({}));
    let statuses = scene.ask("GET", "/v1/status/tasks").await.text();
    let at = |name: &str| statuses.find(&format!("\"{name}\":")).unwrap();
    assert!(
        at("idle") < at("pool") && at("pool") < at("sick"),
        "{statuses}"
    );
    task_statuses(&scene).await;
    events(&scene).await;
    scene.instance.stop().await;
}

async fn task_statuses(scene: &Scene) {
    let statuses = scene.instance.api.get("/v1/status/tasks").await;
    let expected = json!({
        "idle": {
            "task_name": "idle", "status": "unknown", "enabled": false, "events_url": "",
            "providers": [], "services": [],
        },
        "pool": {
            "task_name": "pool", "status": "successful", "enabled": true,
            "events_url": "/v1/status/tasks/pool?include=events", "providers": [], "services": [],
        },
        "sick": {
            "task_name": "sick", "status": "errored", "enabled": true,
            "events_url": "/v1/status/tasks/sick?include=events", "providers": [], "services": [],
        },
    });
    assert_eq!(statuses, expected);
}

async fn events(scene: &Scene) {
    let statuses = scene
        .instance
        .api
        .get("/v1/status/tasks?include=events")
        .await;
    assert_eq!(statuses["idle"].get("events"), None);
    for (name, success) in [("pool", true), ("sick", false)] {
        let events = statuses[name]["events"].as_array().unwrap();
        assert_eq!(events.len(), 1, "{events:?}");
        let event = events[0].as_object().unwrap();
        let mut members: Vec<&str> = event.keys().map(String::as_str).collect();
        members.sort_unstable();
        let expected = [
            "cause",
            "cause_ids",
            "config",
            "end_time",
            "error",
            "id",
            "resources",
            "run_id",
            "start_time",
            "success",
            "task_name",
        ];
        assert_eq!(members, expected);
        assert!(event["resources"]["added"].is_number(), "{event:?}");
        let source = scene.site.path().join("modules");
        let source = match name {
            "pool" => source.join("recorder"),
            _ => source.join("sick"),
        };
        let config = json!({"providers": [], "services": [], "source": source.to_str().unwrap()});
        let expected = json!({"success": success, "task_name": name, "config": config});
        within(&events[0], &expected, name).unwrap();
        assert_eq!(event["id"].as_str().unwrap().len(), 36);
        for time in ["start_time", "end_time"] {
            let text = event[time].as_str().unwrap();
            assert!(text.contains('T') && text.len() <= 35, "{text}");
        }
    }
    assert_eq!(statuses["pool"]["events"][0]["error"], Value::Null);
    let error = statuses["sick"]["events"][0]["error"]["message"]
        .as_str()
        .unwrap();
    assert!(error.contains("exit status 1"), "{error}");
    let said = error.matches("broken for").count();
    assert!(
        said >= 3,
        "each of the three attempts says why it failed: {error}"
    );
    let one = scene
        .instance
        .api
        .get("/v1/status/tasks/pool?include=events")
        .await;
    assert_eq!(one["pool"], statuses["pool"]);
    assert_contains(&one["pool"], [MODULE.trim_start_matches("./")]);
}
