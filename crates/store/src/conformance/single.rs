//! Runs with one attempt.

use cts_core::runs::EnqueueDecision::{Enqueue, Keep, Replace, Supersede};
use cts_core::runs::{EnqueueDecision, RunStatus};

use super::Fixture;
use super::scene::{Scene, claim, input, seconds, spec};
use crate::{Claim, Enqueued};

async fn ask_once<F: Fixture>(scene: &Scene<F>, text: &str) -> Enqueued {
    let request = scene.single_request("a", text);
    scene.request_all(vec![request]).await.remove(0)
}

pub async fn a_single_run_fails_with_its_first_attempt_and_nothing_follows<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_new(scene.single_request("a", "1")).await;
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.attempt), (run, 1));
    let completed = scene.failed(&lease, "no").await;
    assert_eq!(completed.status, RunStatus::Failed);
    assert_eq!(completed.next_due, None);
    let event = completed.event.expect("a failed run has an event");
    assert_eq!(event.error.as_deref(), Some("no"));
    scene.advance(seconds(2 * 3600));
    assert_eq!(scene.acquire().await, None);
    let record = scene.run(run).await;
    assert!(record.single);
    assert_eq!(record.error().as_deref(), Some("no"));
}

pub async fn a_single_run_that_succeeds_settles_its_input<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.settle("a", "1").await;
    scene.queue_new(scene.single_request("a", "1")).await;
    let lease = scene.lease().await;
    assert_eq!(scene.applied(&lease).await.status, RunStatus::Succeeded);
    assert_eq!(scene.state("a").await.events.len(), 2);
    let again = scene.enqueue("a", "1").await.decision;
    assert!(
        matches!(again, Some(EnqueueDecision::Skip { .. })),
        "{again:?}"
    );
}

pub async fn an_interrupted_single_run_has_its_attempt_again<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_new(scene.single_request("a", "1")).await;
    scene.interrupted(&scene.lease().await).await;
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.attempt), (run, 1));
    let completed = scene.failed(&lease, "no").await;
    assert_eq!(completed.status, RunStatus::Failed);
}

/// What failed before is in the event of the run in which it failed, and nowhere else.
pub async fn a_single_run_does_not_go_on_with_earlier_attempts<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let usual = scene.leased("a", "1").await;
    scene.failed(&usual, "earlier").await;
    let answer = ask_once(&scene, "1").await;
    assert_eq!(answer.decision, Some(Supersede));
    assert_eq!(answer.cancelled, Some(usual.run));
    assert_eq!(scene.run(usual.run).await.status, RunStatus::Cancelled);
    let lease = scene.lease().await;
    assert_eq!((Some(lease.run), lease.attempt), (answer.queued, 1));
    let event = scene.failed(&lease, "now").await.event;
    let error = event.expect("a failed run has an event").error;
    assert_eq!(error.as_deref(), Some("now"));
    assert_eq!(scene.next_due().await, None);
}

pub async fn a_single_request_joins_one_that_waits<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let first = ask_once(&scene, "1").await;
    let second = ask_once(&scene, "1").await;
    assert_eq!(second.decision, Some(Keep));
    assert_eq!(second.queued, first.queued);
    let newer = ask_once(&scene, "2").await;
    assert_eq!(newer.decision, Some(Replace));
    assert_eq!(newer.queued, first.queued);
    let lease = scene.lease().await;
    assert_eq!(lease.input, input("2").hash);
    let completed = scene.failed(&lease, "no").await;
    assert_eq!(completed.status, RunStatus::Failed);
}

pub async fn a_change_behind_a_single_run_gets_all_its_attempts<F: Fixture>() {
    for text in ["1", "2"] {
        let scene = Scene::<F>::new(&["a"]).await;
        let run = ask_once(&scene, "1").await.queued;
        let changed = scene.enqueue("a", text).await;
        assert_eq!((changed.decision, changed.queued), (Some(Replace), run));
        let lease = scene.lease().await;
        assert_eq!(lease.input, input(text).hash);
        let last = scene.fail_thrice(lease).await;
        assert_eq!(last.status, RunStatus::Failed);
        assert!(last.next_due.is_some(), "it is tried afresh");
    }
}

pub async fn a_single_run_of_what_is_applied_survives_a_skip<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.settle("a", "1").await;
    let asked = ask_once(&scene, "1").await;
    assert_eq!(asked.decision, Some(Enqueue));
    let skipped = scene.enqueue("a", "1").await;
    assert_eq!((skipped.queued, skipped.cancelled), (asked.queued, None));
    ask_once(&scene, "2").await;
    let skipped = scene.enqueue("a", "1").await;
    assert_eq!((skipped.queued, skipped.cancelled), (None, asked.queued));
}

/// Their callers are dead; what was cut off is made good when inputs are compared next.
pub async fn releasing_everything_cancels_single_runs<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.settle("a", "1").await;
    let running = scene.queue_new(scene.single_request("a", "1")).await;
    scene.lease().await;
    let waiting = scene.queue_new(scene.single_request("a", "2")).await;
    let usual = scene.queue("b", "1").await;
    let released = scene.release_all().await;
    assert_eq!(released.len(), 1);
    assert_eq!(released[0].status, RunStatus::Cancelled);
    for run in [running, waiting] {
        assert_eq!(scene.run(run).await.status, RunStatus::Cancelled);
    }
    assert_eq!(scene.lease().await.run, usual);
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(Enqueue));
}

pub async fn only_single_runs_are_leased_where_they_are_claimed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let only_single = Claim {
        only_single: true,
        ..claim()
    };
    let usual = scene.queue("a", "1").await;
    assert_eq!(scene.acquire_as(&only_single).await, None);
    let single = scene.queue_new(scene.single_request("b", "1")).await;
    let lease = scene.acquire_as(&only_single).await;
    assert_eq!(lease.map(|lease| lease.run), Some(single));
    assert_eq!(scene.lease().await.run, usual);
}

pub async fn a_single_run_is_refused_where_the_task_is_disabled<F: Fixture>() {
    let mut off = spec("a");
    off.enabled = false;
    let scene = Scene::<F>::configured(&[off]).await;
    let answer = ask_once(&scene, "1").await;
    assert_eq!((answer.decision, answer.queued), (None, None));
}
