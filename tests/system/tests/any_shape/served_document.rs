//! The `OpenAPI` document as it is served: equal to the one in the repository, and true of the served
//! operations.

use serde_json::Value;

use crate::api::scene::Scene;
use crate::api::wire::Request;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

const IN_REPOSITORY: &str = include_str!("../../../../services/gateway/openapi.yaml");

#[tokio::test]
async fn served_document_equals_the_repository_and_its_paths_exist() {
    let scene = Scene::empty().await;
    let json = scene.ask("GET", "/v1/openapi.json").await;
    assert_eq!(json.header("Content-Type"), Some("application/json"));
    let yaml = scene.ask("GET", "/v1/openapi.yaml").await;
    assert_eq!(yaml.text(), IN_REPOSITORY);
    let document = json.expect(200);
    assert_eq!(
        document,
        serde_norway::from_str::<Value>(IN_REPOSITORY).unwrap()
    );
    let version = document["openapi"].as_str().unwrap();
    assert!(version.starts_with("3."), "{version}");

    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in METHODS.iter().filter(|method| item.get(**method).is_some()) {
            operations.push(format!("{} {path}", method.to_uppercase()));
            is_there(&scene, &method.to_uppercase(), path, &item[*method]).await;
        }
    }
    operations.sort();
    let expected = [
        "DELETE /v1/tasks/{name}",
        "GET /v1/approvals",
        "GET /v1/approvals/{id}",
        "GET /v1/audit",
        "GET /v1/brake",
        "GET /v1/causes",
        "GET /v1/cluster/configuration",
        "GET /v1/events",
        "GET /v1/follow",
        "GET /v1/health",
        "GET /v1/openapi.json",
        "GET /v1/openapi.yaml",
        "GET /v1/overview",
        "GET /v1/overview/tasks",
        "GET /v1/queue",
        "GET /v1/runs",
        "GET /v1/runs/{id}",
        "GET /v1/runs/{id}/input",
        "GET /v1/runs/{id}/log",
        "GET /v1/runs/{id}/plan",
        "GET /v1/status",
        "GET /v1/status/cluster",
        "GET /v1/status/tasks",
        "GET /v1/status/tasks/{name}",
        "GET /v1/tasks",
        "GET /v1/tasks/{name}",
        "GET /v1/tasks/{name}/explain",
        "GET /v1/tasks/{name}/state",
        "GET /v1/times",
        "PATCH /v1/tasks/{name}",
        "POST /v1/approvals/approve",
        "POST /v1/approvals/reopen",
        "POST /v1/approvals/{id}/approve",
        "POST /v1/approvals/{id}/reject",
        "POST /v1/brake",
        "POST /v1/runs/{id}/cancel",
        "POST /v1/tasks",
        "POST /v1/tasks/{name}/destroy-plan",
        "POST /v1/tasks/{name}/release",
        "POST /v1/tasks/{name}/state",
        "POST /v1/workers/{id}/drain",
        "PUT /v1/tasks/{name}",
    ];
    assert_eq!(operations, expected);
    scene.instance.stop().await;
}

/// Whether the operation is served, with a status that the document lists.
async fn is_there(scene: &Scene, method: &str, path: &str, operation: &Value) {
    if path == "/v1/events" {
        // The answer does not end.
        return;
    }
    let target = path.replace("{name}", "nobody").replace("{id}", "nothing");
    let answer = scene.send(&Request::new(method, &target)).await;
    assert!(
        !answer.text().starts_with("404 page"),
        "{method} {path}: {answer}"
    );
    let status = answer.status.to_string();
    let known = operation["responses"].as_object().unwrap();
    let class = format!("{}XX", &status[..1]);
    assert!(
        known.contains_key(&status) || known.contains_key(&class) || known.contains_key("default"),
        "{method} {path}: {status} is not documented"
    );
}
