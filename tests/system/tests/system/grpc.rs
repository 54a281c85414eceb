//! The services that every gRPC listener offers to clients such as `grpcurl`.

use std::collections::BTreeSet;

use cts_testkit::eventually;
use cts_tests::{DEADLINE, serving};
use tokio_stream::StreamExt as _;
use tonic::transport::Channel;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

/// Served everywhere in addition to the expected services.
const EVERYWHERE: [&str; 2] = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
];

/// Services of a scheduler.
pub(crate) const OF_SCHEDULER: &[&str] = &[
    "cts.access.v1.AccessService",
    "cts.access.v1.SessionService",
    "cts.bundle.v1.BundleService",
    "cts.cluster.v1.ClusterService",
    "cts.cluster.v1.FollowService",
    "cts.log.v1.LogService",
    "cts.run.v1.ApprovalService",
    "cts.run.v1.PlanService",
    "cts.run.v1.RunService",
    "cts.task.v1.TaskService",
    "cts.worker.v1.WorkerService",
];

/// Services of a watcher.
pub(crate) const OF_WATCHER: &[&str] = &["cts.watch.v1.WatchService"];

/// A channel to a listener on 127.0.0.1.
pub(crate) fn channel(port: u16) -> Channel {
    cts_rpc::connect(&format!("http://127.0.0.1:{port}")).unwrap()
}

/// Waits until the server reports that it serves.
pub(crate) async fn wait_until_serving(channel: &Channel) {
    eventually(DEADLINE, async || serving(channel).await).await;
}

/// Panics unless reflection lists exactly these services and the services that are served everywhere.
pub(crate) async fn assert_lists(channel: &Channel, services: &[&str]) {
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = ServerReflectionClient::new(channel.clone())
        .server_reflection_info(tokio_stream::once(request))
        .await
        .unwrap()
        .into_inner();
    let answer = answers.next().await.unwrap().unwrap();
    let listed: BTreeSet<String> = match answer.message_response {
        Some(MessageResponse::ListServicesResponse(list)) => {
            list.service.into_iter().map(|one| one.name).collect()
        }
        other => panic!("{other:?}"),
    };
    let expected: BTreeSet<String> = EVERYWHERE
        .iter()
        .chain(services)
        .map(|&name| name.to_owned())
        .collect();
    assert_eq!(listed, expected);
}
