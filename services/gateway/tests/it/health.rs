//! `GET /v1/health` (docs/rest.md#health).

use std::time::Duration;

use cts_proto::cluster::v1::GetClusterResponse;
use tokio::time::Instant;
use tonic::Status;

use crate::cluster::MemoryCluster;
use crate::stage::{Answer, FrozenTime, Scene, Stage};

const NO_LEADER: &str = "{\"error\":{\"message\":\"CTS is not healthy: no scheduler is available\",\"code\":\"not-healthy\"}}\n";
const BROKEN: &str = "{\"error\":{\"message\":\"CTS is not healthy: the scheduler failed because of \
                      an internal error\",\"code\":\"not-healthy\"}}\n";
const UNWRITABLE: &str = "{\"error\":{\"message\":\"CTS is not healthy: its database takes no writes\",\"code\":\"not-healthy\"}}\n";

async fn stage(cluster: &MemoryCluster) -> Stage {
    Stage::set(Scene {
        cluster: cluster.clone(),
        ..Scene::default()
    })
    .await
}

async fn health(stage: &Stage) -> (u16, String) {
    let Answer { status, body, .. } = stage.ask("GET", "/v1/health").await;
    (status, body)
}

#[tokio::test]
async fn healthy_while_a_scheduler_answers() {
    let cluster = MemoryCluster::default();
    let stage = stage(&cluster).await;
    let answer = stage.ask("GET", "/v1/health").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "{}\n"));
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    assert_eq!(cluster.calls(), 1);
}

#[tokio::test]
async fn unhealthy_while_none_does() {
    let alone = Stage::start_alone().await;
    let answer = alone.ask("GET", "/v1/health").await;
    assert_eq!((answer.status, answer.body.as_str()), (503, NO_LEADER));
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    assert!(answer.is_open_to_all_origins());

    let unwritable = MemoryCluster::new(GetClusterResponse {
        unhealthy: "its database takes no writes".to_owned(),
        ..GetClusterResponse::default()
    });
    let failing = MemoryCluster::failing;
    for (cluster, body) in [
        (
            failing(Status::unavailable("the database is away")),
            NO_LEADER,
        ),
        (
            failing(Status::internal("database at 10.0.0.7 said no")),
            BROKEN,
        ),
        (unwritable, UNWRITABLE),
    ] {
        let stage = stage(&cluster).await;
        assert_eq!(health(&stage).await, (503, body.to_owned()));
    }
}

#[tokio::test]
async fn answers_are_shared_for_a_second() {
    let time = FrozenTime::start();
    let cluster = MemoryCluster::default();
    let stage = stage(&cluster).await;
    for _ in 0..3 {
        assert_eq!(health(&stage).await.0, 200);
    }
    assert_eq!(cluster.calls(), 1);
    // An answer that is a second old is requested again, and failures are shared like successes.
    cluster.set(Err(Status::internal("away")));
    time.advance(Duration::from_millis(999)).await;
    assert_eq!(health(&stage).await.0, 200);
    time.advance(Duration::from_millis(1)).await;
    for _ in 0..3 {
        assert_eq!(health(&stage).await.0, 503);
    }
    assert_eq!(cluster.calls(), 2);
    cluster.set(Ok(GetClusterResponse::default()));
    time.advance(Duration::from_secs(1)).await;
    assert_eq!(health(&stage).await.0, 200);
    assert_eq!(cluster.calls(), 3);
}

#[tokio::test]
async fn requests_at_the_same_time_share_one_call() {
    let _time = FrozenTime::start();
    let cluster = MemoryCluster::behind_a_closed_gate();
    let stage = stage(&cluster).await;
    let open = async {
        cluster.arrivals.acquire().await.unwrap().forget();
        cluster.gate.add_permits(10);
    };
    let (first, second, third, ()) =
        tokio::join!(health(&stage), health(&stage), health(&stage), open);
    assert_eq!([first.0, second.0, third.0], [200; 3]);
    assert_eq!(cluster.calls(), 1);
}

#[tokio::test]
async fn aborted_health_request_does_not_block_the_next() {
    let cluster = MemoryCluster::behind_a_closed_gate();
    let stage = stage(&cluster).await;
    let arrived = async { cluster.arrivals.acquire().await.unwrap().forget() };
    tokio::select! {
        answer = health(&stage) => panic!("{answer:?}"),
        () = arrived => {}
    }
    cluster.gate.add_permits(10);
    assert_eq!(health(&stage).await.0, 200);
}

#[tokio::test]
async fn a_scheduler_that_hangs_is_given_two_seconds() {
    let cluster = MemoryCluster::behind_a_closed_gate();
    let stage = stage(&cluster).await;
    // From here on only time limits can go on, so the clock jumps to the next one.
    let skip_time = async {
        cluster.arrivals.acquire().await.unwrap().forget();
        tokio::time::pause();
        Instant::now()
    };
    let (answer, hung_since) = tokio::join!(health(&stage), skip_time);
    assert_eq!(answer, (503, NO_LEADER.to_owned()));
    let took = hung_since.elapsed();
    assert!(took > Duration::from_secs(1), "{took:?}");
    assert!(took < Duration::from_millis(2_100), "{took:?}");
}

#[tokio::test]
async fn another_replica_is_asked_once() {
    let cluster = MemoryCluster::default();
    cluster.fail_once(Status::unavailable("the database is away"));
    let stage = stage(&cluster).await;
    assert_eq!(health(&stage).await.0, 200);
    assert_eq!(cluster.calls(), 2);
}
