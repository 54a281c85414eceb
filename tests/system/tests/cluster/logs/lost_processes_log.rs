//! A lost process in the log: the whole log of every service (docs/operations.md#lost-processes-in-the-log).

use cts_tests::{Plan, Service};

use crate::cluster::logs::log_marks::Marks;
use crate::cluster::scene::Scene;

/// Begins the apply of a change, which goes on until it is released. Returns the worker that works on it.
async fn begin_apply(scene: &mut Scene) -> usize {
    scene.site.hold();
    scene.change().await;
    let ids = scene.ids();
    let terraform = scene.site.wait_for_step("pool", "begin", &ids).await;
    scene.cluster.worker_of(terraform)
}

#[tokio::test]
async fn a_worker_killed_in_mid_apply_is_a_line_that_names_it_its_task_and_its_run() {
    let mut scene = Scene::start(Plan::of(1, 1, 2, 1)).await;
    scene.settled_events().await;
    let killed = begin_apply(&mut scene).await;
    let processes = [
        (Service::Watcher, 0, "watcher"),
        (Service::Scheduler, 0, "scheduler"),
        (Service::Worker, killed, "killed worker"),
        (Service::Worker, 1 - killed, "other worker"),
        (Service::Gateway, 0, "gateway"),
    ];
    let marks = Marks::of(&scene.cluster, &processes);
    let id = scene.cluster.worker_id(killed).await;
    scene.cluster.kill(Service::Worker, killed).await;
    let started = "run started";
    marks
        .until_logged(&scene.cluster, "other worker", started)
        .await;
    scene.site.release();
    scene.wait_until_applied().await;
    scene.settled_events().await;
    marks
        .until_logged(&scene.cluster, "other worker", "run ended")
        .await;
    insta::assert_snapshot!(marks.lines_of_a_fault(&scene.cluster));
    let scheduler = scene.cluster.output(Service::Scheduler, 0);
    let names_it = |line: &str| line.contains("a worker was lost") && line.contains(&id);
    assert!(scheduler.lines().any(names_it), "{scheduler}");
}

#[tokio::test]
async fn a_killed_leader_is_a_line_of_each_process_that_calls_it() {
    let mut scene = Scene::start(Plan::of(1, 2, 1, 1)).await;
    scene.settled_events().await;
    let killed = scene.cluster.wait_for_leader().await;
    begin_apply(&mut scene).await;
    let processes = [
        (Service::Watcher, 0, "watcher"),
        (Service::Scheduler, 1 - killed, "other scheduler"),
        (Service::Worker, 0, "worker"),
        (Service::Gateway, 0, "gateway"),
    ];
    let marks = Marks::of(&scene.cluster, &processes);
    scene.cluster.kill(Service::Scheduler, killed).await;
    let taken_over = "start task monitoring";
    marks
        .until_logged(&scene.cluster, "other scheduler", taken_over)
        .await;
    scene.site.release();
    scene.wait_until_applied().await;
    scene.settled_events().await;
    scene.cluster.run(Service::Scheduler, killed).await;
    for name in ["worker", "gateway"] {
        let back = "the peer is healthy";
        marks.until_logged(&scene.cluster, name, back).await;
    }
    insta::assert_snapshot!(marks.lines_of_a_fault(&scene.cluster));
}

#[tokio::test]
async fn a_queue_without_a_worker_is_a_warning_with_the_reason_and_a_line_when_one_is_back() {
    let mut scene = Scene::start(Plan::of(1, 1, 1, 1)).await;
    scene.settled_events().await;
    let processes = [
        (Service::Watcher, 0, "watcher"),
        (Service::Scheduler, 0, "scheduler"),
        (Service::Worker, 0, "worker"),
        (Service::Gateway, 0, "gateway"),
    ];
    let marks = Marks::of(&scene.cluster, &processes);
    scene.cluster.kill(Service::Worker, 0).await;
    scene.change().await;
    let warning = "no worker takes due runs";
    marks
        .until_logged(&scene.cluster, "scheduler", warning)
        .await;
    scene.cluster.run(Service::Worker, 0).await;
    scene.wait_until_applied().await;
    scene.settled_events().await;
    let over = "workers take due runs again";
    marks.until_logged(&scene.cluster, "scheduler", over).await;
    insta::assert_snapshot!(marks.lines_of_a_fault(&scene.cluster));
}
