//! Runs and their output can be followed live.

use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::{ReadLogRequest, ReadLogResponse};
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{FollowRunsRequest, FollowRunsResponse, RunStatus};
use cts_testkit::ConsulAgent;
use cts_tests::{Backend, DEADLINE, Driver, Instance, Shape, Site, task};
use rstest::rstest;
use tokio::time::timeout;
use tonic::Streaming;

use crate::system::grpc::{OF_SCHEDULER, OF_WATCHER, assert_lists, wait_until_serving};

async fn next_status(changes: &mut Streaming<FollowRunsResponse>) -> (RunStatus, String) {
    let change = timeout(DEADLINE, changes.message()).await.unwrap();
    let change = change.unwrap().unwrap();
    assert_eq!(change.task_name, "pool");
    (change.status(), change.run_id)
}

async fn read_on(log: &mut Streaming<ReadLogResponse>) -> Option<Vec<String>> {
    let part = timeout(DEADLINE, log.message()).await.unwrap().unwrap()?;
    Some(part.lines.into_iter().map(|line| line.text).collect())
}

#[rstest]
#[tokio::test]
async fn a_run_can_be_followed_while_it_runs_and_read_afterwards(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &pool);
    let cts = Instance::start(&site).await;
    let channel = cts.grpc();
    wait_until_serving(&channel).await;
    let all = match Shape::of_this_run() {
        Shape::Embedded => [OF_SCHEDULER, OF_WATCHER].concat(),
        Shape::Cluster => OF_SCHEDULER.to_vec(),
    };
    assert_lists(&channel, &all).await;
    cts.api.wait_for_events("pool", 1).await;
    let runs = cts.api.get("/v1/runs").await;
    let first = runs["runs"][0]["id"].as_str().unwrap().to_owned();

    let request = FollowRunsRequest {
        task_name: "pool".to_owned(),
    };
    let changes = RunServiceClient::new(channel.clone())
        .follow_runs(request)
        .await;
    let mut changes = changes.unwrap().into_inner();
    site.hold();
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    // Between replicas changes travel after the commit, so the end of the first run may still come.
    let (queued, run_id) = loop {
        let change = next_status(&mut changes).await;
        if change.1 != first {
            break change;
        }
    };
    assert_eq!(queued, RunStatus::Queued);
    let running = (RunStatus::Running, run_id.clone());
    assert_eq!(next_status(&mut changes).await, running);

    let request = ReadLogRequest {
        run_id: run_id.clone(),
        after_position: 0,
        follow: true,
        one_part: false,
    };
    let mut logs = LogServiceClient::new(channel);
    let mut log = logs.read_log(request.clone()).await.unwrap().into_inner();
    let wanted = "a step for <web-1>";
    let mut lines = Vec::new();
    while !lines.iter().any(|line: &String| line.contains(wanted)) {
        lines.extend(
            read_on(&mut log)
                .await
                .expect("the run is held, so there is more to come"),
        );
    }
    assert!(
        !site
            .journal("pool")
            .iter()
            .any(|line| line.ends_with("web-1") && line.starts_with("end"))
    );

    site.release();
    let succeeded = (RunStatus::Succeeded, run_id);
    assert_eq!(next_status(&mut changes).await, succeeded);
    while let Some(more) = read_on(&mut log).await {
        lines.extend(more);
    }
    assert!(
        lines.iter().any(|line| line.contains("Apply complete!")),
        "{lines:#?}"
    );

    let mut afterwards = Vec::new();
    let mut log = logs.read_log(request).await.unwrap().into_inner();
    while let Some(more) = read_on(&mut log).await {
        afterwards.extend(more);
    }
    assert_eq!(afterwards, lines);
    cts.stop().await;
}
