//! Effects that the data of their task need no longer, or again.

use cts_core::runs::EnqueueDecision::{Enqueue, Keep, Replace};
use cts_core::runs::RunStatus;
use cts_core::{ApprovalDefaults, GONE_FOR, PLANS_EVERY, Permit};
use cts_proto::run::v1::ApprovalState;

use super::asking::{
    FREE, USED, approve, approved_and_gone, asks, begin, consents, decide, harmless, permit,
    reject, ruled, skip, sweep, waiting,
};
use crate::Fixture;
use crate::scene::{Scene, seconds, task};

pub async fn an_effect_that_is_gone_comes_back_with_its_consent<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "full").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    let run = waiting(&scene, "a", "less", "e1").await;
    for round in 0..10 {
        scene.advance(seconds(5));
        let answer = scene.enqueue("a", "full").await;
        assert_eq!(
            (answer.decision, answer.cancelled),
            (Some(skip(true)), None)
        );
        assert!(consents(&scene).await[0].gone_at.is_some());
        assert_eq!(sweep(&scene).await, 0);
        if round == 6 {
            // Approved while it is gone.
            approve(&scene, &[("a", "e1")]).await;
        }
        assert_eq!(scene.acquire().await, None, "{round}");
        scene.advance(seconds(5));
        assert_eq!(decide(&scene, "a", "less").await, Keep);
        if round == 6 {
            break;
        }
        assert_eq!(scene.acquire().await, None, "{round}");
        assert_eq!(consents(&scene).await[0].gone_at, None);
    }
    let lease = scene.lease().await;
    assert_eq!(lease.run, run);
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
}

pub async fn an_effect_that_is_gone_for_two_minutes_is_withdrawn<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a"), ruled("b")]).await;
    for name in ["a", "b"] {
        let lease = begin(&scene, name, "full").await;
        assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
        scene.applied(&lease).await;
    }
    let run = waiting(&scene, "a", "less", "e1").await;
    waiting(&scene, "b", "less", "e2").await;
    reject(&scene, "b", "e2").await;
    scene.enqueue("a", "full").await;
    scene.enqueue("b", "full").await;
    scene.advance(GONE_FOR);
    assert_eq!(sweep(&scene).await, 2);
    assert_eq!(scene.run(run).await.status, RunStatus::Cancelled);
    assert!(consents(&scene).await.is_empty());
    for (name, effect) in [("a", "e1"), ("b", "e2")] {
        let lease = begin(&scene, name, "less").await;
        let answer = asks(&scene, &lease, effect).await;
        assert_eq!((answer.permit, answer.is_new), (Permit::Waits, true));
        scene.interrupted(&lease).await;
    }
}

pub async fn an_equal_effect_of_a_newer_input_keeps_its_run_and_tells_nobody<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let run = waiting(&scene, "a", "one", "e1").await;
    scene.advance(PLANS_EVERY);
    assert_eq!(decide(&scene, "a", "two").await, Replace);
    let lease = scene.lease().await;
    assert_eq!(lease.run, run);
    let answer = asks(&scene, &lease, "e1").await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Waits, false));
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
    // A decision during the plan counts for its result.
    scene.advance(PLANS_EVERY);
    assert_eq!(decide(&scene, "a", "three").await, Replace);
    let lease = scene.lease().await;
    approve(&scene, &[("a", "e1")]).await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
}

pub async fn a_newer_input_is_planned_at_most_once_a_minute<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "0", "e").await;
    let mut plans = 1;
    for second in 1..=600 {
        scene.advance(seconds(1));
        if second % 5 == 0 {
            assert_eq!(decide(&scene, "a", &second.to_string()).await, Replace);
        }
        if let Some(lease) = scene.acquire().await {
            plans += 1;
            asks(&scene, &lease, &format!("e{second}")).await;
            scene.interrupted(&lease).await;
        }
    }
    assert!((10..=11).contains(&plans), "{plans}");
}

pub async fn a_consent_expires<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    scene.advance(ApprovalDefaults::default().expires);
    assert_eq!(sweep(&scene).await, 0);
    let [consent] = consents(&scene).await.try_into().expect("it is known");
    assert_eq!(
        (consent.state, consent.decided),
        (ApprovalState::Waiting, None)
    );
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
}

pub async fn data_that_a_run_has_are_not_gone<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
    // The data come again while the worker still has the run.
    assert_eq!(decide(&scene, "a", "one").await, skip(false));
    scene.interrupted(&lease).await;
    scene.advance(GONE_FOR);
    assert_eq!(sweep(&scene).await, 0);
    let [consent] = consents(&scene).await.try_into().expect("it waits");
    assert_eq!(consent.gone_at, None);
}

pub async fn data_that_come_back_late_are_asked_for_again<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "full").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    let run = waiting(&scene, "a", "less", "e1").await;
    scene.enqueue("a", "full").await;
    approve(&scene, &[("a", "e1")]).await;
    scene.advance(GONE_FOR);
    // Before the leader has withdrawn the effect.
    assert_eq!(decide(&scene, "a", "less").await, Keep);
    assert_eq!(sweep(&scene).await, 0);
    assert_eq!(scene.acquire().await, None);
    approve(&scene, &[("a", "e1")]).await;
    assert_eq!(scene.lease().await.run, run);
}

pub async fn a_run_that_gives_way_leaves_its_question<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "one").await;
    let next = scene.queue("a", "two").await;
    let answer = asks(&scene, &lease, "e1").await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Unwanted, true));
    scene.interrupted(&lease).await;
    approve(&scene, &[("a", "e1")]).await;
    let lease = scene.lease().await;
    assert_eq!(lease.run, next);
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
    // Any run that had the effect names it.
    let named = scene.store().approval_of(next, Some("e1")).await;
    assert!(named.expect("it can be read").is_some());
}

pub async fn the_effect_of_newer_data_is_not_gone<F: Fixture>() {
    let scene = approved_and_gone::<F>().await;
    let lease = scene.lease().await;
    let next = scene.queue("a", "one").await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, Permit::Unwanted);
    scene.interrupted(&lease).await;
    scene.advance(GONE_FOR);
    sweep(&scene).await;
    let lease = scene.lease().await;
    assert_eq!(lease.run, next);
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
}

pub async fn a_rejection_of_data_that_are_gone_is_reopened_without_a_run<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "full").await;
    assert_eq!(permit(&scene, &lease, &harmless("e0")).await.permit, FREE);
    scene.applied(&lease).await;
    waiting(&scene, "a", "less", "e1").await;
    reject(&scene, "a", "e1").await;
    scene.enqueue("a", "full").await;
    let store = scene.store();
    let reopened = store.reopen_approvals(&task("a"), scene.run_id()).await;
    assert_eq!(reopened.expect("it can be reopened"), 1);
    assert_eq!(scene.acquire().await, None);
    assert_eq!(decide(&scene, "a", "less").await, Enqueue);
}

pub async fn a_run_that_waits_for_a_forgotten_effect_asks_again<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
    let newer = scene.queue("a", "two").await;
    scene.cancel(newer, false).await;
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
    sweep(&scene).await;
    let again = scene.lease().await;
    assert_eq!(again.run, lease.run);
    assert_eq!(asks(&scene, &again, "e1").await.permit, Permit::Waits);
}
