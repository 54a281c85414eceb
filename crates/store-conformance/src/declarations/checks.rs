//! Behaviours of the checks that make disabled tasks ready.

use cts_core::runs::RunKind;
use cts_core::{CheckOutcome, Digest, RunId, TaskCheck};

use crate::Fixture;
use crate::scene::{LEASE, Scene, task};
use cts_store::EnqueueRequest;

fn key(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

async fn check<F: Fixture>(scene: &Scene<F>, name: &str, text: &str) -> RunId {
    let request = EnqueueRequest {
        kind: RunKind::Check,
        check_key: Some(key(text)),
        ..scene.request(name, text)
    };
    let run = request.run;
    let enqueued = scene.request_all(vec![request]).await;
    assert_eq!(enqueued[0].queued, Some(run));
    run
}

async fn known<F: Fixture>(scene: &Scene<F>) -> Vec<(String, TaskCheck)> {
    let names = ["a", "b", "unknown"].map(task);
    let checks = scene.store().checks(&names).await;
    let checks = checks.expect("checks can be read").into_iter();
    let mut checks: Vec<_> = checks
        .map(|(name, check)| (name.to_string(), check))
        .collect();
    checks.sort_by(|one, other| one.0.cmp(&other.0));
    checks
}

fn of(name: &str, text: &str, run: RunId, outcome: Option<CheckOutcome>) -> (String, TaskCheck) {
    let key = key(text);
    (name.to_owned(), TaskCheck { key, run, outcome })
}

pub async fn the_newest_check_of_a_task_keeps_its_outcome<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b"]).await;
    scene.enable("a", false).await;
    assert_eq!(known(&scene).await, []);
    let first = check(&scene, "a", "1").await;
    assert_eq!(known(&scene).await, [of("a", "1", first, None)]);
    let lease = scene.lease().await;
    let second = check(&scene, "a", "2").await;
    scene.checked(&lease).await;
    assert_eq!(
        known(&scene).await,
        [of("a", "2", second, None)],
        "an older one has ended"
    );
    let lease = scene.lease().await;
    scene.checked(&lease).await;
    scene.restart().await;
    let passed = of("a", "2", second, Some(CheckOutcome::Passed));
    assert_eq!(known(&scene).await, [passed]);
    assert_eq!(scene.state("a").await.events, []);
}

pub async fn the_error_of_a_check_is_shown_while_the_task_is_disabled<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.enable("a", false).await;
    let run = check(&scene, "a", "1").await;
    let lease = scene.lease().await;
    let version = scene.version().await;
    scene.failed(&lease, "no such module").await;
    assert_ne!(version, scene.version().await);
    let failed = CheckOutcome::Failed("no such module".to_owned());
    assert_eq!(known(&scene).await, [of("a", "1", run, Some(failed))]);
    let error = scene.state("a").await.check_error;
    assert_eq!(error.as_deref(), Some("no such module"));
    scene.enable("a", true).await;
    assert_eq!(scene.state("a").await.check_error, None);
    scene.enable("a", false).await;
    check(&scene, "a", "2").await;
    assert_eq!(
        scene.state("a").await.check_error,
        None,
        "another one has begun"
    );
}

pub async fn a_check_that_was_cancelled_or_lost_says_so<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    for name in ["a", "b"] {
        scene.enable(name, false).await;
    }
    let cancelled = check(&scene, "a", "1").await;
    scene.cancel(cancelled, false).await;
    let lost = check(&scene, "b", "1").await;
    for _ in 0..3 {
        scene.advance(scene.next_due().await.expect("there is another attempt"));
        scene.lease().await;
        scene.advance(LEASE);
        scene.reap().await;
    }
    let known = known(&scene).await;
    assert_eq!(known[0], of("a", "1", cancelled, None));
    assert_eq!(known[1].1.run, lost);
    let error = known[1].1.error().unwrap_or_default();
    assert!(error.contains("lost its lease"), "{error}");
}

pub async fn a_check_without_a_key_is_not_kept<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.ask("a", RunKind::Check).await;
    let lease = scene.lease_requested(run, "1").await;
    scene.checked(&lease).await;
    assert_eq!(known(&scene).await, []);
}
