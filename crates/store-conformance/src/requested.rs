//! Requested runs in the queue and at work.

use cts_core::runs::EnqueueDecision::{Enqueue, Replace, Supersede};
use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};

use super::Fixture;
use super::scene::{Scene, claim, input, seconds};
use cts_store::{Claim, Enqueued};

async fn request<F: Fixture>(scene: &Scene<F>, name: &str, text: &str) -> Enqueued {
    let run = scene.ask(name, RunKind::Apply).await;
    scene.carry_out(run, text).await
}

pub async fn a_requested_run_that_succeeds_is_what_is_applied<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    request(&scene, "a", "1").await;
    let lease = scene.lease().await;
    assert_eq!(scene.applied(&lease).await.status, RunStatus::Succeeded);
    assert_eq!(scene.state("a").await.events.len(), 2);
    let again = scene.enqueue("a", "1").await.decision;
    assert!(
        matches!(again, Some(EnqueueDecision::Skip { .. })),
        "{again:?}"
    );
}

pub async fn an_interrupted_requested_run_has_its_attempt_again<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = request(&scene, "a", "1").await.queued;
    scene.interrupted(&scene.lease().await).await;
    let lease = scene.lease().await;
    assert_eq!((Some(lease.run), lease.attempt), (run, 1));
    let completed = scene.failed(&lease, "no").await;
    assert_eq!(completed.status, RunStatus::Failed);
}

/// Earlier failures are in the event of the run in which they happened, and in no other.
pub async fn a_requested_run_does_not_go_on_with_earlier_attempts<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let usual = scene.leased("a", "1").await;
    scene.failed(&usual, "earlier").await;
    let answer = request(&scene, "a", "1").await;
    assert_eq!(answer.decision, Some(Supersede));
    assert_eq!(answer.cancelled, Some(usual.run));
    assert_eq!(scene.run(usual.run).await.status, RunStatus::Cancelled);
    let lease = scene.lease().await;
    assert_eq!((Some(lease.run), lease.attempt), (answer.queued, 1));
    let event = scene.failed(&lease, "now").await.event;
    let error = event.expect("a failed run has an event").error;
    assert_eq!(error.as_deref(), Some("now"));
}

pub async fn a_change_behind_a_requested_run_gets_all_its_attempts<F: Fixture>() {
    for text in ["1", "2"] {
        let scene = Scene::<F>::new(&["a"]).await;
        let run = request(&scene, "a", "1").await.queued;
        let changed = scene.enqueue("a", text).await;
        assert_eq!((changed.decision, changed.queued), (Some(Replace), run));
        let lease = scene.lease().await;
        assert_eq!(lease.input, input(text).hash);
        let last = scene.fail_thrice(lease).await;
        assert_eq!(last.status, RunStatus::Failed);
        assert!(last.next_due.is_some(), "it is tried afresh");
    }
}

pub async fn a_requested_run_of_what_is_applied_survives_a_skip<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let asked = request(&scene, "a", "1").await;
    assert_eq!(asked.decision, Some(Enqueue));
    let skipped = scene.enqueue("a", "1").await;
    assert_eq!((skipped.queued, skipped.cancelled), (asked.queued, None));
    let other = request(&scene, "a", "2").await;
    let skipped = scene.enqueue("a", "1").await;
    assert_eq!((skipped.queued, skipped.cancelled), (None, other.queued));
}

/// Runs left by an earlier process are not leased to such a claim, not even requested ones.
pub async fn only_requested_runs_are_leased_where_they_are_claimed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let only_requested = Claim {
        only_requested: true,
        ..claim()
    };
    let left = request(&scene, "a", "1").await.queued;
    scene.release_all().await;
    scene.advance(seconds(1));
    scene.queue("b", "1").await;
    assert_eq!(scene.acquire_as(&only_requested).await, None);
    let requested = request(&scene, "c", "1").await.queued;
    let lease = scene.acquire_as(&only_requested).await;
    assert_eq!(lease.map(|lease| lease.run), requested);
    assert_eq!(Some(scene.lease().await.run), left);
}
