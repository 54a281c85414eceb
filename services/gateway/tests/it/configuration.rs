//! `GET /v1/cluster/configuration`, to the byte.

use std::collections::BTreeMap;

use cts_proto::cluster::v1::{
    ConfigurationInForce, GetConfigurationResponse, MemberConfiguration, TaskDifference,
    TaskDifferenceKind, WorkerDifference,
};

use crate::cluster::MemoryCluster;
use crate::stage::{REQUEST_ID, Scene, Stage};

async fn body_of(configuration: GetConfigurationResponse) -> String {
    let stage = Stage::set(Scene {
        cluster: MemoryCluster::default().configured(configuration),
        ..Scene::default()
    })
    .await;
    let answer = stage.ask("GET", "/v1/cluster/configuration").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

#[tokio::test]
async fn a_member_that_differs_names_its_tasks() {
    let configuration = GetConfigurationResponse {
        in_force: Some(ConfigurationInForce {
            number: 2,
            digest: "d1".into(),
            decided_by: "cts-a".into(),
            decided_at: None,
            task_names: vec!["edge".into()],
        }),
        workers: vec![WorkerDifference {
            id: "w-1".into(),
            host: "w".into(),
            blocks: vec!["provider aws.east".into()],
        }],
        members: vec![MemberConfiguration {
            id: "cts-b".into(),
            address: Some("b:8558".into()),
            leader: true,
            digest: Some("d2".into()),
            in_force: false,
            differences: vec![TaskDifference {
                task_name: "edge".into(),
                kind: TaskDifferenceKind::Changed.into(),
            }],
            settings: BTreeMap::from([("session_ttl".to_owned(), "15s".to_owned())]),
            registered_at: None,
        }],
    };
    assert_eq!(
        body_of(configuration).await,
        format!(
            "{{\"in_force\":{{\"number\":2,\"digest\":\"d1\",\"decided_by\":\"cts-a\",\
             \"tasks\":[\"edge\"]}},\"members\":[{{\"id\":\"cts-b\",\"address\":\"b:8558\",\
             \"leader\":true,\"digest\":\"d2\",\"in_force\":false,\
             \"differences\":[{{\"task_name\":\"edge\",\"difference\":\"changed\"}}],\
             \"settings\":{{\"session_ttl\":\"15s\"}}}}],\
             \"workers\":[{{\"id\":\"w-1\",\"host\":\"w\",\"blocks\":[\"provider aws.east\"]}}],\
             \"request_id\":\"{REQUEST_ID}\"}}\n"
        )
    );
}

#[tokio::test]
async fn nothing_is_in_force_before_the_first_start() {
    assert_eq!(
        body_of(GetConfigurationResponse::default()).await,
        format!(
            "{{\"in_force\":null,\"members\":[],\"workers\":[],\"request_id\":\"{REQUEST_ID}\"}}\n"
        )
    );
}
