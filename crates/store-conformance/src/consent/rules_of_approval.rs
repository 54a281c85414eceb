//! Which rule counts for an effect.

use cts_core::runs::EnqueueDecision::Enqueue;
use cts_core::runs::RunKind;
use cts_core::{ApprovalRule, Creation, Permit, TaskPhase, TaskSpec};
use cts_store::{Claim, FileRules, TaskChange};

use super::asking::{
    FREE, approve, asks, begin, created, decide, defaults, harmless, permit, ruled, waiting,
};
use crate::Fixture;
use crate::scene::{Scene, claim, seconds, spec, task};

pub async fn an_effect_that_needs_no_consent_is_applied<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a"), spec("b")]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    // Terraform may change anything from now on.
    scene.failed(&lease, "no").await;
    scene.advance(seconds(60));
    let lease = scene.lease().await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    // A task without a rule asks for nothing.
    let lease = scene.leased("b", "one").await;
    assert!(!lease.asks_permission);
}

pub async fn a_rule_needs_a_worker_that_asks<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a"), spec("b")]).await;
    let earlier = Claim {
        asks_permission: false,
        ..claim()
    };
    scene.queue("a", "one").await;
    assert_eq!(scene.acquire_as(&earlier).await, None);
    let other = scene.queue("b", "one").await;
    let lease = scene.acquire_as(&earlier).await.expect("it is due");
    assert_eq!(lease.run, other);
    assert!(scene.lease().await.asks_permission);
}

pub async fn the_default_in_force_is_the_rule_of_tasks_without_their_own<F: Fixture>() {
    let mut never = spec("never");
    never.file_settings.approval = Some(ApprovalRule::Never);
    let scene = Scene::<F>::configured(&[spec("a"), never]).await;
    defaults(&scene, ApprovalRule::Always).await;
    scene.queue("never", "one").await;
    let lease = scene.lease().await;
    assert!(!lease.asks_permission);
    scene.applied(&lease).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(
        permit(&scene, &lease, &harmless("e1")).await.permit,
        Permit::Waits
    );
    scene.interrupted(&lease).await;
    // The rule in force when the apply is permitted counts.
    defaults(&scene, ApprovalRule::Destroy).await;
    approve(&scene, &[("a", "e1")]).await;
    let lease = scene.lease().await;
    assert_eq!(permit(&scene, &lease, &harmless("e3")).await.permit, FREE);
}

pub async fn the_rule_of_a_deleted_task_counts_for_its_successor<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    assert!(scene.delete("a").await);
    for (asked, known) in [(None, 1), (Some("a"), 1), (Some("b"), 0)] {
        let rules = file_rules(&scene, asked).await;
        assert_eq!(rules.deleted.len(), known, "{asked:?}");
    }
    let rules = file_rules(&scene, Some("a")).await;
    assert_eq!(rules.of(&spec("a")).rule, ApprovalRule::Destroy);
    scene.created("a").await;
    let lease = begin(&scene, "a", "one").await;
    assert!(lease.asks_permission);
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
}

pub async fn a_creation_that_waits_makes_its_task_visible<F: Fixture>() {
    let scene = Scene::<F>::configured(&[]).await;
    defaults(&scene, ApprovalRule::Always).await;
    let new = scene.new_task("a", Creation::Keep, RunKind::Apply);
    scene.create(&new).await;
    let lease = scene.lease_requested(new.run, "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    let phases = scene.phases().await;
    assert_eq!(phases, [("a".to_owned(), TaskPhase::Ready)]);
    approve(&scene, &[("a", "e1")]).await;
    assert_eq!(scene.lease().await.run, new.run);
    assert_eq!(decide(&scene, "a", "two").await, Enqueue);
}

pub async fn a_rule_that_is_relaxed_asks_no_longer<F: Fixture>() {
    let scene = Scene::<F>::configured(&[spec("a"), spec("b")]).await;
    defaults(&scene, ApprovalRule::Always).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(
        permit(&scene, &lease, &created("e1")).await.permit,
        Permit::Waits
    );
    scene.interrupted(&lease).await;
    waiting(&scene, "b", "one", "e2").await;
    defaults(&scene, ApprovalRule::Destroy).await;
    scene.configure(&[spec("a"), spec("b")]).await;
    let again = scene.lease().await;
    assert_eq!(again.run, lease.run);
    assert_eq!(permit(&scene, &again, &created("e1")).await.permit, FREE);
    assert_eq!(scene.acquire().await, None);
}

/// Declares the task over the API with this rule.
pub(super) async fn declare<F: Fixture>(
    scene: &Scene<F>,
    mut task: TaskSpec,
    rule: Option<ApprovalRule>,
) {
    task.api_approval = rule;
    let change = TaskChange {
        spec: Some(task),
        ..TaskChange::default()
    };
    let changed = scene.change("a", change).await;
    changed.expect("the task exists");
}

pub(super) async fn file_rules<F: Fixture>(scene: &Scene<F>, name: Option<&str>) -> FileRules {
    let name = name.map(task);
    let rules = scene.store().file_rules(name.as_ref()).await;
    rules.expect("rules can be read")
}

pub async fn the_api_makes_a_rule_stricter_until_a_declaration_of_the_api<F: Fixture>() {
    let scene = Scene::<F>::configured(&[spec("a")]).await;
    declare(&scene, spec("a"), Some(ApprovalRule::Always)).await;
    let earlier = Claim {
        asks_permission: false,
        ..claim()
    };
    scene.queue("a", "one").await;
    assert_eq!(scene.acquire_as(&earlier).await, None);
    let lease = scene.lease().await;
    assert_eq!(
        permit(&scene, &lease, &created("e1")).await.permit,
        Permit::Waits
    );
    scene.interrupted(&lease).await;
    // Another declaration of the file keeps the rule, and a change of the rule keeps the run.
    let mut file = spec("a");
    file.file_settings.approval = Some(ApprovalRule::Destroy);
    scene.configure(&[file]).await;
    assert_eq!(
        scene.there("a").await.spec.api_approval,
        Some(ApprovalRule::Always)
    );
    assert_eq!(scene.acquire().await, None);
    declare(&scene, spec("a"), None).await;
    let again = scene.lease().await;
    assert_eq!(again.run, lease.run);
    assert!(!again.asks_permission);
    let rules = file_rules(&scene, None).await;
    assert_eq!(
        (rules.defaults.rule, rules.deleted.len()),
        (ApprovalRule::Never, 0)
    );
}

pub async fn an_apply_that_needs_no_consent_uses_one_up<F: Fixture>() {
    let scene = Scene::<F>::configured(&[spec("a")]).await;
    defaults(&scene, ApprovalRule::Always).await;
    waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    defaults(&scene, ApprovalRule::Destroy).await;
    let lease = scene.lease().await;
    assert_eq!(permit(&scene, &lease, &harmless("e1")).await.permit, FREE);
    scene.applied(&lease).await;
    defaults(&scene, ApprovalRule::Always).await;
    let lease = begin(&scene, "a", "two").await;
    let answer = permit(&scene, &lease, &harmless("e1")).await;
    assert_eq!(answer.permit, Permit::Waits);
}
