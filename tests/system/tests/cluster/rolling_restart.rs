//! Every process is restarted while the cluster works (ARCHITECTURE.md).

use std::time::Duration;

use cts_tests::{Api, Plan, Service, assert_successful};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cluster::scene::Scene;

/// Asks for the tasks again and again, of one gateway and then the other, and returns the moments at which
/// neither answered.
async fn complaints(apis: Vec<Api>, end: CancellationToken) -> Vec<String> {
    let mut complaints = Vec::new();
    while !end.is_cancelled() {
        let mut answers = Vec::new();
        for api in &apis {
            match api.ask("/v1/tasks").await {
                Ok((200, _)) => answers.clear(),
                Ok((status, body)) => answers.push(format!("{status} {body}")),
                Err(error) => answers.push(error.to_string()),
            }
            if answers.is_empty() {
                break;
            }
        }
        if !answers.is_empty() {
            complaints.push(answers.join("; "));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    complaints
}

#[tokio::test]
async fn the_cluster_serves_and_applies_all_the_time() {
    let mut scene = Scene::start(Plan::of(2, 2, 2, 2)).await;
    let end = CancellationToken::new();
    let mut asking = JoinSet::new();
    let apis = vec![scene.cluster.api(0), scene.cluster.api(1)];
    asking.spawn(complaints(apis, end.clone()));

    // The leader first and a follower last: no order is required.
    let leader = scene.cluster.wait_for_leader().await;
    let order = [
        (Service::Scheduler, leader),
        (Service::Worker, 1),
        (Service::Watcher, 0),
        (Service::Gateway, 1),
        (Service::Worker, 0),
        (Service::Gateway, 0),
        (Service::Watcher, 1),
        (Service::Scheduler, 1 - leader),
    ];
    for (service, index) in order {
        scene.change().await;
        scene.cluster.restart(service, index).await;
        if service == Service::Gateway {
            scene.wait_until_api_answers(index).await;
        }
        scene.wait_until_applied().await;
    }
    end.cancel();
    let complaints = asking.join_next().await.unwrap().unwrap();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let events = scene.settled_events().await;
    assert_successful(&events);
    scene.assert_each_step_once();
}
