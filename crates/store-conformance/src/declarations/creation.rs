//! Tasks that are created over the API.

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Creation, RunId, TaskOrigin, TaskPhase};
use futures::future::join_all;

use crate::Fixture;
use crate::scene::{MICROSECOND, Scene, seconds, spec, task};
use cts_store::{DRAFTS_KEPT, Deletion, NewTask, Retention, StoredTask, TaskChange, TaskError};

/// A task of this name is hidden.
async fn assert_unseen<F: Fixture>(scene: &Scene<F>, name: &str) {
    assert!(!scene.names().await.contains(&name.to_owned()));
    assert_eq!(scene.stored(name).await, None);
    let store = scene.store();
    let state = store.task_state(&task(name)).await;
    assert_eq!(state.expect("a state can be read"), None);
    let states = scene.states(None).await;
    assert!(!states.iter().any(|state| state.task == task(name)));
    let explanation = store.explanation(&task(name)).await;
    assert_eq!(explanation.expect("an explanation can be read"), None);
    for error in [
        scene.change(name, TaskChange::default()).await.map(drop),
        store
            .delete_task(&task(name), Deletion::Retain)
            .await
            .map(drop),
    ] {
        assert!(matches!(error, Err(TaskError::Unknown)), "{error:?}");
    }
}

fn phase_of(phases: &[(String, TaskPhase)], name: &str) -> Option<TaskPhase> {
    let mut found = phases.iter().filter(|(known, _)| known == name);
    found.next().map(|(_, phase)| *phase)
}

pub async fn a_draft_is_shown_to_nobody_until_its_run_has_succeeded<F: Fixture>() {
    for kind in [RunKind::Check, RunKind::Apply] {
        let scene = Scene::<F>::new(&["a"]).await;
        let run = scene.draft("new", kind).await;
        let phase = async || phase_of(&scene.phases().await, "new");
        let creating = Some(TaskPhase::Creating);

        assert_unseen(&scene, "new").await;
        assert_eq!(phase().await, creating);
        let request = scene.find_request(run).await.expect("it is requested");
        assert_eq!((request.task, request.kind), (task("new"), kind));
        assert_eq!((request.run, request.refused), (run, None));
        assert_eq!(scene.open_requests().await, [run]);

        scene.enqueue_requested(run, "1").await;
        assert_unseen(&scene, "new").await;
        assert_eq!(scene.open_requests().await, []);
        assert_eq!(scene.find_request(run).await, None);
        let record = scene.run(run).await;
        assert_eq!((record.kind, record.no_retry), (kind, true));

        let lease = scene.lease().await;
        assert_eq!((lease.run, lease.kind), (run, kind));
        assert_unseen(&scene, "new").await;
        assert_eq!(phase().await, creating);

        let completed = scene.succeeded(&lease).await;
        assert!(completed.tasks_changed);
        let expected = StoredTask {
            spec: spec("new"),
            origin: TaskOrigin::Api,
            phase: TaskPhase::Ready,
            revision: 1,
            destroy_run: None,
            destruction_suspended: false,
        };
        assert_eq!(scene.stored("new").await, Some(expected));
        assert_eq!(scene.names().await, ["a", "new"]);
        let events = scene.state("new").await.events;
        let applied = usize::from(kind.applies());
        assert_eq!(
            (events.len(), completed.event.iter().len()),
            (applied, applied)
        );
        // The task is like any other now.
        scene.apply("new", "2").await;
        let drop = scene.store().drop_draft(&task("new"), run).await;
        drop.expect("a draft can be dropped");
        assert!(scene.stored("new").await.is_some());
    }
}

pub async fn a_failed_creation_leaves_nothing_but_its_run<F: Fixture>() {
    for kind in RunKind::ENQUEUED {
        let scene = Scene::<F>::new(&[]).await;
        let run = scene.draft("new", kind).await;
        let lease = scene.lease_requested(run, "1").await;
        let completed = scene.failed(&lease, "no").await;
        assert_eq!(completed.status, RunStatus::Failed, "{kind:?}");
        assert_eq!((completed.event, completed.next_due), (None, None));
        assert!(completed.tasks_changed);
        assert_unseen(&scene, "new").await;
        assert_eq!(scene.phases().await, []);
        let record = scene.run(run).await;
        assert_eq!(record.error().as_deref(), Some("no"));
        assert_eq!(scene.acquire().await, None);

        scene.drop_draft("new", run).await;
        assert_eq!(scene.run(run).await, record, "its history stays");
        scene.created("new").await;
        assert_eq!(scene.state("new").await.events, []);
    }
}

async fn assert_being_created<F: Fixture>(scene: &Scene<F>, name: &str, by: RunId) {
    let error = scene.create_error(name).await;
    assert!(
        matches!(error, TaskError::BeingCreated { run } if run == by),
        "{error:?}"
    );
}

pub async fn a_name_that_is_being_created_is_told_with_its_run<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let run = scene.draft("new", RunKind::Check).await;
    assert_being_created(&scene, "new", run).await;
    let lease = scene.lease_requested(run, "1").await;
    assert_being_created(&scene, "new", run).await;
    scene.advance(seconds(5));
    scene.failed(&lease, "no").await;
    // A failed draft can still be read.
    let almost = DRAFTS_KEPT.checked_sub(MICROSECOND);
    scene.advance(almost.expect("it is longer"));
    assert_being_created(&scene, "new", run).await;
    assert_eq!(scene.open_requests().await, []);
    scene.advance(MICROSECOND);
    let second = scene.draft("new", RunKind::Check).await;
    assert_eq!(scene.run(run).await.status, RunStatus::Failed);
    assert_eq!(scene.open_requests().await, [second]);
}

pub async fn tasks_of_the_api_stand_behind_the_others_in_their_order<F: Fixture>() {
    let scene = Scene::<F>::new(&["m", "b"]).await;
    for name in ["z", "c", "a"] {
        scene.created(name).await;
    }
    assert_eq!(scene.names().await, ["m", "b", "z", "c", "a"]);
    let wanted = ["x", "b", "y", "m"];
    scene.configure(&wanted.map(spec)).await;
    assert_eq!(scene.names().await, ["x", "b", "y", "m", "z", "c", "a"]);
    scene.created("d").await;
    scene.configure(&[]).await;
    assert_eq!(scene.names().await, ["z", "c", "a", "d"]);
}

pub async fn prune_forgets_old_drafts_and_refused_requests<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let failed = scene.draft("failed", RunKind::Check).await;
    let lease = scene.lease_requested(failed, "1").await;
    scene.failed(&lease, "no").await;
    let refused = scene.draft("refused", RunKind::Check).await;
    scene.refuse(refused, "no").await;
    let of_a = scene.ask("a", RunKind::Plan).await;
    scene.refuse(of_a, "no").await;
    scene.advance(seconds(1));
    let open = scene.draft("open", RunKind::Check).await;
    let prune = async || {
        let pruned = scene.store().prune(Retention::of_any_age(100)).await;
        pruned.expect("old runs can be forgotten");
    };
    let left = DRAFTS_KEPT.checked_sub(seconds(1) + MICROSECOND);
    scene.advance(left.expect("it is longer"));
    prune().await;
    assert!(scene.find_run(failed).await.is_some());
    scene.advance(MICROSECOND);
    prune().await;
    // Its name is free; its history stays.
    assert!(scene.find_run(failed).await.is_some());
    scene.drop_draft("failed", scene.run_id()).await;
    scene.created("failed").await;
    scene.delete("failed").await;
    for run in [refused, of_a] {
        assert_eq!(scene.find_request(run).await, None);
    }
    scene.advance(DRAFTS_KEPT * 2);
    prune().await;
    assert_eq!(scene.open_requests().await, [open]);
    assert_eq!(scene.names().await, ["a"]);
}

pub async fn begins_one_of_parallel_creations_of_a_name<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let store = scene.store();
    let all: Vec<NewTask> = (0..8)
        .map(|_| scene.new_task("new", Creation::Keep, RunKind::Check))
        .collect();
    let answers = join_all(all.iter().map(|new| store.create_task(new))).await;
    let begun: Vec<_> = all
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| answer.is_ok())
        .map(|(new, _)| new.run)
        .collect();
    assert_eq!(begun.len(), 1, "{answers:?}");
    assert_eq!(scene.open_requests().await, begun);
    for answer in answers.into_iter().filter_map(Result::err) {
        assert!(
            matches!(answer, TaskError::BeingCreated { run } if run == begun[0]),
            "{answer:?}"
        );
    }
}
