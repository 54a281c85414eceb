//! Runs in lists, and what the leader notes of tasks.

use cts_core::RunId;
use cts_core::runs::{RunKind, RunStatus};

use super::Fixture;
use super::scene::{Scene, task};
use crate::RunFilter;

fn every() -> RunFilter {
    RunFilter {
        limit: 100,
        ..RunFilter::default()
    }
}

async fn list<F: Fixture>(scene: &Scene<F>, filter: &RunFilter) -> Vec<RunId> {
    let runs = scene.store().runs(filter).await;
    let runs = runs.expect("runs can be listed").into_iter();
    runs.map(|run| run.id).collect()
}

pub async fn runs_are_listed_newest_first<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    assert_eq!(list(&scene, &every()).await, []);
    let first = scene.settle("a", "1").await;
    let second = scene.queue("b", "1").await;
    let third = scene.queue("a", "2").await;
    assert_eq!(list(&scene, &every()).await, [third, second, first]);
    let of_a = RunFilter {
        task: Some(task("a")),
        ..every()
    };
    assert_eq!(list(&scene, &of_a).await, [third, first]);
    let queued = RunFilter {
        status: Some(RunStatus::Queued),
        ..every()
    };
    assert_eq!(list(&scene, &queued).await, [third, second]);
    let both = RunFilter {
        task: Some(task("a")),
        ..queued
    };
    assert_eq!(list(&scene, &both).await, [third]);
    let unknown = RunFilter {
        task: Some(task("c")),
        ..every()
    };
    assert_eq!(list(&scene, &unknown).await, []);
}

pub async fn pages_of_runs_go_on_where_the_last_ended<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let mut runs = Vec::new();
    for number in 0..7 {
        runs.push(scene.settle("a", &number.to_string()).await);
    }
    runs.reverse();
    let mut filter = RunFilter {
        limit: 3,
        ..every()
    };
    for page in runs.chunks(3) {
        assert_eq!(list(&scene, &filter).await, page);
        filter.after = page.last().copied();
        // A newer one is on no later page.
        scene.settle("b", &format!("{page:?}")).await;
    }
    assert_eq!(list(&scene, &filter).await, []);
    filter.limit = 0;
    filter.after = None;
    assert_eq!(list(&scene, &filter).await, []);
}

pub async fn lists_tell_all_of_a_run_but_the_text_of_its_plan<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_plan("a", "1").await;
    let lease = scene.lease().await;
    scene.planned(&lease, &"long ".repeat(10_000)).await;
    let lease = scene.leased("a", "1").await;
    let failed = scene.failed(&lease, "no").await;
    assert_eq!(failed.status, RunStatus::Queued);
    let listed = scene.store().runs(&every()).await;
    let listed = listed.expect("runs can be listed");
    let mut planned = scene.run(run).await;
    let plan = planned.plan.as_mut().expect("the plan is there");
    assert!(plan.changes_present);
    plan.text.clear();
    assert_eq!(listed, [scene.run(lease.run).await, planned]);
}

pub async fn runs_of_drafts_are_not_listed<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let run = scene.draft("new", RunKind::Check).await;
    let lease = scene.carried_out(run, "1").await;
    assert_eq!(list(&scene, &every()).await, []);
    scene.checked(&lease).await;
    assert_eq!(list(&scene, &every()).await, [run]);
}

pub async fn the_newest_explanation_is_told<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b"]).await;
    let note = |name: &str, text: &str| (task(name), text.to_owned());
    for notes in [
        vec![note("a", "first"), note("b", "é\n☃"), note("c", "nobody")],
        vec![note("a", "second")],
        vec![],
    ] {
        let explained = scene.store().explain(scene.leader(), &notes).await;
        explained.expect("the leader can explain");
    }
    scene.restart().await;
    for (name, expected) in [("a", Some("second")), ("b", Some("é\n☃")), ("c", None)] {
        let told = scene.store().explanation(&task(name)).await;
        assert_eq!(told.expect("it can be read").as_deref(), expected);
    }
}
