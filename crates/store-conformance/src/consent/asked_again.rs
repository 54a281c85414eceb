//! Runs that ask again: after a rejection that is forgotten, after a wait that is owed, and with another plan.

use cts_core::runs::EnqueueDecision::{Replace, Withhold};
use cts_core::runs::{AttemptOutcome, Occasion, RunKind};
use cts_core::{ApprovalDefaults, ApprovalRule, Permit};
use cts_store::{EnqueueRequest, GivenConsent};

use super::asking::{
    FREE, USED, approve, asks, begin, decide, harmless, permit, reject, reopen, ruled, skip, sweep,
    waiting,
};
use crate::Fixture;
use crate::scene::{Scene, destroyed, seconds};

pub async fn an_effect_that_is_reopened_before_its_attempt_ends_is_asked_for_again<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "one", "e1").await;
    reject(&scene, "a", "e1").await;
    let declined = || AttemptOutcome::Declined("rejected by bob: no".to_owned());
    let mut lease = begin(&scene, "a", "two").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Rejected);
    assert_eq!(reopen(&scene, "a", scene.run_id()).await, 1);
    scene.complete(scene.completion(&lease, declined())).await;
    let run = lease.run;
    lease = scene.lease().await;
    assert_eq!((lease.run, scene.state("a").await.events.len()), (run, 1));
    let answer = asks(&scene, &lease, "e1").await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Waits, true));
    // A rejection that counts ends the run, also of a requested one.
    scene.interrupted(&lease).await;
    reject(&scene, "a", "e1").await;
    let requested = scene.ask("a", RunKind::Apply).await;
    lease = scene.lease_requested(requested, "three").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Rejected);
    scene.complete(scene.completion(&lease, declined())).await;
    assert!(scene.run(requested).await.status.is_end());
    assert_eq!(decide(&scene, "a", "three").await, Withhold);
}

pub async fn an_owed_run_is_owed_until_its_apply_is_permitted<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    let queued = scene.queue("a", "two").await;
    scene.cancel(queued, false).await;
    let run = scene.accompany("a").await;
    let request = EnqueueRequest {
        run,
        ..scene.request("a", "two")
    };
    let answer = scene.request_all(vec![request]).await.remove(0);
    assert_eq!(answer.decision, Some(Withhold));
    let owed = || async { scene.state("a").await.owes_run };
    // The applied data come back, and the run that is owed waits.
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    assert_eq!(owed().await, Some(Occasion::Declaration));
    // It gives way to newer data, which are cancelled.
    scene.cancel(lease.run, false).await;
    let lease = begin(&scene, "a", "three").await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    assert_eq!(owed().await, Some(Occasion::Declaration));
    approve(&scene, &[("a", "e2")]).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, USED);
    assert_eq!(owed().await, None);
    scene.applied(&lease).await;
    assert_eq!(decide(&scene, "a", "three").await, skip(false));
}

pub async fn the_plan_that_people_were_shown_is_known_until_its_consent_is_used<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let shown = |run| {
        let store = scene.store();
        async move { store.shown_plan(run).await.expect("plans can be read") }
    };
    let run = waiting(&scene, "a", "one", "e1").await;
    let plan = shown(run).await.expect("the effect waits");
    assert_eq!((&*plan.effect, &*plan.plan), ("e1", &b"plan"[..]));
    assert_eq!((plan.summary.deleted, plan.same_input), (1, true));
    assert_eq!(decide(&scene, "a", "two").await, Replace);
    assert!(!shown(run).await.expect("the effect is shown").same_input);
    scene.advance(seconds(60));
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    approve(&scene, &[("a", "e2")]).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, USED);
    assert_eq!(shown(run).await.map(|it| it.effect).as_deref(), Some("e2"));
    scene.applied(&lease).await;
    sweep(&scene).await;
    let lease = begin(&scene, "a", "three").await;
    assert_ne!(
        shown(lease.run).await.map(|it| it.effect).as_deref(),
        Some("e2")
    );
}

pub async fn a_destruction_has_a_consent_that_it_has_not_used<F: Fixture>() {
    let mut spec = destroyed("a");
    spec.file_settings.approval = Some(ApprovalRule::Destroy);
    let scene = Scene::<F>::configured(&[spec]).await;
    let given = |run| {
        let store = scene.store();
        async move {
            store
                .given_consent(run)
                .await
                .expect("consents can be read")
        }
    };
    // An apply has only a consent that it has used.
    let run = waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    assert_eq!(given(run).await, None);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
    scene.applied(&lease).await;
    let deletion = scene.as_task_says();
    assert!(!scene.delete_as("a", deletion).await);
    let lease = scene.lease().await;
    assert_eq!(given(lease.run).await, None);
    assert_eq!(asks(&scene, &lease, "gone").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    assert_eq!(given(lease.run).await, None);
    approve(&scene, &[("a", "gone")]).await;
    let lease = scene.lease().await;
    let expected = GivenConsent {
        effect: "gone".to_owned(),
        plan: b"plan".to_vec(),
        destroys: true,
    };
    assert_eq!(given(lease.run).await, Some(expected.clone()));
    assert_eq!(asks(&scene, &lease, "gone").await.permit, USED);
    scene.failed(&lease, "no").await;
    assert_eq!(given(lease.run).await, Some(expected));
    scene.advance(ApprovalDefaults::default().expires);
    assert_eq!(given(lease.run).await, None);
}
