//! Inputs that a guard against the loss of instances holds back.

use cts_core::runs::EnqueueDecision::{Enqueue, Hold, Keep, Skip, Supersede};
use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};

use super::Fixture;
use super::scene::{Scene, guarded, spec, task};
use crate::{EnqueueRequest, Enqueued, TaskChange, TaskError};

/// A request of a task that may lose half of its instances, with an input that has so many.
fn with<F: Fixture>(scene: &Scene<F>, instances: u32) -> EnqueueRequest {
    EnqueueRequest {
        guarded: Some(guarded("50%", &[("web", instances)])),
        ..scene.request("a", &instances.to_string())
    }
}

async fn enqueue<F: Fixture>(scene: &Scene<F>, instances: u32) -> Enqueued {
    scene
        .request_all(vec![with(scene, instances)])
        .await
        .remove(0)
}

async fn decide<F: Fixture>(scene: &Scene<F>, instances: u32) -> EnqueueDecision {
    let decision = enqueue(scene, instances).await.decision;
    decision.expect("the task is there")
}

async fn apply<F: Fixture>(scene: &Scene<F>, instances: u32) {
    assert_eq!(decide(scene, instances).await, Enqueue);
    let lease = scene.lease().await;
    scene.applied(&lease).await;
}

/// The losses that hold the task, as pairs of what it had and has; whether its mark says the same.
async fn held<F: Fixture>(scene: &Scene<F>) -> Vec<(u32, u32)> {
    let marks = scene.store().task_marks().await;
    let mark = marks.expect("tasks can be listed").remove(0);
    let state = scene.state("a").await;
    assert_eq!(mark.held, state.held.is_some());
    let losses = state.held.map_or_else(Vec::new, |hold| hold.losses);
    losses
        .into_iter()
        .map(|loss| (loss.applied, loss.now))
        .collect()
}

pub async fn what_loses_much_is_held_until_it_is_back<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    let answer = enqueue(&scene, 4).await;
    assert_eq!((answer.decision, answer.queued), (Some(Hold), None));
    assert_eq!(answer.losses.len(), 1);
    assert_eq!(held(&scene).await, [(10, 4)]);
    let since = scene.state("a").await.held.map(|hold| hold.since);
    scene.advance(super::scene::seconds(60));
    assert_eq!(decide(&scene, 3).await, Hold);
    assert_eq!(held(&scene).await, [(10, 3)]);
    let state = scene.state("a").await;
    assert_eq!(state.held.map(|hold| hold.since), since);
    let version = scene.store().version().await.expect("a version");
    assert_eq!(
        decide(&scene, 10).await,
        Skip {
            cancel_queued: false
        }
    );
    assert_eq!(held(&scene).await, []);
    assert_ne!(scene.store().version().await.expect("a version"), version);
    assert_eq!(decide(&scene, 5).await, Enqueue);
}

pub async fn what_was_applied_last_counts_and_not_what_was_seen_last<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    // Slowly, none of the steps for itself too large, and none of them applied.
    assert_eq!(decide(&scene, 7).await, Enqueue);
    let lease = scene.lease().await;
    scene.fail_thrice(lease).await;
    scene.restart().await;
    assert_eq!(decide(&scene, 4).await, Hold);
    assert_eq!(held(&scene).await, [(10, 4)]);
    scene.restart().await;
    assert_eq!(held(&scene).await, [(10, 4)]);
}

pub async fn what_is_being_applied_counts_as_applied<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 4).await;
    assert_eq!(decide(&scene, 10).await, Enqueue);
    let lease = scene.lease().await;
    assert_eq!(decide(&scene, 4).await, Hold);
    assert_eq!(held(&scene).await, [(10, 4)]);
    scene.applied(&lease).await;
    assert_eq!(decide(&scene, 4).await, Hold);
}

pub async fn what_is_released_counts_as_applied<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let name = task("a");
    let store = scene.store();
    assert_eq!(store.release_task(&name).await.expect("a task"), None);
    apply(&scene, 10).await;
    assert_eq!(decide(&scene, 4).await, Hold);
    let hold = store.release_task(&name).await.expect("a task");
    assert_eq!(hold.map(|hold| hold.losses[0].now), Some(4));
    assert_eq!(held(&scene).await, []);
    assert_eq!(store.release_task(&name).await.expect("a task"), None);
    // More is lost before the leader looks again.
    assert_eq!(decide(&scene, 1).await, Hold);
    assert_eq!(held(&scene).await, [(4, 1)]);
    apply(&scene, 4).await;
    assert_eq!(held(&scene).await, []);
    let unknown = store.release_task(&task("b")).await;
    assert!(matches!(unknown, Err(TaskError::Unknown)), "{unknown:?}");
}

pub async fn what_is_asked_for_passes_and_says_what_is_lost<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    // An earlier change waits.
    assert_eq!(decide(&scene, 9).await, Enqueue);
    assert_eq!(decide(&scene, 2).await, Hold);
    let queued = scene.state("a").await.held;
    assert!(queued.is_some());
    let run = scene.ask("a", RunKind::Apply).await;
    let request = EnqueueRequest {
        run,
        ..with(&scene, 2)
    };
    let answer = scene.request_all(vec![request]).await.remove(0);
    assert_eq!(
        (answer.decision, answer.queued),
        (Some(Supersede), Some(run))
    );
    assert_eq!(answer.losses.len(), 1);
    assert_eq!(held(&scene).await, []);
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    assert_eq!(decide(&scene, 1).await, Enqueue, "2 are applied now");
}

pub async fn a_hold_leaves_what_is_queued<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    let run = enqueue(&scene, 9).await.queued.expect("it is queued");
    let answer = enqueue(&scene, 2).await;
    assert_eq!((answer.decision, answer.queued), (Some(Hold), Some(run)));
    assert_eq!(scene.run(run).await.status, RunStatus::Queued);
    assert_eq!(decide(&scene, 9).await, Keep);
    assert_eq!(held(&scene).await, []);
}

pub async fn a_task_without_a_guard_has_nothing_to_compare_with<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    assert_eq!(decide(&scene, 10).await, Enqueue);
    assert_eq!(
        decide(&scene, 1).await,
        EnqueueDecision::Replace,
        "nothing is applied yet"
    );
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    apply(&scene, 10).await;
    assert_eq!(decide(&scene, 4).await, Hold);
    let unguarded = scene.enqueue("a", "4").await;
    assert_eq!(
        (unguarded.decision, unguarded.losses),
        (Some(Enqueue), vec![])
    );
    assert_eq!(held(&scene).await, []);
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    assert_eq!(decide(&scene, 1).await, Enqueue);
}

pub async fn a_task_that_comes_back_is_compared_with_nothing<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    let mut other = spec("a");
    other.definition.description.push_str(", otherwise");
    let change = TaskChange {
        spec: Some(other),
        ..TaskChange::default()
    };
    let changed = scene.store().change_task(&task("a"), &change).await;
    changed.expect("the task can be changed");
    assert_eq!(decide(&scene, 4).await, Hold, "it is the same task");
    scene.configure(&[]).await;
    scene.configure(&[spec("a")]).await;
    assert_eq!(decide(&scene, 4).await, Enqueue);
}
