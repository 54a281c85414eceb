//! What withdraws effects: cancellations, declarations, deletions, restores.

use cts_core::runs::EnqueueDecision::Withhold;
use cts_core::runs::{AttemptOutcome, RunKind};
use cts_core::state::StateDecision;
use cts_core::{ApprovalRule, Permit};
use cts_store::Claim;

use super::asking::{
    FREE, USED, approve, approved_and_gone, asked, asks, begin, consents, decide, harmless, permit,
    reject, ruled, waiting,
};
use crate::Fixture;
use crate::scene::{Scene, claim, destroyed, other, task};

pub async fn a_cancelled_run_withdraws_its_effect<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let run = waiting(&scene, "a", "one", "e1").await;
    scene.cancel(run, false).await;
    assert!(consents(&scene).await.is_empty());
    assert_eq!(decide(&scene, "a", "one").await, Withhold);
    // A requested run asks.
    let requested = scene.ask("a", RunKind::Apply).await;
    let lease = scene.lease_requested(requested, "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
}

pub async fn another_declaration_and_disabling_withdraw_effects<F: Fixture>() {
    let mut changed = other("b");
    changed.file_settings.approval = Some(ApprovalRule::Destroy);
    let scene = Scene::<F>::configured(&[ruled("a"), ruled("b"), ruled("c")]).await;
    for name in ["a", "b", "c"] {
        waiting(&scene, name, "one", "e1").await;
    }
    approve(&scene, &[("a", "e1")]).await;
    scene.enable("a", false).await;
    scene.configure(&[ruled("a"), changed, ruled("c")]).await;
    assert!(scene.delete("c").await);
    assert!(consents(&scene).await.is_empty());
    scene.enable("a", true).await;
    for name in ["a", "b"] {
        let lease = begin(&scene, name, "one").await;
        assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
        scene.interrupted(&lease).await;
    }
}

pub async fn a_destruction_under_a_rule_waits_and_a_rejected_one_is_suspended<F: Fixture>() {
    let mut spec = destroyed("a");
    spec.file_settings.approval = Some(ApprovalRule::Destroy);
    let scene = Scene::<F>::configured(&[spec]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    waiting(&scene, "a", "two", "e1").await;
    let deletion = scene.as_task_says();
    assert!(!scene.delete_as("a", deletion).await);
    assert!(consents(&scene).await.is_empty());
    let earlier = Claim {
        asks_permission: false,
        ..claim()
    };
    assert_eq!(scene.acquire_as(&earlier).await, None);
    let lease = scene.lease().await;
    assert_eq!(
        (lease.kind, lease.asks_permission),
        (RunKind::Destroy, true)
    );
    assert_eq!(asks(&scene, &lease, "gone").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
    reject(&scene, "a", "gone").await;
    assert_eq!(scene.acquire().await, None);
    let stored = scene.stored("a").await.expect("it is there");
    assert!(stored.destruction_suspended);
    // A second deletion asks again.
    let deletion = scene.as_task_says();
    assert!(!scene.delete_as("a", deletion).await);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "gone").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    approve(&scene, &[("a", "gone")]).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "gone").await.permit, USED);
    scene.destroyed(&lease).await;
    assert_eq!(scene.stored("a").await, None);
}

pub async fn a_cancelled_destruction_waits_for_another_deletion<F: Fixture>() {
    let mut spec = destroyed("a");
    spec.file_settings.approval = Some(ApprovalRule::Destroy);
    let scene = Scene::<F>::configured(&[spec]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    let deletion = scene.as_task_says();
    assert!(!scene.delete_as("a", deletion).await);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "gone").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    scene.cancel(lease.run, false).await;
    assert!(consents(&scene).await.is_empty());
    assert_eq!(scene.acquire().await, None);
    let deletion = scene.as_task_says();
    assert!(!scene.delete_as("a", deletion).await);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "gone").await.permit, Permit::Waits);
    // The order to stop comes after the answer.
    scene.cancel(lease.run, false).await;
    scene.interrupted(&lease).await;
    assert!(consents(&scene).await.is_empty());
    assert_eq!(scene.acquire().await, None);
    let stored = scene.stored("a").await.expect("it is there");
    assert!(stored.destruction_suspended);
}

pub async fn a_cancelled_leased_run_leaves_no_consent<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    let lease = scene.lease().await;
    scene.cancel(lease.run, false).await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Unwanted);
    scene.interrupted(&lease).await;
    assert!(consents(&scene).await.is_empty());
    let lease = begin(&scene, "a", "two").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
}

pub async fn an_effect_without_a_run_is_withdrawn<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "one", "e1").await;
    let requested = scene.ask("a", RunKind::Apply).await;
    scene.enqueue_requested(requested, "one").await;
    scene.cancel(requested, false).await;
    assert!(consents(&scene).await.is_empty());
}

pub async fn a_restored_database_has_no_consent<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    scene
        .store()
        .mark_restored()
        .await
        .expect("it can be marked");
    scene.lead().await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
}

pub async fn a_rejection_leaves_the_consents_to_other_effects<F: Fixture>() {
    let scene = approved_and_gone::<F>().await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    reject(&scene, "a", "e2").await;
    // Another input with the rejected effect.
    let lease = begin(&scene, "a", "three").await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, Permit::Rejected);
    let declined = AttemptOutcome::Declined("rejected by bob: no".to_owned());
    scene.complete(scene.completion(&lease, declined)).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
}

pub async fn a_cancelled_run_leaves_no_consent_after_a_restart<F: Fixture>() {
    let scene = approved_and_gone::<F>().await;
    let lease = scene.lease().await;
    scene.cancel(lease.run, false).await;
    scene.release_all().await;
    assert!(consents(&scene).await.is_empty());
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
}

pub async fn a_run_of_another_declaration_is_unwanted_although_newer_data_wait<F: Fixture>() {
    let mut changed = other("a");
    changed.file_settings.approval = Some(ApprovalRule::Destroy);
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "one").await;
    scene.configure(&[changed]).await;
    scene.queue("a", "two").await;
    for plan in [harmless("e1"), asked("e2")] {
        assert_eq!(permit(&scene, &lease, &plan).await.permit, Permit::Unwanted);
    }
    assert!(consents(&scene).await.is_empty());
}

pub async fn a_destruction_that_is_cancelled_during_its_apply_asks_again<F: Fixture>() {
    let mut spec = destroyed("a");
    spec.file_settings.approval = Some(ApprovalRule::Destroy);
    let scene = Scene::<F>::configured(&[spec]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    let deletion = scene.as_task_says();
    assert!(!scene.delete_as("a", deletion).await);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "gone").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    approve(&scene, &[("a", "gone")]).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "gone").await.permit, USED);
    scene.cancel(lease.run, false).await;
    scene.failed(&lease, "stopped").await;
    let deletion = scene.as_task_says();
    assert!(!scene.delete_as("a", deletion).await);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "gone").await.permit, Permit::Waits);
}

pub async fn a_decision_about_the_state_withdraws_consents_and_the_run_asks_again<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let run = waiting(&scene, "a", "one", "e1").await;
    let decide = async || {
        let (name, from) = (task("a"), StateDecision::From(task("earlier")));
        let (store, run) = (scene.store(), scene.run_id());
        let decided = store.decide_terraform_state(&name, &from, run).await;
        decided.expect("the task is there");
        assert!(consents(&scene).await.is_empty());
    };
    for is_approved in [false, true] {
        if is_approved {
            approve(&scene, &[("a", "e1")]).await;
        }
        decide().await;
        let lease = scene.lease().await;
        assert_eq!(lease.run, run);
        let answer = asks(&scene, &lease, "e1").await;
        assert_eq!((answer.permit, answer.is_new), (Permit::Waits, true));
        scene.interrupted(&lease).await;
    }
}

/// The consent to the whole is gone between the look at it and the question about a part of it.
pub async fn a_part_of_a_destruction_waits_under_its_own_effect<F: Fixture>() {
    let mut spec = destroyed("a");
    spec.file_settings.approval = Some(ApprovalRule::Destroy);
    let scene = Scene::<F>::configured(&[spec]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    let deletion = scene.as_task_says();
    assert!(!scene.delete_as("a", deletion).await);
    let lease = scene.lease().await;
    let mut part = asked("part");
    part.part_of = Some("whole");
    assert_eq!(permit(&scene, &lease, &part).await.permit, Permit::Waits);
    let effects = consents(&scene).await.into_iter();
    let effects: Vec<String> = effects.map(|it| it.effect).collect();
    assert_eq!(effects, ["part"]);
    assert_eq!(asks(&scene, &lease, "whole").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    approve(&scene, &[("a", "whole")]).await;
    let lease = scene.lease().await;
    assert_eq!(permit(&scene, &lease, &part).await.permit, USED);
}
