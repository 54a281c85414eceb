//! The health that a scheduler reports while its database takes no writes.

use std::time::Duration;

use cts_proto::cluster::v1::{GetClusterRequest, GetClusterResponse};
use cts_scheduler::Options;
use cts_testkit::eventually;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, SqliteConnection};

use crate::setup::{Setup, member, store_in};

const DEADLINE: Duration = Duration::from_mins(1);

async fn cluster(setup: &Setup) -> GetClusterResponse {
    let mut client = setup.cluster.clone();
    let asked = client.get_cluster(GetClusterRequest {}).await;
    asked.unwrap().into_inner()
}

#[tokio::test]
async fn a_scheduler_that_can_read_but_not_write_is_not_healthy() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options {
        leadership: Duration::from_secs(3),
        ..Options::alone(Vec::new(), member())
    };
    let setup = Setup::over(store, options).await;
    eventually(DEADLINE, async || match cluster(&setup).await {
        cluster if cluster.members.iter().any(|member| member.leader) => Ok(cluster.unhealthy),
        _ => Err("nobody leads yet"),
    })
    .await;
    assert_eq!(cluster(&setup).await.unhealthy, "");

    let file = SqliteConnectOptions::new().filename(directory.path().join("cts.db"));
    let mut other = SqliteConnection::connect_with(&file).await.unwrap();
    let writing = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    eventually(DEADLINE, async || match cluster(&setup).await {
        cluster if cluster.unhealthy.is_empty() => Err("it says that it is healthy"),
        cluster => {
            assert_eq!(cluster.unhealthy, "its database takes no writes");
            Ok(())
        }
    })
    .await;

    writing.rollback().await.unwrap();
    eventually(DEADLINE, async || match cluster(&setup).await {
        cluster if cluster.unhealthy.is_empty() => Ok(()),
        cluster => Err(cluster.unhealthy),
    })
    .await;
}
