//! A worker that was killed and started again in its directory takes the place of its earlier life.

use std::fs;

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

/// The journal in a copied directory names a life that goes on in the first directory.
#[tokio::test]
async fn a_worker_in_a_copied_directory_does_not_hide_the_first_one() {
    let mut scene = Scene::start(Plan::of(1, 1, 1, 1)).await;
    let first = scene.cluster.worker_id(0).await;
    let added = scene.cluster.add(Service::Worker);
    let copy = scene.cluster.work(added);
    fs::create_dir_all(&copy).unwrap();
    let journal = "runs.journal";
    fs::copy(scene.cluster.work(0).join(journal), copy.join(journal)).unwrap();
    scene.cluster.run(Service::Worker, added).await;
    let second = scene.cluster.worker_id(added).await;
    until_shown(&mut scene, &[(&first, "active"), (&second, "active")]).await;

    // The next life names the first worker again, which is lost by now.
    scene.cluster.kill(Service::Worker, 0).await;
    scene.cluster.kill(Service::Worker, added).await;
    until_shown(&mut scene, &[(&first, "lost"), (&second, "lost")]).await;
    scene.cluster.run(Service::Worker, added).await;
    let third = scene.cluster.worker_id(added).await;
    let problems = until_shown(&mut scene, &[(&first, "lost"), (&third, "active")]).await;
    assert!(problems.contains(&first), "{problems}");
    assert!(problems.contains("start it again"), "{problems}");
    assert!(!problems.contains(&second), "{problems}");
}
