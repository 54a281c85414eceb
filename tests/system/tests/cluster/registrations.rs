//! Ids of workers belong to the processes that registered them.

use cts_proto::run::v1::AcquireRunRequest;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_proto::worker::v1::{Capabilities, Engine, HeartbeatRequest, Worker};
use cts_testkit::assert_contains;
use cts_tests::{Service, Site};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::cluster::roles::{of_role, plan};
use crate::cluster::scene::Scene;

/// A scheduler with the certificate of a worker.
async fn with_certificate_of_worker(scene: &Scene) -> Channel {
    let address = scene.cluster.grpc_address(Service::Scheduler, 0);
    let tls = of_role(&scene.site, "worker").await;
    cts_rpc::connect_tls(&address.parse().unwrap(), &tls)
}

/// A call for any run.
fn call(id: &str) -> AcquireRunRequest {
    AcquireRunRequest {
        kinds: cts_rpc::convert::known_kinds(),
        worker_id: id.to_owned(),
        reports_settings: true,
        wait: Some(prost_types::Duration {
            seconds: 5,
            nanos: 0,
        }),
        capabilities: Some(Capabilities {
            engines: vec![Engine {
                driver: "terraform".to_owned(),
                version: "1.11.4".to_owned(),
            }],
            bundles: true,
        }),
        ..AcquireRunRequest::default()
    }
}

fn heartbeat(id: &str, registration: &[u8], leaving: bool) -> HeartbeatRequest {
    HeartbeatRequest {
        worker: Some(Worker {
            id: id.to_owned(),
            slots: 1,
            draining: true,
            ..Worker::default()
        }),
        leaving,
        registration: registration.to_vec(),
        ..HeartbeatRequest::default()
    }
}

fn assert_refused<T: std::fmt::Debug>(answer: Result<T, Status>, text: &str) {
    let refused = answer.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
    assert_contains(refused.message(), [text]);
}

#[tokio::test]
async fn a_stranger_with_the_certificate_of_a_worker_cannot_act_for_one() {
    let site = Site::new();
    let plan = plan(&site).await;
    let mut scene = Scene::start_at(site, plan).await;
    scene.change_is_applied().await;
    let channel = with_certificate_of_worker(&scene).await;
    let mut runs = RunServiceClient::new(channel.clone());
    let mut workers = WorkerServiceClient::new(channel);
    let worker = scene.cluster.worker_id(0).await;
    scene.change().await;
    for _ in 0..2 {
        assert_refused(runs.acquire_run(call("invented")).await, "not registered");
        assert_refused(runs.acquire_run(call(&worker)).await, "the secret");
    }
    for registration in [&[][..], &[7; 32]] {
        for leaving in [false, true] {
            let stranger = heartbeat(&worker, registration, leaving);
            assert_refused(workers.heartbeat(stranger).await, "belongs to a process");
        }
    }
    scene.wait_until_applied().await;
    let output = scene.cluster.output(Service::Scheduler, 0);
    let logged = output
        .lines()
        .filter(|line| line.contains("[WARN]") && line.contains("a call of a worker is refused"));
    assert_eq!(
        logged.count(),
        3,
        "one line for each worker and reason: {output}"
    );
    scene.settled_events().await;
}

#[tokio::test]
async fn a_worker_that_is_killed_registers_again_at_once_and_so_at_a_new_scheduler() {
    let site = Site::new();
    let plan = plan(&site).await;
    let mut scene = Scene::start_at(site, plan).await;
    scene.change_is_applied().await;
    let killed = scene.cluster.worker_id(0).await;
    scene.cluster.kill(Service::Worker, 0).await;
    scene.cluster.run(Service::Worker, 0).await;
    scene.change_is_applied().await;
    assert_ne!(scene.cluster.worker_id(0).await, killed);

    scene.cluster.kill(Service::Scheduler, 0).await;
    scene.cluster.run(Service::Scheduler, 0).await;
    scene.change_is_applied().await;
    scene.settled_events().await;
    let output = scene.cluster.output(Service::Scheduler, 0);
    assert!(
        !output.contains("a call of a worker is refused"),
        "{output}"
    );
    let output = scene.cluster.output(Service::Worker, 0);
    assert!(!output.contains("refuses the heartbeats"), "{output}");
}
