//! Fate of a task's infrastructure in a deletion: cts-only (docs/rest.md#deleting-a-task).

use cts_proto::task::v1::{DeletionMode, OnDelete};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tasks::{RequestedChange, three_tasks};

#[tokio::test]
async fn plans_the_destruction_before_a_deletion() {
    let stage = Stage::start(three_tasks()).await;
    let plan = async |name: &str| {
        let path = format!("/v1/tasks/{name}/destroy-plan");
        stage.json("POST", &path, "").await
    };
    let (status, planned) = plan("dns").await;
    let text = "Plan: 0 to add, 0 to change, 2 to destroy.\n";
    let url = "https://tfe.example/run-1";
    let run = json!({"changes_present": true, "plan": text, "tfc_run_url": url});
    assert_eq!(status, 200);
    assert_eq!(planned, json!({"run": run}));
    let (status, nothing) = plan("fw-sync").await;
    assert_eq!(
        (status, &nothing["run"]["changes_present"]),
        (200, &json!(false))
    );
    let text = nothing["run"]["plan"].as_str().unwrap();
    assert!(text.contains("nothing to be destroyed"), "{text}");
    for (name, expected) in [
        ("none", 404),
        ("leaving", 409),
        ("failing", 422),
        ("broken", 500),
        ("away", 503),
    ] {
        let (status, refused) = plan(name).await;
        assert_eq!(status, expected, "{refused}");
        assert!(refused["error"]["message"].is_string(), "{refused}");
    }
}

#[tokio::test]
async fn a_deletion_does_what_the_task_says_or_retains() {
    let tasks = three_tasks();
    let stage = Stage::start(tasks.clone()).await;
    for (query, expected) in [
        ("", DeletionMode::AsDeclared),
        ("?run=inspect", DeletionMode::AsDeclared),
        ("?on_delete=retain", DeletionMode::Retain),
    ] {
        let (status, _) = stage
            .json("DELETE", &format!("/v1/tasks/dns{query}"), "")
            .await;
        assert_eq!(status, 202, "{query}");
        let asked = std::mem::take(&mut *tasks.changes.lock().unwrap());
        let [RequestedChange::Delete(deletion)] = &asked[..] else {
            panic!("{asked:?}");
        };
        assert_eq!(deletion.mode(), expected, "{query}");
    }
    for query in ["on_delete=destroy", "on_delete", "on_delete=Retain"] {
        let (status, refused) = stage
            .json("DELETE", &format!("/v1/tasks/dns?{query}"), "")
            .await;
        assert_eq!(status, 400, "{refused}");
    }
    assert_eq!(*tasks.changes.lock().unwrap(), []);
}

#[tokio::test]
async fn deletion_mode_and_rule_of_a_task_are_sent_and_shown() {
    let mut tasks = three_tasks();
    tasks.tasks[0].on_delete = OnDelete::Destroy.into();
    tasks.tasks[0].approval = "always".into();
    let shown = tasks.tasks[0].name.clone();
    let stage = Stage::start(tasks.clone()).await;
    let (_, answer) = stage.json("GET", &format!("/v1/tasks/{shown}"), "").await;
    assert_eq!(answer["task"]["on_delete"], "destroy");
    assert_eq!(answer["task"]["approval"], "always");
    let (_, answer) = stage.json("GET", "/v1/tasks/dns", "").await;
    assert_eq!(answer["task"].get("on_delete"), None);
    assert_eq!(answer["task"].get("approval"), None);

    let task = |on_delete: Value| {
        json!({"task": {
            "name": "new", "module": "./m", "on_delete": on_delete, "approval": on_delete,
            "condition": {"services": {"names": ["web"]}},
        }})
        .to_string()
    };
    let create = async |body: String| stage.json("POST", "/v1/tasks", &body).await.0;
    assert_eq!(create(task(json!("destroy"))).await, 201);
    let asked = std::mem::take(&mut *tasks.changes.lock().unwrap());
    let [RequestedChange::Create(creation)] = &asked[..] else {
        panic!("{asked:?}");
    };
    let sent = creation.task.as_ref().unwrap();
    assert_eq!(sent.on_delete(), OnDelete::Destroy);
    assert_eq!(sent.approval, "destroy");
    for wrong in [json!("Destroy"), json!(""), json!(true)] {
        assert_eq!(create(task(wrong.clone())).await, 400, "{wrong}");
    }
}
