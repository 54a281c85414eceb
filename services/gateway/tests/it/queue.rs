//! `GET /v1/queue`, to the byte.

use cts_proto::run::v1::{GetQueueResponse, WaitingRuns};

use crate::runs::MemoryRuns;
use crate::stage::{REQUEST_ID, Scene, Stage};

async fn body_of(queue: GetQueueResponse) -> String {
    let stage = Stage::set(Scene {
        runs: MemoryRuns {
            queue,
            ..MemoryRuns::default()
        },
        ..Scene::default()
    })
    .await;
    let answer = stage.ask("GET", "/v1/queue").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    answer.body
}

#[tokio::test]
async fn the_queue_as_numbers() {
    let busy = GetQueueResponse {
        queued: 7,
        ready: 5,
        running: 4,
        oldest_ready: Some(prost_types::Duration {
            seconds: 93,
            nanos: 900_000_000,
        }),
        slots: 4,
        waiting: vec![WaitingRuns {
            reason: "there is no worker".to_owned(),
            runs: 2,
            oldest: Some(prost_types::Duration {
                seconds: 93,
                nanos: 900_000_000,
            }),
            task_name: "edge".to_owned(),
        }],
    };
    assert_eq!(
        body_of(busy).await,
        format!(
            "{{\"queued\":7,\"ready\":5,\"running\":4,\"oldest_ready_seconds\":93,\"slots\":4,\
             \"waiting\":[{{\"reason\":\"there is no worker\",\"runs\":2,\"oldest_seconds\":93,\
             \"task_name\":\"edge\"}}],\"request_id\":\"{REQUEST_ID}\"}}\n"
        )
    );
}

#[tokio::test]
async fn queue_without_ready_runs_has_no_age() {
    assert_eq!(
        body_of(GetQueueResponse::default()).await,
        format!(
            "{{\"queued\":0,\"ready\":0,\"running\":0,\"oldest_ready_seconds\":null,\"slots\":0,\
             \"waiting\":[],\"request_id\":\"{REQUEST_ID}\"}}\n"
        )
    );
}
