//! `GET /v1/overview`, `GET /v1/overview/tasks` and `POST /v1/workers/{id}/drain`.

use std::collections::BTreeMap;

use cts_proto::cluster::v1::{GetOverviewResponse, OverviewMember, Problem};
use cts_proto::task::v1::{CurrentState, CurrentStateName};
use serde_json::{Value, json};

use crate::cluster::MemoryCluster;
use crate::stage::{REQUEST_ID, Scene, Stage};
use crate::tasks::three_tasks;

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
async fn an_overview_has_its_problems_first() {
    let overview = GetOverviewResponse {
        problems: vec![Problem {
            task_name: "edge".into(),
            state: Some(blind()),
            text: "cannot reach consul".into(),
        }],
        members: vec![OverviewMember {
            id: "cts-a".into(),
            healthy: true,
            leader: true,
            silent_for: None,
        }],
        tasks: BTreeMap::from([("blind".to_owned(), 1)]),
        ..GetOverviewResponse::default()
    };
    let stage = Stage::set(Scene {
        cluster: MemoryCluster::default().overviewed(overview),
        ..Scene::default()
    })
    .await;
    let answer = stage.ask("GET", "/v1/overview").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        answer.body,
        format!(
            "{{\"request_id\":\"{REQUEST_ID}\",\"problems\":[{{\"task_name\":\"edge\",\
             \"state\":{{\"name\":\"blind\",\"since\":\"2026-02-03T10:15:30+01:00\",\
             \"text\":\"cannot reach consul\"}},\"text\":\"cannot reach consul\"}}],\
             \"more_problems\":0,\"members\":[{{\"id\":\"cts-a\",\"healthy\":true,\"leader\":true,\
             \"silent_for_seconds\":0}}],\"workers\":[],\"tasks\":{{\"blind\":1}},\"watchers\":[]}}\n"
        )
    );
}

#[tokio::test]
async fn tasks_have_the_states_that_their_scheduler_sends() {
    let mut tasks = three_tasks();
    tasks.states[0].current = Some(blind());
    let stage = Stage::set(Scene {
        tasks,
        ..Scene::default()
    })
    .await;
    let answer = stage.ask("GET", "/v1/overview/tasks").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let states = body["tasks"].as_array().unwrap();
    assert_eq!(states.len(), 3, "{body}");
    assert_eq!(states[0]["state"]["name"], "blind", "{body}");
    let earlier = json!({"name": "unknown"});
    assert_eq!(states[1]["state"], earlier, "of an earlier version: {body}");
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
