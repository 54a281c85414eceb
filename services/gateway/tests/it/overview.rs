//! `GET /v1/overview/tasks`, `/v1/brake` and `POST /v1/workers/{id}/drain`.

use std::sync::Arc;

use cts_proto::cluster::v1::Brake;
use cts_proto::task::v1::{CurrentState, CurrentStateName, ListCurrentStatesResponse, NamedState};
use futures::future::{join, join_all};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::cluster::MemoryCluster;
use crate::stage::{Scene, Stage};
use crate::tasks::{MemoryTasks, three_tasks};

fn blind() -> CurrentState {
    CurrentState {
        name: CurrentStateName::Blind.into(),
        since: Some(prost_types::Timestamp {
            seconds: 1_770_110_130,
            nanos: 0,
        }),
        text: "cannot reach consul".into(),
        ..CurrentState::default()
    }
}

#[tokio::test]
async fn tasks_have_the_states_that_their_scheduler_sends() {
    let scene = Scene {
        tasks: three_tasks(),
        ..Scene::default()
    };
    let named = scene.tasks.states.iter().map(|task| NamedState {
        task_name: task.task_name.clone(),
        state: (task.task_name == "edge-lb").then(blind),
    });
    let answer = ListCurrentStatesResponse {
        states: named.collect(),
        ..ListCurrentStatesResponse::default()
    };
    scene
        .tasks
        .current
        .answers
        .lock()
        .unwrap()
        .push_back(answer);
    let stage = Stage::set(scene).await;
    let answer = stage.ask("GET", "/v1/overview/tasks").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    let states = body["tasks"].as_array().unwrap();
    assert_eq!(states.len(), 3, "{body}");
    let edge = states.iter().find(|state| state["name"] == "edge-lb");
    assert_eq!(edge.unwrap()["state"]["name"], "blind", "{body}");
    let others = states.iter().filter(|state| state["name"] != "edge-lb");
    for state in others {
        assert_eq!(state["state"], json!({"name": "unknown"}), "{body}");
    }
}

/// An answer of the scheduler, with these tasks and their reasons.
fn states(
    (version, after): (&str, &str),
    states: &[(&str, &str)],
    gone: &[&str],
) -> ListCurrentStatesResponse {
    let states = states.iter().map(|(name, text)| NamedState {
        task_name: (*name).to_owned(),
        state: Some(CurrentState {
            text: (*text).to_owned(),
            ..blind()
        }),
    });
    ListCurrentStatesResponse {
        version: version.to_owned(),
        after: after.to_owned(),
        states: states.collect(),
        gone: gone.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// Names and reasons of the tasks in an answer.
async fn listed(stage: &Stage) -> Vec<(String, String)> {
    let answer = stage.ask("GET", "/v1/overview/tasks").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tasks = body["tasks"].as_array().unwrap().iter();
    let tasks = tasks.map(|task| (text(&task["name"]), text(&task["state"]["text"])));
    tasks.collect()
}

#[tokio::test]
async fn reads_only_changed_states_from_each_of_two_schedulers() {
    let tasks = MemoryTasks::default();
    let answers = [
        states(("a.1", ""), &[("x", "1"), ("y", "1")], &[]),
        states(("b.7", ""), &[("x", "1"), ("y", "2")], &[]),
        states(("a.3", "a.1"), &[("y", "2"), ("z", "1")], &["x"]),
        states(("b.9", "b.7"), &[("y", "3"), ("z", "1")], &["x"]),
        states(("b.9", "b.9"), &[], &[]),
    ];
    tasks.current.answers.lock().unwrap().extend(answers);
    let asked = Arc::clone(&tasks.current.asked);
    let stage = Stage::start(tasks).await;
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut seen = Vec::new();
    while asked.lock().unwrap().len() < 6 {
        let tasks = listed(&stage).await;
        if seen.last() != Some(&tasks) {
            seen.push(tasks);
        }
    }
    let expected = [
        vec![pair("x", "1"), pair("y", "1")],
        vec![pair("x", "1"), pair("y", "2")],
        vec![pair("y", "2"), pair("z", "1")],
        vec![pair("y", "3"), pair("z", "1")],
    ];
    assert_eq!(seen, expected);
    let asked = asked.lock().unwrap();
    let versions: [&[&str]; 6] = [
        &[],
        &["a.1"],
        &["b.7", "a.1"],
        &["a.3", "b.7"],
        &["b.9", "a.3"],
        &["b.9", "a.3"],
    ];
    assert_eq!(asked[..6], versions);
}

#[tokio::test]
async fn callers_who_come_together_share_one_call() {
    let tasks = MemoryTasks {
        gate: Arc::new(Semaphore::new(0)),
        ..three_tasks()
    };
    let answer = states(("a.1", ""), &[("x", "1")], &[]);
    tasks.current.answers.lock().unwrap().push_back(answer);
    let (gate, arrivals) = (Arc::clone(&tasks.gate), Arc::clone(&tasks.arrivals));
    let asked = Arc::clone(&tasks.current.asked);
    let stage = Stage::start(tasks).await;
    let all = join_all((0..10).map(|_| listed(&stage)));
    let open = async {
        arrivals.acquire().await.unwrap().forget();
        gate.add_permits(Semaphore::MAX_PERMITS / 2);
    };
    let (all, ()) = join(all, open).await;
    assert!(all.iter().all(|tasks| tasks.len() == 1), "{all:?}");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn brake_is_read_and_released() {
    let brake = Brake {
        configured: true,
        set: true,
        lost: 4,
        of: 10,
        held: 3,
        ..Brake::default()
    };
    let cluster = MemoryCluster::default().braked(brake);
    let stage = Stage::set(Scene {
        cluster,
        ..Scene::default()
    })
    .await;
    let path = "/v1/brake";
    let (status, brake) = stage.json("GET", path, "").await;
    assert_eq!((status, &brake["lost"]), (200, &json!(4)), "{brake}");
    for body in [
        "[]",
        r#"{"lost": 4, "of": 10}"#,
        r#"{"seen": {"lost": 4}}"#,
        r#"{"seen": {"lost": "4", "of": 10}}"#,
    ] {
        let (status, refused) = stage.json("POST", path, body).await;
        assert_eq!(status, 400, "{body}: {refused}");
    }
    let seen = r#"{"seen": {"lost": 3, "of": 10}}"#;
    let (status, refused) = stage.json("POST", path, seen).await;
    let error = &refused["error"];
    assert_eq!(
        (status, &error["message"], &error["code"]),
        (
            409,
            &json!("4 of 10 instances are lost by now"),
            &json!("change-refused")
        ),
        "{refused}"
    );
    let seen = r#"{"seen": {"lost": 4, "of": 10}}"#;
    let (status, released) = stage.json("POST", path, seen).await;
    assert_eq!((status, &released["released"]), (200, &brake), "{released}");
    let (status, released) = stage.json("POST", path, "").await;
    let nothing = json!({"released": null});
    assert_eq!((status, released), (200, nothing));
    for method in ["PUT", "DELETE", "PATCH"] {
        let answer = stage.ask(method, path).await;
        assert_eq!(answer.status, 405, "{answer:?}");
        assert_eq!(answer.header("Allow"), Some("GET, POST"), "{answer:?}");
    }
}

#[tokio::test]
async fn workers_can_only_be_drained_by_post() {
    let stage = Stage::set(Scene::default()).await;
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        let answer = stage.ask(method, "/v1/workers/w-1/drain").await;
        assert_eq!(answer.status, 405, "{answer:?}");
        assert_eq!(answer.header("Allow"), Some("POST"), "{answer:?}");
    }
    for path in ["/v1/workers", "/v1/workers/w-1", "/v1/workers//drain"] {
        let answer = stage.ask("POST", path).await;
        assert_eq!(answer.status, 404, "{answer:?}");
    }
}
