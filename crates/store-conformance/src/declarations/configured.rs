//! Behaviours of reading the configuration again: which changes over the API last.

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{BundleReference, Digest, TaskOrigin, TaskPhase, TaskSpec};

use crate::Fixture;
use crate::scene::{LEASE, Scene, other, spec, task, withdrawn};
use cts_store::{DELETED, PendingDeletions, TaskChange};

async fn put<F: Fixture>(scene: &Scene<F>, spec: &TaskSpec) {
    let change = TaskChange {
        spec: Some(spec.clone()),
        ..TaskChange::default()
    };
    let changed = scene.change(spec.name().as_str(), change).await;
    changed.expect("the task can be changed");
}

pub async fn api_changes_of_configured_tasks_last<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["off", "put", "same"]).await;
    scene.enable("off", false).await;
    put(&scene, &other("put")).await;
    for _ in 0..2 {
        scene.restart().await;
        scene.lead().await;
        scene.configure(&["same", "put", "off"].map(spec)).await;
        assert_eq!(scene.names().await, ["same", "put", "off"]);
        let off = scene.there("off").await;
        assert_eq!((off.spec.enabled, off.revision), (false, 2));
        assert_eq!(off.origin, TaskOrigin::Config);
        let put = scene.there("put").await;
        assert_eq!((put.spec, put.revision), (other("put"), 2));
        let same = scene.there("same").await;
        assert_eq!((same.spec, same.revision), (spec("same"), 1));
    }
}

pub async fn another_declaration_takes_effect<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.enable("a", false).await;
    scene.configure(&[other("a")]).await;
    let stored = scene.there("a").await;
    assert_eq!((&stored.spec, stored.revision), (&other("a"), 3));
    // And the earlier one is another again.
    scene.configure(&[spec("a")]).await;
    let stored = scene.there("a").await;
    assert_eq!((&stored.spec, stored.revision), (&spec("a"), 4));
    // The new declaration equals the task as the API changed it: nothing is new.
    put(&scene, &other("a")).await;
    scene.configure(&[other("a")]).await;
    let stored = scene.there("a").await;
    assert_eq!((&stored.spec, stored.revision), (&other("a"), 5));
}

pub async fn an_edited_module_is_no_other_declaration<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "put"]).await;
    scene.enable("a", false).await;
    let mut own = other("put");
    own.definition.module_source = "/modules/other".into();
    put(&scene, &own).await;
    let edited = ["a", "put"].map(|name| {
        let mut edited = spec(name);
        edited.definition.module_digest = Some(Digest::of(b"edited"));
        edited.definition.bundle = Some(BundleReference {
            hash: Digest::of(b"edited"),
            module: "module".into(),
        });
        edited.requirement.version = Some("1.9.8".to_owned());
        edited.requirement.bundle = true;
        edited
    });
    scene.configure(&edited).await;
    let [mut expected, _] = edited;
    expected.enabled = false;
    let stored = scene.there("a").await;
    assert_eq!((stored.spec, stored.revision), (expected, 2));
    own.requirement.version = Some("1.9.8".to_owned());
    let stored = scene.there("put").await;
    assert_eq!((stored.spec, stored.revision), (own, 2));
}

pub async fn a_deleted_task_stays_away<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b", "c"]).await;
    assert!(scene.delete("b").await);
    for _ in 0..2 {
        scene.restart().await;
        scene.configure(&["c", "b", "a"].map(spec)).await;
        assert_eq!(scene.names().await, ["c", "a"]);
    }
    // Until something else is declared.
    scene.configure(&[spec("a"), other("b")]).await;
    assert_eq!(scene.names().await, ["a", "b"]);
    let stored = scene.there("b").await;
    assert_eq!((stored.spec, stored.revision), (other("b"), 1));
    // The new declaration is not deleted, and the first one is not deleted any more either.
    scene.configure(&[spec("b")]).await;
    assert_eq!(scene.names().await, ["b"]);
}

pub async fn a_deleted_task_comes_back_when_it_was_not_declared_in_between<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.delete("b").await;
    scene.configure(&[spec("a")]).await;
    scene.configure(&["a", "b"].map(spec)).await;
    assert_eq!(scene.names().await, ["a", "b"]);
}

/// Deleting a task deletes its declaration in the configuration, whatever the API changed.
pub async fn a_changed_and_deleted_task_stays_away<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    put(&scene, &other("a")).await;
    scene.delete("a").await;
    scene.configure(&[spec("a")]).await;
    assert_eq!(scene.names().await, Vec::<String>::new());
    scene.configure(&[other("a")]).await;
    assert_eq!(scene.names().await, ["a"]);
}

pub async fn another_declaration_waits_until_the_deleted_task_is_gone<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.delete("a").await;
    let postponed = PendingDeletions {
        postponed: vec![task("a")],
        ..PendingDeletions::default()
    };
    for _ in 0..2 {
        assert_eq!(scene.configure(&[other("a")]).await, postponed);
        let stored = scene.there("a").await;
        assert_eq!(
            (stored.phase, stored.spec),
            (TaskPhase::Deleting, spec("a"))
        );
    }
    let completed = scene.applied(&lease).await;
    assert!(completed.tasks_changed);
    assert_eq!(scene.names().await, Vec::<String>::new());
    assert_eq!(
        scene.configure(&[other("a")]).await,
        PendingDeletions::default()
    );
    let stored = scene.there("a").await;
    assert_eq!((stored.phase, stored.spec), (TaskPhase::Ready, other("a")));
    // The task of this name is a new one: nothing is applied, and it has no events.
    assert_eq!(scene.state("a").await.events, []);
    scene.queue("a", "1").await;
}

/// No run loses its task while a worker works on it, and no other task gets its name until then.
pub async fn a_removed_task_goes_when_its_run_has_ended<F: Fixture>() {
    for kind in RunKind::ENQUEUED {
        let mut scene = Scene::<F>::new(&["a", "b"]).await;
        let run = scene.ask("a", kind).await;
        let lease = scene.lease_requested(run, "1").await;
        let queued = scene.queue("a", "2").await;
        let asked = scene.ask("a", RunKind::Check).await;
        let deleting = PendingDeletions {
            deleting: vec![task("a")],
            ..PendingDeletions::default()
        };
        for _ in 0..2 {
            assert_eq!(scene.configure(&[spec("b")]).await, deleting);
        }
        scene.restart().await;
        let stored = scene.there("a").await;
        assert_eq!(stored.phase, TaskPhase::Deleting);
        assert_eq!(scene.run(queued).await.status, RunStatus::Cancelled);
        let refused = scene.find_request(asked).await.and_then(|it| it.refused);
        assert_eq!(refused, Some(withdrawn(DELETED)));
        scene.renew(&lease, LEASE).await;
        // The file names the task again, with an equal declaration, before the run has ended.
        let postponed = PendingDeletions {
            postponed: vec![task("a")],
            ..PendingDeletions::default()
        };
        let specs = ["a", "b"].map(spec);
        assert_eq!(scene.configure(&specs).await, postponed);
        assert!(scene.succeeded(&lease).await.tasks_changed);
        assert_eq!(scene.names().await, ["b"]);
        assert_eq!(scene.configure(&specs).await, PendingDeletions::default());
        assert_eq!(scene.names().await, ["a", "b"]);
        assert_eq!(scene.state("a").await.events, []);
        assert_eq!(scene.run(run).await.status, RunStatus::Succeeded);
        scene.queue("a", "1").await;
    }
}

pub async fn a_configured_task_takes_over_one_of_the_api<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    scene.created("a").await;
    let run = scene.apply("a", "1").await;
    scene.enable("a", false).await;
    scene.configure(&[other("a")]).await;
    let stored = scene.there("a").await;
    assert_eq!((&stored.spec, stored.revision), (&other("a"), 3));
    assert_eq!(stored.origin, TaskOrigin::Config);
    assert_eq!(scene.state("a").await.events[0].run_id, Some(run));
    scene.configure(&[]).await;
    assert_eq!(scene.names().await, Vec::<String>::new());
}

pub async fn a_configured_task_takes_over_a_draft<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let discarded = scene.draft("discarded", RunKind::Check).await;
    let lease = scene.lease_requested(discarded, "1").await;
    scene.failed(&lease, "no").await;
    let waits = scene.draft("waits", RunKind::Plan).await;
    let runs = scene.draft("runs", RunKind::Apply).await;
    let lease = scene.lease_requested(runs, "1").await;

    let names = ["discarded", "waits", "runs"];
    scene.configure(&names.map(spec)).await;
    assert_eq!(scene.names().await, names);
    // The caller still gets its run, which is an ordinary run of the task now.
    let failed = scene.failed(&lease, "no").await;
    assert!(failed.event.is_some() && !failed.tasks_changed);
    let lease = scene.lease_requested(waits, "1").await;
    scene.planned(&lease, "the plan").await;
    scene.drop_draft("discarded", discarded).await;
    assert_eq!(scene.names().await, names);
    assert_eq!(scene.state("runs").await.events.len(), 1);
}

/// The name of the deleted task is free for the API.
pub async fn a_task_of_the_api_keeps_the_name_of_a_deleted_one<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.delete("a").await;
    scene.created("a").await;
    scene.configure(&["a", "b"].map(spec)).await;
    assert_eq!(scene.names().await, ["b", "a"]);
    let stored = scene.there("a").await;
    assert_eq!(stored.origin, TaskOrigin::Api);
    scene.delete("a").await;
    scene.configure(&["a", "b"].map(spec)).await;
    assert_eq!(scene.names().await, ["b"]);
    scene.created("a").await;
    scene.configure(&[other("a"), spec("b")]).await;
    let stored = scene.there("a").await;
    assert_eq!(
        (stored.origin, stored.spec),
        (TaskOrigin::Config, other("a"))
    );
}
