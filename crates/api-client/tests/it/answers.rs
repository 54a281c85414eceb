//! Answers that the client understands.

use cts_testkit::ScriptedAnswer::{Json, Text};
use cts_testkit::ScriptedHttp;
use serde_json::json;

use crate::client;

#[tokio::test]
async fn a_task_is_read_and_can_be_shown_again_without_loss() {
    let task = json!({
        "name": "web",
        "enabled": true,
        "description": "keeps the pool",
        "module": "acme/lb/cts",
        "version": "1.2.0",
        "providers": ["bigip.east"],
        "variables": {"replicas": "3"},
        "condition": {"services": {"names": ["api"], "use_as_module_input": true}},
        "module_input": {},
        "buffer_period": {"enabled": true, "min": "5s", "max": "20s"},
        "terraform_version": "1.14.3",
        "owner": "net",
    });
    let server = ScriptedHttp::start([Json(200, json!({"request_id": "x", "task": task}))]).await;
    let read = client(&server).task("web").await.unwrap();
    assert_eq!(read.version, "1.2.0");
    assert_eq!(read.terraform_version.as_deref(), Some("1.14.3"));
    assert_eq!(read.other["owner"], "net");
    assert_eq!(serde_json::to_value(&read).unwrap(), task);
}

#[tokio::test]
async fn events_are_read() {
    let event = |id: &str, error| {
        json!({
            "id": id,
            "success": false,
            "start_time": "2026-02-03T10:15:30.123456789+01:00",
            "end_time": "2026-02-03T10:15:42.5+01:00",
            "task_name": "web",
            "error": error,
            "config": {"providers": [], "services": [], "source": "./m"},
        })
    };
    let status = json!({"web": {
        "task_name": "web",
        "status": "errored",
        "enabled": true,
        "events_url": "/v1/status/tasks/web?include=events",
        "events": [event("one", json!({"message": "exit status 1"})), event("two", json!(null))],
        "providers": [],
        "services": [],
    }});
    let server = ScriptedHttp::start([Json(200, status)]).await;
    let status = client(&server).task_status("web").await.unwrap();
    assert_eq!(status.status, "errored");
    let [one, two] = status.events.as_slice() else {
        panic!("{:?}", status.events);
    };
    let message = one.error.as_ref().map(|error| error.message.as_str());
    assert_eq!(message, Some("exit status 1"));
    assert_eq!(two.error, None);
    assert_eq!((one.end_time - one.start_time).num_milliseconds(), 12_376);
    assert_eq!(one.other["config"]["source"], "./m");
}

#[tokio::test]
async fn the_plan_of_a_new_task_is_read() {
    let answer = json!({
        "request_id": "c1d1a7f8",
        "run": {"changes_present": true, "plan": "Plan: 2 to add", "tfc_run_url": "https://tfc"},
        "task": {"name": "web"},
    });
    let server = ScriptedHttp::start([Json(200, answer)]).await;
    let client = client(&server);
    let inspected = client.inspect_task(&serde_json::Map::new()).await.unwrap();
    assert_eq!(inspected.request_id, "c1d1a7f8");
    assert_eq!(inspected.run.plan, "Plan: 2 to add");
    assert_eq!(inspected.run.tfc_run_url.as_deref(), Some("https://tfc"));
}

#[tokio::test]
async fn only_the_beginning_of_a_long_answer_is_read() {
    let text = |text: &str| Text(200, "text/plain", text.to_owned());
    let server = ScriptedHttp::start([text("abé"), text("abé"), text("")]).await;
    let client = client(&server);
    let query = [("search", "a b&c".to_owned())];
    let path = ["runs", "a/b", "log"];
    for (limit, expected) in [(4, ("abé", false)), (3, ("ab", true)), (0, ("", false))] {
        let (text, is_longer) = client.read(&path, &query, limit).await.unwrap();
        assert_eq!((text.as_str(), is_longer), expected);
    }
    assert_eq!(server.lines()[0], "GET /v1/runs/a%2Fb/log?search=a+b%26c");
    for name in ["", "..", "."] {
        client.read(&["tasks", name], &[], 9).await.unwrap_err();
    }
    assert_eq!(server.lines().len(), 3);
}
