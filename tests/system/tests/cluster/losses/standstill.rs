//! Processes that stand still: a leader is followed, and does nothing any more when it goes on; clients hold up no
//! others.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Plan, Service, met};

use crate::cluster::scene::Scene;

#[tokio::test]
async fn a_leader_that_wakes_up_late_steps_back_and_repeats_nothing() {
    let mut scene = Scene::start(Plan::of(1, 2, 1, 1)).await;
    // A report on its way to the stalled scheduler would come too late.
    scene.settled_events().await;
    let former = scene.cluster.wait_for_leader().await;
    scene.cluster.pause(Service::Scheduler, former);
    let next = scene.cluster.wait_for_leader().await;
    assert_ne!(next, former);
    scene.change_is_applied().await;

    // Missed changes reach the former leader at once, but their runs are no longer its business.
    scene.cluster.resume(Service::Scheduler, former);
    eventually(DEADLINE, async || {
        let output = scene.cluster.output(Service::Scheduler, former);
        let stepped_back = [
            "leadership was lost",
            "leadership could not be renewed in time",
        ]
        .iter()
        .any(|line| output.contains(line));
        met(stepped_back, "the former leader goes on")
    })
    .await;
    for scheduler in [former, next] {
        let seen = scene.cluster.replicas(scheduler).await.unwrap();
        let leaders: Vec<&str> = seen
            .members
            .iter()
            .filter(|member| member.leader)
            .map(|member| member.id.as_str())
            .collect();
        assert_eq!(leaders, [format!("scheduler-{next}")]);
    }

    scene.change_is_applied().await;
    let events = scene.settled_events().await;
    assert_eq!(events.len(), 3, "one for each change: {events:?}");
    scene.assert_each_step_once();
    let lock = "acquired leadership lock";
    let output = scene.cluster.output(Service::Scheduler, former);
    assert_eq!(output.matches(lock).count(), 1, "{output}");
}

#[tokio::test]
async fn clients_that_stand_still_do_not_hold_up_the_end_of_a_server() {
    let mut scene = Scene::start(Plan::of(2, 2, 2, 1)).await;
    scene.settled_events().await;
    scene.cluster.pause(Service::Worker, 0);
    scene.cluster.pause(Service::Worker, 1);
    scene.cluster.pause(Service::Gateway, 0);
    for index in 0..2 {
        let exit = scene.cluster.stop(Service::Scheduler, index).await;
        // More than ten seconds have a code of their own.
        exit.assert_code(0);
    }
    for index in 0..2 {
        let exit = scene.cluster.stop(Service::Watcher, index).await;
        exit.assert_code(0);
    }
}
