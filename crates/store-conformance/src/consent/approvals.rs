//! Consent to the effects of plans.

use cts_core::runs::EnqueueDecision::{Replace, Withhold};
use cts_core::runs::{AttemptOutcome, RunKind, RunStatus};
use cts_core::{ApprovalDefaults, Permit};
use cts_proto::run::v1::ApprovalState;
use cts_store::{ApprovalError, RunFilter};

use super::asking::{
    FREE, USED, approve, asked, asks, begin, consents, decide, decision, harmless, permit, reject,
    reopen, ruled, skip, waiting,
};
use crate::Fixture;
use crate::scene::{Scene, all_runs, seconds, task};

pub async fn a_run_under_a_rule_waits_until_its_effect_is_approved<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let run = waiting(&scene, "a", "one", "e1").await;
    assert_eq!(scene.acquire().await, None);
    scene.retry_failed_now().await;
    scene.release_all().await;
    assert_eq!(scene.acquire().await, None);
    let waits = scene.run(run).await;
    assert_eq!(waits.status, RunStatus::Queued);
    assert_eq!((waits.awaits.as_deref(), waits.attempts), (Some("e1"), 0));
    let awaiting = RunFilter {
        awaits: true,
        ..all_runs()
    };
    let listed = scene.listed(&awaiting).await;
    assert_eq!(listed.iter().map(|it| it.id).collect::<Vec<_>>(), [run]);
    let depth = scene.queue_depth().await;
    assert_eq!((depth.queued, depth.awaiting, depth.ready), (0, 1, 0));
    let [consent] = consents(&scene).await.try_into().expect("one effect waits");
    assert_eq!((consent.run, consent.state), (run, ApprovalState::Waiting));

    let decided = approve(&scene, &[("a", "e1")]).await;
    let by = decided[0].decided.as_ref().expect("it is decided");
    assert_eq!((&*by.by, &*by.comment), ("alice", "yes"));
    assert_eq!(scene.listed(&awaiting).await, []);
    let depth = scene.queue_depth().await;
    assert_eq!((depth.queued, depth.awaiting, depth.ready), (1, 0, 1));
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.asks_permission), (run, true));
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
    assert!(consents(&scene).await.is_empty());
    scene.applied(&lease).await;
    assert_eq!(scene.run(run).await.status, RunStatus::Succeeded);
    assert_eq!(scene.enqueue("a", "one").await.decision, Some(skip(false)));
}

pub async fn a_consent_is_used_by_one_run<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
    scene.applied(&lease).await;
    // The same destruction asks again after the object was created again.
    let lease = begin(&scene, "a", "two").await;
    assert_eq!(permit(&scene, &lease, &harmless("e2")).await.permit, FREE);
    scene.applied(&lease).await;
    let lease = begin(&scene, "a", "one").await;
    let answer = asks(&scene, &lease, "e1").await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Waits, true));
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_further_attempt_has_the_consent_and_a_slow_retry_too<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    let mut lease = scene.lease().await;
    let used = |run| {
        let store = scene.store();
        async move {
            store
                .given_consent(run)
                .await
                .expect("consents can be read")
        }
    };
    for attempt in 1..=4 {
        assert_eq!(asks(&scene, &lease, "e1").await.permit, USED, "{attempt}");
        let given = used(lease.run).await.expect("it is used");
        assert_eq!((&*given.effect, given.destroys), ("e1", false));
        let completed = scene.failed(&lease, "no").await;
        scene.advance(completed.next_due.expect("another one follows"));
        lease = scene.lease().await;
    }
    // The rest of the effect, as the scheduler has found.
    let mut rest = asked("rest");
    rest.rest_of = Some("e1");
    assert_eq!(permit(&scene, &lease, &rest).await.permit, FREE);
    // Not after the consent has expired.
    scene.failed(&lease, "no").await;
    scene.advance(ApprovalDefaults::default().expires);
    assert_eq!(used(lease.run).await, None);
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
}

pub async fn a_rejected_effect_ends_its_run_and_withholds_its_input<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let run = waiting(&scene, "a", "one", "e1").await;
    reject(&scene, "a", "e1").await;
    assert_eq!(scene.run(run).await.status, RunStatus::Cancelled);
    let events = scene.state("a").await.events;
    let error = events[0].error.as_deref().expect("it has failed");
    assert!(error.contains("rejected by bob: no"), "{error}");
    // Nothing asks again: neither changes nor requests.
    assert_eq!(decide(&scene, "a", "one").await, Withhold);
    let requested = scene.ask("a", RunKind::Apply).await;
    let request = scene.request_of(requested, "one").await;
    let answer = scene.request_all(vec![request]).await.remove(0);
    assert_eq!(answer.decision, Some(Withhold));
    let refused = answer.refused.expect("a request has an answer");
    assert_eq!(refused.reason, "rejected by bob: no");
    // Another input with the same effect is rejected as soon as it is planned.
    let lease = begin(&scene, "a", "two").await;
    let answer = asks(&scene, &lease, "e1").await;
    assert_eq!(answer.permit, Permit::Rejected);
    assert_eq!(answer.decided.expect("it is decided").by, "bob");
    let declined = AttemptOutcome::Declined("rejected by bob: no".to_owned());
    scene.complete(scene.completion(&lease, declined)).await;
    // Another effect asks.
    let lease = begin(&scene, "a", "three").await;
    let answer = asks(&scene, &lease, "e2").await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Waits, true));
}

pub async fn a_reopened_effect_is_asked_for_again<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    scene.queue_caused("a", "one", &[1]).await;
    let lease = scene.lease().await;
    asks(&scene, &lease, "e1").await;
    scene.interrupted(&lease).await;
    assert_eq!(reopen(&scene, "a", scene.run_id()).await, 0);
    reject(&scene, "a", "e1").await;
    let again = scene.run_id();
    assert_eq!(reopen(&scene, "a", again).await, 1);
    let lease = scene.lease().await;
    assert_eq!(lease.run, again);
    assert_eq!(scene.causes_of(again).await, [1]);
    let answer = asks(&scene, &lease, "e1").await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Waits, true));
}

pub async fn decisions_about_another_effect_change_nothing<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a"), ruled("b")]).await;
    waiting(&scene, "a", "one", "e1").await;
    waiting(&scene, "b", "one", "e2").await;
    let wrong = decision(&[("a", "e1"), ("b", "e3")], None);
    let error = scene.store().decide_approvals(&wrong).await;
    let is_of_b = matches!(&error, Err(ApprovalError::Changed(tasks)) if *tasks == [task("b")]);
    assert!(is_of_b, "{error:?}");
    assert_eq!(scene.acquire().await, None);
    approve(&scene, &[("b", "e2"), ("a", "e1")]).await;
    // Decided once.
    let again = decision(&[("a", "e1")], None);
    let again = scene.store().decide_approvals(&again).await;
    assert!(matches!(again, Err(ApprovalError::Changed(_))), "{again:?}");
}

pub async fn a_requested_run_takes_the_place_of_a_waiting_one<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let run = waiting(&scene, "a", "one", "e1").await;
    let requested = scene.ask("a", RunKind::Apply).await;
    let lease = scene.lease_requested(requested, "one").await;
    assert_eq!(scene.run(run).await.status, RunStatus::Cancelled);
    let answer = asks(&scene, &lease, "e1").await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Waits, false));
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
    let decided = approve(&scene, &[("a", "e1")]).await;
    assert_eq!(decided[0].run, requested);
    assert_eq!(scene.lease().await.run, requested);
}

pub async fn a_lost_lease_leaves_a_waiting_run_in_the_queue<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let lease = begin(&scene, "a", "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
    // The worker dies before it gives the lease back.
    scene.advance(seconds(60));
    assert_eq!(scene.reap().await.len(), 1);
    scene.advance(seconds(60));
    assert_eq!(scene.acquire().await, None);
    approve(&scene, &[("a", "e1")]).await;
    let lease = scene.lease().await;
    // Approved between the answer and the end of the lease.
    assert_eq!(asks(&scene, &lease, "e2").await.permit, Permit::Waits);
    approve(&scene, &[("a", "e2")]).await;
    scene.interrupted(&lease).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, USED);
    // The permission is given; its answer and the worker are lost.
    scene.advance(seconds(60));
    scene.reap().await;
    scene.advance(seconds(60));
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e2").await.permit, USED);
}

pub async fn a_used_consent_ends_with_another_input_of_its_run<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let run = waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
    scene.failed(&lease, "no").await;
    // The object is made again, and destroyed again, under the same run.
    for (text, plan, expected) in [
        ("two", harmless("e2"), FREE),
        ("one", asked("e1"), Permit::Waits),
    ] {
        assert_eq!(decide(&scene, "a", text).await, Replace);
        let lease = scene.lease().await;
        assert_eq!(lease.run, run);
        assert_eq!(permit(&scene, &lease, &plan).await.permit, expected);
        scene.failed(&lease, "no").await;
    }
}

pub async fn a_requested_run_keeps_its_consent_when_its_data_come_again<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    let requested = scene.ask("a", RunKind::Apply).await;
    let lease = scene.lease_requested(requested, "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    approve(&scene, &[("a", "e1")]).await;
    let lease = scene.lease().await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
    // Its worker drains in the middle of the apply.
    scene.interrupted(&lease).await;
    scene.enqueue("a", "one").await;
    let lease = scene.lease().await;
    assert_eq!(lease.run, requested);
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
}

pub async fn a_requested_run_of_a_disabled_task_waits_through_a_restart<F: Fixture>() {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    scene.enable("a", false).await;
    let requested = scene.ask("a", RunKind::Apply).await;
    let lease = scene.lease_requested(requested, "one").await;
    assert_eq!(asks(&scene, &lease, "e1").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    scene.release_all().await;
    approve(&scene, &[("a", "e1")]).await;
    let lease = scene.lease().await;
    assert_eq!(lease.run, requested);
    assert_eq!(asks(&scene, &lease, "e1").await.permit, USED);
}
