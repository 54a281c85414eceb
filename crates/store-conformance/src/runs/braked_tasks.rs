//! Tasks that the brake of the fleet holds, and what else happens to them.

use cts_core::RunId;
use cts_core::runs::EnqueueDecision::{Block, Enqueue, Keep, Replace, Supersede, Withhold};
use cts_core::runs::{AttemptOutcome, Occasion, RunKind, RunStatus};
use cts_core::state::StateDecision;
use cts_store::{Deletion, EnqueueRequest, Enqueued, RefusedCode};

use super::brake::{decide, enqueue, fleet, input, is_held, note, release, set, stored};
use super::held_run::{applied, hold};
use crate::Fixture;
use crate::scene::{Scene, destroyed, grouped, other, seconds, spec, task, unretried};

/// The answer to a request with this input, of a run that `requested` has asked for.
async fn asked<F: Fixture>(scene: &Scene<F>, run: RunId, instances: u32, pass: bool) -> Enqueued {
    let mut request = EnqueueRequest {
        run,
        ..input(scene, "a", instances, true)
    };
    if let Some(guarded) = &mut request.guarded {
        guarded.is_of_pass = pass;
    }
    enqueue(scene, request).await
}

fn assert_held(answer: &Enqueued) {
    assert_eq!((answer.decision, answer.by_brake), (Some(Block), true));
    let refused = answer.refused.as_ref().map(|refused| refused.code);
    assert_eq!(refused, Some(RefusedCode::Held));
}

pub async fn a_cancelled_run_stays_cancelled_when_the_brake_ends<F: Fixture>() {
    let scene = applied::<F>(&[unretried("a"), unretried("b")]).await;
    enqueue(&scene, input(&scene, "b", 4, false)).await;
    let leased = scene.lease().await;
    let held = enqueue(&scene, input(&scene, "a", 4, false)).await.queued;
    set(&scene, 4).await;
    let held = scene.cancel(held.expect("it is queued"), false).await;
    assert_eq!(held.status, RunStatus::Cancelled);
    let ordered = scene.cancel(leased.run, false).await;
    assert_eq!(ordered.status, RunStatus::Running);
    scene.interrupted(&leased).await;
    for name in ["a", "b"] {
        assert_eq!(decide(&scene, name, 4).await, Withhold, "{name}");
    }
    note(&scene, &fleet(10, false)).await;
    scene.advance(seconds(3600));
    assert_eq!(scene.acquire().await, None);
    for name in ["a", "b"] {
        assert!(!is_held(&scene, name).await, "{name}");
        let request = input(&scene, name, 4, false);
        assert_eq!(enqueue(&scene, request).await.decision, Some(Withhold));
        let request = input(&scene, name, 9, false);
        assert_eq!(enqueue(&scene, request).await.decision, Some(Enqueue));
    }
}

pub async fn an_infrastructure_is_destroyed_in_spite_of_the_brake<F: Fixture>() {
    let scene = applied::<F>(&[destroyed("a"), spec("b")]).await;
    let held = hold(&scene, "a").await;
    assert_eq!(decide(&scene, "b", 4).await, Block);
    let run = scene.run_id();
    let gone = scene.delete_as("a", Deletion::AsTaskSays { run }).await;
    assert!(!gone);
    assert_eq!(scene.run(held).await.status, RunStatus::Cancelled);
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.kind), (run, RunKind::Destroy));
    // An attempt that fails is followed by another.
    scene.failed(&lease, "no").await;
    scene.advance(seconds(60));
    let lease = scene.lease().await;
    scene.destroyed(&lease).await;
    assert_eq!(scene.stored("a").await, None);
    assert_eq!(stored(&scene).await.held, 1);
    // A task that is not destroyed just goes.
    assert!(scene.delete("b").await);
    assert_eq!(stored(&scene).await.held, 0);
    release(&scene).await;
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_held_run_leaves_its_concurrency_group_to_other_tasks<F: Fixture>() {
    let scene = applied::<F>(&[grouped("a"), grouped("b")]).await;
    hold(&scene, "a").await;
    enqueue(&scene, input(&scene, "b", 11, true)).await;
    let lease = scene.lease().await;
    assert_eq!(lease.task, task("b"));
    scene.applied(&lease).await;

    // Nor does a run that was leased, and is tried again.
    release(&scene).await;
    let lease = scene.lease().await;
    assert_eq!(lease.task, task("a"));
    set(&scene, 4).await;
    scene.failed(&lease, "no").await;
    scene.advance(seconds(60));
    enqueue(&scene, input(&scene, "b", 12, true)).await;
    assert_eq!(scene.lease().await.task, task("b"));
}

pub async fn a_disabled_task_is_held_again_once_it_is_enabled<F: Fixture>() {
    let scene = applied::<F>(&[spec("a")]).await;
    let held = hold(&scene, "a").await;
    scene.enable("a", false).await;
    assert_eq!(scene.run(held).await.status, RunStatus::Cancelled);
    scene.enable("a", true).await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(decide(&scene, "a", 4).await, Block);
    assert_eq!(stored(&scene).await.held, 1);
    // A request with it is one of a person.
    let run = scene.ask("a", RunKind::Apply).await;
    let answer = asked(&scene, run, 4, false).await;
    assert_eq!((answer.decision, answer.queued), (Some(Enqueue), Some(run)));
    assert_eq!(scene.lease().await.run, run);
}

pub async fn another_declaration_is_held_like_the_one_before<F: Fixture>() {
    let scene = applied::<F>(&[spec("a")]).await;
    let held = hold(&scene, "a").await;
    scene.configure(&[other("a")]).await;
    assert_eq!(scene.run(held).await.status, RunStatus::Cancelled);
    assert_eq!(scene.acquire().await, None);
    assert_eq!(decide(&scene, "a", 4).await, Block);
    assert!(is_held(&scene, "a").await);
    scene.advance(seconds(3600));
    assert_eq!(scene.acquire().await, None);
    assert_eq!(decide(&scene, "a", 11).await, Enqueue);
}

pub async fn runs_that_only_accompany_something_do_not_pass_in_the_place_of_a_held_run<
    F: Fixture,
>() {
    let scene = applied::<F>(&[spec("a")]).await;
    let held = hold(&scene, "a").await;
    let run = scene.accompany("a").await;
    assert_held(&asked(&scene, run, 4, false).await);
    let owes = scene.state("a").await.owes_run;
    assert_eq!(owes, Some(Occasion::Declaration));
    let run = scene.ask("a", RunKind::Apply).await;
    assert_held(&asked(&scene, run, 4, true).await);
    assert_eq!(scene.run(held).await.status, RunStatus::Queued);
    assert_eq!(scene.acquire().await, None);
    // The owed run is queued once the instances are back.
    assert_eq!(decide(&scene, "a", 10).await, Replace);
    assert_eq!(scene.lease().await.run, held);
}

pub async fn a_decision_about_a_state_does_not_pass_the_brake<F: Fixture>() {
    let scene = applied::<F>(&[unretried("a")]).await;
    enqueue(&scene, input(&scene, "a", 4, false)).await;
    let lease = scene.lease().await;
    set(&scene, 4).await;
    let mut last = scene.completion(&lease, AttemptOutcome::Failed("no".to_owned()));
    last.is_final = true;
    scene.complete(last).await;
    let run = scene.run_id();
    let from = StateDecision::From(task("earlier"));
    let (store, name) = (scene.store(), task("a"));
    let decided = store.decide_terraform_state(&name, &from, run).await;
    decided.expect("the name is free");
    assert_held(&asked(&scene, run, 4, false).await);
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.state("a").await.owes_run, Some(Occasion::State));
    release(&scene).await;
    let request = input(&scene, "a", 4, false);
    assert_eq!(enqueue(&scene, request).await.decision, Some(Enqueue));
}

/// A program before the brake leads for a moment, and compares no input with the brake.
pub async fn a_leader_without_the_brake_frees_no_held_run<F: Fixture>() {
    let scene = applied::<F>(&[spec("a")]).await;
    hold(&scene, "a").await;
    let same = EnqueueRequest {
        guarded: None,
        ..input(&scene, "a", 4, false)
    };
    assert_eq!(enqueue(&scene, same).await.decision, Some(Keep));
    scene.release_all().await;
    scene.retry_failed_now().await;
    scene.advance(seconds(24 * 3600));
    scene.reap().await;
    assert_eq!(scene.acquire().await, None);
}

/// The ordinary run that follows a requested one has the input that the person has let through.
pub async fn a_persons_run_that_fails_is_tried_again_behind_nothing<F: Fixture>() {
    let scene = applied::<F>(&[spec("a")]).await;
    hold(&scene, "a").await;
    let run = scene.ask("a", RunKind::Apply).await;
    let answer = asked(&scene, run, 4, false).await;
    assert_eq!(answer.decision, Some(Supersede));
    let lease = scene.lease().await;
    scene.failed(&lease, "no").await;
    assert_eq!(decide(&scene, "a", 4).await, Keep);
    scene.advance(seconds(3600));
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    assert!(!is_held(&scene, "a").await);
}
