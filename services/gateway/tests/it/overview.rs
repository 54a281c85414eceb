//! `GET /v1/overview/tasks`, `/v1/brake` and `POST /v1/workers/{id}/drain`.

use std::sync::Arc;

use cts_proto::cluster::v1::Brake;
use cts_proto::task::v1::{
    CurrentState, CurrentStateName, ListCurrentStatesResponse, ListTaskPageRequest, NamedState,
    TaskOrder,
};
use futures::future::{join, join_all};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tonic::Status;

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
async fn a_page_is_filtered_and_sorted_by_the_scheduler() {
    let tasks = three_tasks();
    let pages = Arc::clone(&tasks.current.pages);
    let stage = Stage::start(tasks).await;
    let query = "search=F%20w&state=blocked,never_run&sort=since&page=3";
    let path = format!("/v1/overview/tasks?{query}");
    let (status, page) = stage.json("GET", &path, "").await;
    assert_eq!(status, 200, "{page}");
    assert_eq!((&page["total"], &page["pages"]), (&json!(203), &json!(2)));
    let state = json!({"name": "unknown"});
    let first = json!({"name": "edge-lb", "state": state});
    assert_eq!(page["tasks"][0], first, "{page}");
    let asked = ListTaskPageRequest {
        search: "F w".to_owned(),
        states: vec![
            CurrentStateName::Blocked.into(),
            CurrentStateName::NeverRun.into(),
        ],
        order: TaskOrder::Since.into(),
        page: 3,
        visible_tasks: Vec::new(),
    };
    assert_eq!(*pages.lock().unwrap(), [asked]);
    let (_, all) = stage.json("GET", "/v1/overview/tasks?other=1", "").await;
    assert_eq!((&all["total"], &all["pages"]), (&Value::Null, &Value::Null));
    assert_eq!(pages.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn unknown_words_of_a_page_are_refused() {
    let stage = Stage::start(three_tasks()).await;
    for (query, name) in [
        ("state=held", "state"),
        ("state=", "state"),
        ("state=blocked,", "state"),
        ("state=unknown", "state"),
        ("state=blocked&state=blind", "state"),
        ("sort=status", "sort"),
        ("sort=Name", "sort"),
        ("page=0", "page"),
        ("page=-1", "page"),
        ("page=x", "page"),
        ("page=4294967296", "page"),
        ("search=a&search=b", "search"),
        ("form=list", "form"),
        ("form=grid&page=1", "form"),
        ("form=grid&search=", "form"),
    ] {
        let path = format!("/v1/overview/tasks?{query}");
        let (status, refused) = stage.json("GET", &path, "").await;
        let message = refused["error"]["message"].as_str().unwrap();
        let begin = format!("parameter \"{name}\" in query has an error");
        assert!(message.starts_with(&begin), "{query}: {refused}");
        assert_eq!(status, 400, "{query}: {refused}");
    }
}

#[tokio::test]
async fn callers_who_come_together_share_the_grid() {
    let tasks = MemoryTasks {
        gate: Arc::new(Semaphore::new(0)),
        ..three_tasks()
    };
    let (gate, arrivals) = (Arc::clone(&tasks.gate), Arc::clone(&tasks.arrivals));
    let grids = Arc::clone(&tasks.current.grids);
    let stage = Stage::start(tasks).await;
    let path = "/v1/overview/tasks?form=grid";
    let all = join_all((0..10).map(|_| stage.ask("GET", path)));
    let open = async {
        arrivals.acquire().await.unwrap().forget();
        gate.add_permits(Semaphore::MAX_PERMITS / 2);
    };
    let (all, ()) = join(all, open).await;
    for answer in all {
        assert_eq!(answer.json()["grid"], "???", "{answer:?}");
    }
    assert_eq!(*grids.lock().unwrap(), 1);
}

#[tokio::test]
async fn an_earlier_scheduler_has_neither_pages_nor_the_grid() {
    let stage = Stage::start(MemoryTasks {
        failure: Some(Status::unimplemented("unknown call")),
        ..three_tasks()
    })
    .await;
    for (query, part) in [("page=1", "pages of tasks"), ("form=grid", "the grid")] {
        let path = format!("/v1/overview/tasks?{query}");
        let (status, refused) = stage.json("GET", &path, "").await;
        assert_eq!(status, 501, "{refused}");
        let error = &refused["error"];
        assert_eq!(error["code"], "scheduler-outdated", "{refused}");
        assert!(error["message"].as_str().unwrap().contains(part));
    }
}

#[tokio::test]
async fn times_of_changes_are_asked_for_by_their_age() {
    let cluster = MemoryCluster::default();
    let times = Arc::clone(&cluster.times);
    let stage = Stage::set(Scene {
        cluster,
        ..Scene::default()
    })
    .await;
    let (status, day) = stage.json("GET", "/v1/times", "").await;
    assert_eq!((status, &day["interval_seconds"]), (200, &json!(86_400)));
    let (status, hour) = stage.json("GET", "/v1/times?since=1h", "").await;
    assert_eq!((status, &hour["interval_seconds"]), (200, &json!(3600)));
    for wrong in ["since=", "since=193h", "since=1s", "since=day"] {
        let (status, refused) = stage.json("GET", &format!("/v1/times?{wrong}"), "").await;
        assert_eq!(status, 400, "{wrong}: {refused}");
    }
    assert_eq!(times.lock().unwrap().take(), Some(vec![86_400, 3600]));
    let (status, outdated) = stage.json("GET", "/v1/times", "").await;
    let error = &outdated["error"];
    assert_eq!(
        (status, &error["code"]),
        (501, &json!("scheduler-outdated")),
        "{outdated}"
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("times of changes"), "{message}");
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
