//! Consent together with what else may stop a run: the shrink limit, the brake of the fleet, and concurrency groups.

use cts_core::runs::EnqueueDecision::{Block, Enqueue};
use cts_core::runs::RunStatus;
use cts_core::{Permit, TaskSpec};

use super::asking::{USED, approve, asks, consents, ruled, waiting};
use crate::Fixture;
use crate::brake::{enqueue, input, is_held, release, set};
use crate::guards;
use crate::held_run::applied;
use crate::scene::{Scene, guarded, in_group, task};

/// A task under a rule that may lose half of its instances.
fn limited() -> TaskSpec {
    let mut limited = ruled("a");
    limited.file_settings.guard = guarded("50%", &[]).guard;
    limited
}

pub async fn a_blocked_task_keeps_the_consent_to_the_effect_that_waits<F: Fixture>() {
    let scene = Scene::<F>::configured(&[limited()]).await;
    guards::apply(&scene, 10).await;
    assert_eq!(guards::decide(&scene, 9).await, Enqueue);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e9").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    assert_eq!(guards::decide(&scene, 2).await, Block);
    approve(&scene, &[("a", "e9")]).await;
    assert_eq!(guards::decide(&scene, 2).await, Block);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e9").await.permit, USED);
    scene.applied(&lease).await;
    // A consent is no release.
    assert_eq!(guards::decide(&scene, 2).await, Block);
    assert_eq!(guards::held(&scene).await, [(9, 2)]);
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_release_of_a_blocked_task_is_no_consent<F: Fixture>() {
    let scene = Scene::<F>::configured(&[limited()]).await;
    guards::apply(&scene, 10).await;
    assert_eq!(guards::decide(&scene, 2).await, Block);
    let released = scene.store().release_task(&task("a"), None).await;
    released.expect("a task").expect("it was blocked");
    assert_eq!(guards::decide(&scene, 2).await, Enqueue);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
    approve(&scene, &[("a", "e2")]).await;
    assert_eq!(asks(&scene, &scene.lease().await, "e2").await.permit, USED);
}

pub async fn an_approved_run_that_the_brake_holds_is_applied_after_the_release<F: Fixture>() {
    let scene = applied::<F>(&[ruled("a"), ruled("b")]).await;
    for (name, effect) in [("a", "e1"), ("b", "e2")] {
        enqueue(&scene, input(&scene, name, 4, false)).await;
        let lease = scene.lease().await;
        assert_eq!(asks(&scene, &lease, effect).await.permit, Permit::Waits);
        scene.interrupted(&lease).await;
    }
    approve(&scene, &[("b", "e2")]).await;
    // One of the two is leased already.
    let leased = scene.lease().await;
    assert_eq!(leased.task, task("b"));
    let (held, _leased) = set(&scene, 4).await;
    assert_eq!(held, ["a"]);
    assert_eq!(asks(&scene, &leased, "e2").await.permit, Permit::Unwanted);
    scene.interrupted(&leased).await;
    approve(&scene, &[("a", "e1")]).await;
    assert_eq!(scene.acquire().await, None);
    assert!(is_held(&scene, "a").await && is_held(&scene, "b").await);
    assert_eq!(consents(&scene).await.len(), 2);
    release(&scene).await;
    for _task in 0..2 {
        let lease = scene.lease().await;
        let effect = if lease.task == task("a") { "e1" } else { "e2" };
        assert_eq!(asks(&scene, &lease, effect).await.permit, USED);
        scene.applied(&lease).await;
    }
    assert!(consents(&scene).await.is_empty());
}

pub async fn a_release_of_the_brake_is_no_consent<F: Fixture>() {
    let scene = applied::<F>(&[ruled("a")]).await;
    enqueue(&scene, input(&scene, "a", 4, false)).await;
    set(&scene, 4).await;
    release(&scene).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
    // Nor does a release while the run waits make it due.
    set(&scene, 4).await;
    release(&scene).await;
    assert_eq!(scene.acquire().await, None);
    approve(&scene, &[("a", "e1")]).await;
    assert_eq!(asks(&scene, &scene.lease().await, "e1").await.permit, USED);
}

pub async fn a_waiting_run_leaves_its_concurrency_group_to_other_tasks<F: Fixture>() {
    let tasks = ["a", "b", "c"].map(|name| in_group(ruled(name)));
    let scene = Scene::<F>::configured(&tasks).await;
    for name in ["a", "b"] {
        waiting(&scene, name, "one", name).await;
    }
    approve(&scene, &[("a", "a"), ("b", "b")]).await;
    let first = scene.lease().await;
    // Consent alone is no lease.
    assert_eq!(scene.acquire().await, None);
    let effect = first.task.to_string();
    assert_eq!(asks(&scene, &first, &effect).await.permit, USED);
    scene.queue("c", "one").await;
    assert_eq!(scene.acquire().await, None);
    scene.applied(&first).await;
    let mut run = vec![first.task];
    for _task in 0..2 {
        let lease = scene.lease().await;
        assert_eq!(scene.acquire().await, None);
        let effect = lease.task.to_string();
        let expected = if effect == "c" { Permit::Waits } else { USED };
        assert_eq!(asks(&scene, &lease, &effect).await.permit, expected);
        let ended = if expected == USED {
            scene.applied(&lease).await
        } else {
            scene.interrupted(&lease).await
        };
        let is_done = ended.status == RunStatus::Succeeded;
        assert_eq!(is_done, expected == USED);
        run.push(lease.task);
    }
    run.sort();
    assert_eq!(run, ["a", "b", "c"].map(task));
}
