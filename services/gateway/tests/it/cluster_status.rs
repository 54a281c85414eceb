//! `GET /v1/status/cluster`, to the byte (docs/rest.md#cluster-status).

use cts_proto::cluster::v1::{GetClusterResponse, Member};
use tonic::Status;

use crate::cluster::{MemoryCluster, edge, member};
use crate::errors::new_error as error;
use crate::stage::{Answer, REQUEST_ID, Scene, Stage};

async fn status_of(cluster: MemoryCluster) -> Answer {
    let stage = Stage::set(Scene {
        cluster,
        ..Scene::default()
    })
    .await;
    let answer = stage.ask("GET", "/v1/status/cluster").await;
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    assert!(answer.is_open_to_all_origins(), "{answer:?}");
    answer
}

async fn body_of(cluster: GetClusterResponse) -> String {
    let answer = status_of(MemoryCluster::new(cluster)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

#[tokio::test]
async fn the_leader_comes_first_and_every_live_member_shows_its_address() {
    let silent = Member {
        healthy: false,
        ..member("cts-a", false, Some("cts-a.example.net:8558"))
    };
    let leader = member("cts-b", true, Some("cts-b.example.net:8558"));
    let follower = member("cts-c", false, Some("cts-c.example.net:8558"));
    assert_eq!(
        body_of(edge(vec![follower, silent, leader])).await,
        format!(
            "{{\"cluster_name\":\"edge\",\"members\":[\
             {{\"address\":\"cts-b.example.net:8558\",\"healthy\":true,\"id\":\"cts-b\",\
             \"leader\":true,\"service_name\":\"consul-terraform-sync\"}},\
             {{\"healthy\":false,\"id\":\"cts-a\",\"leader\":false,\
             \"service_name\":\"consul-terraform-sync\"}},\
             {{\"address\":\"cts-c.example.net:8558\",\"healthy\":true,\"id\":\"cts-c\",\
             \"leader\":false,\"service_name\":\"consul-terraform-sync\"}}],\
             \"request_id\":\"{REQUEST_ID}\"}}\n"
        )
    );
}

#[tokio::test]
async fn a_scheduler_that_is_gone_or_fails() {
    let stage = Stage::start_alone().await;
    let answer = stage.ask("GET", "/v1/status/cluster").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.body, error("no scheduler is available"));

    let failure = Status::internal("database at 10.0.0.7 said no");
    let answer = status_of(MemoryCluster::failing(failure)).await;
    assert_eq!(answer.status, 500);
    assert_eq!(
        answer.body,
        error("the request failed because of an internal error")
    );
}
