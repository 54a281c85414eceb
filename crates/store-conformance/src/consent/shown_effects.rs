//! Effects that inspections have shown, and that are approved when their task is enabled.

use cts_core::runs::RunKind;
use cts_core::{ApprovalDefaults, ApprovalRule, Permit, RunId};
use cts_proto::run::v1::ApprovalState;
use cts_store::{PlanSummary, ShownEffect, StoredTask, TaskChange, TaskError};

use super::asking::{USED, approve, asks, consents, defaults, reject, ruled, sweep, waiting};
use crate::Fixture;
use crate::recorded_plans::record;
use crate::scene::{Scene, spec, task};

/// A disabled task under a rule, and the inspection that has shown its plan.
async fn inspected<F: Fixture>() -> (Scene<F>, RunId) {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    scene.enable("a", false).await;
    let inspection = scene.ask("a", RunKind::Plan).await;
    let lease = scene.lease_requested(inspection, "one").await;
    let recorded = record(&scene, &lease, b"shown").await;
    recorded.expect("a live lease can record");
    scene.planned(&lease, "").await;
    (scene, inspection)
}

fn shown(inspection: RunId, effect: &str) -> ShownEffect {
    ShownEffect {
        inspection,
        effect: effect.to_owned(),
        summary: PlanSummary {
            deleted: 1,
            ..PlanSummary::default()
        },
        by: "alice".to_owned(),
    }
}

/// Enables the task, approves an effect and requests a run.
async fn enable<F: Fixture>(
    scene: &Scene<F>,
    approve: ShownEffect,
) -> Result<(StoredTask, RunId), TaskError> {
    let run = scene.run_id();
    let change = TaskChange {
        enabled: Some(true),
        request: Some((run, RunKind::Apply)),
        approve: Some(approve),
        ..TaskChange::default()
    };
    Ok((scene.store().change_task(&task("a"), &change).await?, run))
}

pub async fn an_effect_that_an_inspection_has_shown_is_approved_with_the_task<F: Fixture>() {
    let (scene, inspection) = inspected::<F>().await;
    let rule = scene.store().approval_rule(&task("a")).await;
    assert_eq!(rule.expect("it can be read"), Some(ApprovalRule::Destroy));
    let (enabled, run) = enable(&scene, shown(inspection, "e1"))
        .await
        .expect("it is idle");
    assert!(enabled.spec.enabled);
    let [consent] = consents(&scene).await.try_into().expect("one effect");
    assert_eq!(
        (consent.run, consent.state),
        (inspection, ApprovalState::Approved)
    );
    assert_eq!(consent.decided.expect("it is decided").by, "alice");
    assert_eq!(sweep(&scene).await, 0);
    let lease = scene.lease_requested(run, "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
    let used = scene.store().given_consent(run).await;
    let used = used.expect("consents can be read").expect("it is used");
    assert_eq!((&*used.effect, &*used.plan), ("e1", &b"shown"[..]));
    scene.applied(&lease).await;
    // The consent was for one apply.
    let lease = scene.leased("a", "two").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
}

pub async fn another_effect_than_the_shown_one_waits<F: Fixture>() {
    let (scene, inspection) = inspected::<F>().await;
    let (_, run) = enable(&scene, shown(inspection, "e1"))
        .await
        .expect("it is idle");
    let lease = scene.lease_requested(run, "two").await;
    let answer = asks(&scene, &lease, "e2").await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Waits, true));
    scene.interrupted(&lease).await;
    // The shown effect is not needed, and its consent is withdrawn.
    scene.advance(cts_core::GONE_FOR);
    assert_eq!(sweep(&scene).await, 1);
    approve(&scene, &[("a", "e2")]).await;
    assert_eq!(scene.lease().await.run, run);
}

pub async fn an_effect_that_no_inspection_has_shown_is_not_approved<F: Fixture>() {
    let (scene, inspection) = inspected::<F>().await;
    let unknown = enable(&scene, shown(scene.run_id(), "e1")).await;
    assert!(matches!(unknown, Err(TaskError::NotShown)), "{unknown:?}");
    assert!(!scene.there("a").await.spec.enabled);
    assert_eq!(scene.open_requests().await, []);
    // A later task of that name has seen nothing.
    assert!(scene.delete("a").await);
    scene.created("a").await;
    let earlier = enable(&scene, shown(inspection, "e1")).await;
    assert!(matches!(earlier, Err(TaskError::NotShown)), "{earlier:?}");
    assert_eq!(consents(&scene).await, []);
    // A consent that is not used expires, and the rule of the top level counts for tasks without their own.
    let scene = Scene::<F>::configured(&[spec("b")]).await;
    let rule = async |name| {
        scene
            .store()
            .approval_rule(&task(name))
            .await
            .expect("read")
    };
    assert_eq!(rule("b").await, Some(ApprovalDefaults::default().rule));
    defaults(&scene, ApprovalRule::Always).await;
    assert_eq!(
        (rule("b").await, rule("c").await),
        (Some(ApprovalRule::Always), None)
    );
}

pub async fn a_rejected_effect_is_not_approved_with_the_task<F: Fixture>() {
    let (scene, inspection) = inspected::<F>().await;
    scene.enable("a", true).await;
    waiting(&scene, "a", "two", "e1").await;
    reject(&scene, "a", "e1").await;
    let rejected = enable(&scene, shown(inspection, "e1")).await;
    assert!(matches!(rejected, Err(TaskError::NotShown)), "{rejected:?}");
    // A waiting effect is approved with its run.
    waiting(&scene, "a", "three", "e2").await;
    let (_, run) = enable(&scene, shown(inspection, "e2"))
        .await
        .expect("it is idle");
    let lease = scene.lease_requested(run, "three").await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, USED);
}

pub async fn a_shown_effect_is_approved_for_one_apply<F: Fixture>() {
    let (scene, inspection) = inspected::<F>().await;
    let (_, run) = enable(&scene, shown(inspection, "e1"))
        .await
        .expect("it is idle");
    let lease = scene.lease_requested(run, "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
    scene.applied(&lease).await;
    // The call is repeated after its consent was used.
    let again = enable(&scene, shown(inspection, "e1")).await;
    assert!(matches!(again, Err(TaskError::NotShown)), "{again:?}");
}

pub async fn an_effect_that_waits_keeps_its_run_when_it_is_approved_with_the_task<F: Fixture>() {
    let (scene, inspection) = inspected::<F>().await;
    scene.enable("a", true).await;
    let run = waiting(&scene, "a", "two", "e1").await;
    let change = TaskChange {
        approve: Some(shown(inspection, "e1")),
        ..TaskChange::default()
    };
    let changed = scene.store().change_task(&task("a"), &change).await;
    changed.expect("it is there");
    let approval = scene.store().approval_of(run, None).await;
    let approval = approval.expect("it can be read").expect("it is known");
    assert_eq!(
        (approval.run, approval.state),
        (run, ApprovalState::Approved)
    );
    let lease = scene.lease().await;
    assert_eq!(lease.run, run);
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
}
