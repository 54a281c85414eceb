//! A worker that was killed and started again in its directory takes the place of its earlier life.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Plan, Service};
use serde_json::Value;

use crate::cluster::scene::Scene;

/// The id and a member of each worker, by id.
fn pairs(workers: &Value, member: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let workers = workers.as_array().into_iter().flatten();
    let mut pairs: Vec<_> = workers
        .map(|worker| (text(&worker["id"]), text(&worker[member])))
        .collect();
    pairs.sort();
    pairs
}

/// Waits until the overview, which `cts status` shows, and `cts workers list` have these workers alone. Returns the
/// problems.
async fn until_shown(scene: &mut Scene, expected: &[(&String, &str)]) -> String {
    let expected = expected.iter();
    let mut expected: Vec<_> = expected
        .map(|(id, condition)| ((*id).clone(), (*condition).to_owned()))
        .collect();
    expected.sort();
    let api = scene.cluster.api(0);
    let overview = eventually(DEADLINE, async || {
        let overview = api.get("/v1/overview").await;
        let shown = pairs(&overview["workers"], "condition");
        (shown == expected)
            .then_some(overview.clone())
            .ok_or(overview)
    })
    .await;
    let exit = scene.cluster.command(&["workers", "list", "-o=json"]).await;
    exit.assert_code(0);
    let begin = exit.output.find('{').unwrap();
    let list: Value = serde_json::from_str(&exit.output[begin..]).unwrap();
    assert_eq!(pairs(&list["workers"], "state"), expected);
    overview["problems"].to_string()
}

#[tokio::test]
async fn a_killed_worker_that_returns_is_listed_once_with_the_id_of_its_file() {
    let mut scene = Scene::start(Plan::of(1, 1, 2, 1)).await;
    let other = scene.cluster.worker_id(0).await;
    let killed = scene.cluster.worker_id(1).await;
    assert!(killed.starts_with("worker-1@"), "{killed}");
    until_shown(&mut scene, &[(&other, "active"), (&killed, "active")]).await;
    for _life in 0..2 {
        scene.cluster.kill(Service::Worker, 1).await;
        scene.cluster.run(Service::Worker, 1).await;
        let next = scene.cluster.worker_id(1).await;
        assert_ne!(next, killed);
        let problems = until_shown(&mut scene, &[(&other, "active"), (&next, "active")]).await;
        assert_eq!(problems, "[]");
    }
    scene.change_is_applied().await;
}
