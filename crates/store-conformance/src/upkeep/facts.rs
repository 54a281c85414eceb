//! Facts about tasks that are kept by what has changed.

use std::collections::BTreeSet;

use cts_store::Deletion;

use crate::Fixture;
use crate::scene::{KeptFacts, Scene, spec, task};

pub async fn only_tasks_that_have_changed_are_named<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let mut kept = KeptFacts::default();
    let all = BTreeSet::from(["a", "b", "c"].map(task));
    assert_eq!(kept.follow(&*scene.store()).await, all);
    assert_eq!(kept.follow(&*scene.store()).await, BTreeSet::new());
    let only = |name| BTreeSet::from([task(name)]);

    let lease = scene.leased("a", "1").await;
    assert_eq!(
        kept.follow(&*scene.store()).await,
        BTreeSet::new(),
        "a run is read by itself"
    );
    scene.applied(&lease).await;
    assert_eq!(kept.follow(&*scene.store()).await, only("a"));
    scene.tick("a", "1").await;
    assert_eq!(kept.follow(&*scene.store()).await, only("a"));
    let notes = [(task("b"), "noted".to_owned())];
    let noted = scene.store().explain(scene.leader(), &notes).await;
    noted.expect("the leader can explain");
    assert_eq!(kept.follow(&*scene.store()).await, only("b"));
    scene.enable("c", false).await;
    scene.restart().await;
    assert_eq!(
        kept.follow(&*scene.store()).await,
        only("c"),
        "also after a restart"
    );

    let deleted = scene
        .store()
        .delete_task(&task("b"), Deletion::Retain)
        .await;
    deleted.expect("the task is there");
    assert_eq!(kept.follow(&*scene.store()).await, BTreeSet::new());
    scene.configure(&[spec("a"), spec("c"), spec("d")]).await;
    assert!(kept.follow(&*scene.store()).await.contains(&task("d")));
}

pub async fn open_runs_are_told_in_short<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let lease = scene.leased("a", "1").await;
    scene.queue("a", "2").await;
    scene.queue("b", "1").await;
    let runs = scene.store().shown_runs().await;
    let runs = runs.expect("runs can be read");
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[2].id, lease.run, "the running one is the last");
    for run in &runs {
        let record = scene.run(run.id).await;
        assert_eq!(*run, cts_store::ShownRun::from(&record));
    }
    let failed = scene.failed(&lease, "the port is taken").await;
    let runs = scene.store().shown_runs().await;
    let runs = runs.expect("runs can be read");
    for run in &runs {
        let record = scene.run(run.id).await;
        assert_eq!(*run, cts_store::ShownRun::from(&record), "{failed:?}");
    }
}
