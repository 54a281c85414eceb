//! Sections 9, 10 and 12: task objects, and asking for them.

use serde_json::json;

use super::three_tasks;
use crate::api::row::{Body, Row, check, new_error, request_id};
use crate::api::scene::MODULE;
use crate::api::wire::Request;

fn rows() -> Vec<Row> {
    let unknown = "a task with name 'nobody' does not exist or has not been initialized yet";
    let ask = |method: &str, path: &str| Request::new(method, path);
    vec![
        ask("GET", "/v1/tasks").gives(
            200,
            Body::New(json!({"tasks": [{"name": "pool"}, {"name": "sick"}, {"name": "idle"}]})),
        ),
        ask("GET", "/v1/tasks/idle").gives(
            200,
            Body::New(json!({"task": {"name": "idle", "enabled": false}})),
        ),
        ask("GET", "/v1/tasks/nobody").gives(404, new_error(unknown)),
        ask("DELETE", "/v1/tasks/nobody").gives(404, new_error(unknown)),
        ask("DELETE", "/v1/tasks/NOBODY?run=x").gives(404, new_error("'NOBODY'")),
    ]
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let scene = three_tasks().await;
    check(&scene, &rows()).await;
    let answer = scene.ask("GET", "/v1/tasks/pool").await.expect(200);
    request_id(&answer).unwrap();
    let expected = json!({
        "condition": {"services": {
            "cts_user_defined_meta": {},
            "datacenter": "",
            "filter": "",
            "names": ["web"],
            "namespace": "",
            "use_as_module_input": true,
        }},
        "description": "keeps <all> & more",
        "enabled": true,
        "module": MODULE,
        "module_input": {},
        "name": "pool",
        "providers": [],
        "variables": {},
        "version": "",
    });
    assert_eq!(
        answer["task"], expected,
        "nothing else, the buffer period included"
    );
    let list = scene.ask("GET", "/v1/tasks").await.expect(200);
    assert_eq!(list["tasks"][0], expected);
    scene.instance.stop().await;
}

#[tokio::test]
async fn without_tasks_lists_are_empty() {
    let scene = crate::api::scene::Scene::empty().await;
    let list = scene.ask("GET", "/v1/tasks").await.expect(200);
    assert_eq!(list["tasks"], json!([]));
    assert_eq!(scene.instance.api.get("/v1/status/tasks").await, json!({}));
    let zero = json!({"task_summary": {
        "status": {"successful": 0, "errored": 0, "critical": 0, "unknown": 0},
        "enabled": {"true": 0, "false": 0},
    }});
    assert_eq!(scene.instance.api.get("/v1/status").await, zero);
    scene.instance.stop().await;
}
