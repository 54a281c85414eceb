//! A requested run swallows no change: when it fails, an ordinary run follows for the change that it stood
//! for.

use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};

use crate::Fixture;
use crate::scene::{LEASE, Scene, input, seconds, spec};
use cts_store::{Completed, Lease, TaskChange};

/// Tasks like this one lose a change if only a slow retry could bring it back.
async fn scene<F: Fixture>(retry_failed: bool) -> Scene<F> {
    let mut task = spec("a");
    task.file_settings.retry_failed = retry_failed;
    Scene::configured(&[task]).await
}

/// An ordinary run of this input is due soon, and has all its attempts.
async fn has_an_ordinary_run<F: Fixture>(scene: &Scene<F>, failed: &Completed, text: &str) {
    assert_eq!(failed.status, RunStatus::Failed);
    assert_eq!(failed.next_due, Some(seconds(1)));
    scene.advance(seconds(1));
    for attempt in 1..=3 {
        let lease = scene.lease().await;
        assert_eq!((lease.input, lease.attempt), (input(text).hash, attempt));
        assert!(!scene.run(lease.run).await.no_retry);
        let failed = scene.failed(&lease, "no").await;
        scene.advance(failed.next_due.unwrap_or_default());
    }
}

/// Requests an apply of the newest input, this one, and leases it.
async fn requested<F: Fixture>(scene: &Scene<F>, text: &str) -> Lease {
    let run = scene.ask("a", RunKind::Apply).await;
    scene.lease_requested(run, text).await
}

pub async fn a_requested_run_that_fails_leaves_the_change_that_it_replaced<F: Fixture>() {
    for retry_failed in [false, true] {
        let scene = scene::<F>(retry_failed).await;
        scene.apply("a", "1").await;
        scene.queue("a", "2").await;
        let lease = requested(&scene, "2").await;
        let failed = scene.failed(&lease, "no").await;
        has_an_ordinary_run(&scene, &failed, "2").await;
        // These were all attempts; from here on the task's own setting counts.
        let waits = scene.next_due().await;
        assert_eq!(waits.is_some(), retry_failed, "{waits:?}");
    }
}

/// The change came while the requested run was applying the same input, so it was skipped.
pub async fn a_change_that_was_skipped_because_of_a_requested_run_is_not_lost<F: Fixture>() {
    let scene = scene::<F>(false).await;
    scene.apply("a", "1").await;
    let lease = requested(&scene, "2").await;
    let skipped = scene.enqueue("a", "2").await;
    assert!(matches!(
        skipped.decision,
        Some(EnqueueDecision::Skip { .. })
    ));
    let failed = scene.failed(&lease, "no").await;
    has_an_ordinary_run(&scene, &failed, "2").await;
}

/// Repeats this with an input that had its attempts before the newest change.
pub async fn a_change_back_to_what_was_tried_is_not_lost<F: Fixture>() {
    let scene = scene::<F>(false).await;
    scene.fail_thrice(scene.leased("a", "1").await).await;
    let lease = requested(&scene, "1").await;
    scene.enqueue("a", "1").await;
    let failed = scene.failed(&lease, "no").await;
    has_an_ordinary_run(&scene, &failed, "1").await;
    // And where a queued run was replaced in between.
    scene.queue("a", "2").await;
    let replaced = scene.enqueue("a", "1").await;
    assert_eq!(replaced.decision, Some(EnqueueDecision::Replace));
    let lease = requested(&scene, "1").await;
    let failed = scene.failed(&lease, "no").await;
    has_an_ordinary_run(&scene, &failed, "1").await;
}

pub async fn a_requested_run_whose_worker_is_lost_leaves_the_change<F: Fixture>() {
    let scene = scene::<F>(false).await;
    scene.queue("a", "1").await;
    let run = scene.ask("a", RunKind::Apply).await;
    scene.enqueue_requested(run, "1").await;
    for _ in 0..3 {
        scene.advance(scene.next_due().await.expect("it waits"));
        assert_eq!(scene.lease().await.run, run);
        scene.advance(LEASE);
        scene.reap().await;
    }
    assert_eq!(scene.run(run).await.status, RunStatus::Failed);
    assert_eq!(scene.next_due().await, Some(seconds(1)));
    scene.advance(seconds(1));
    let lease = scene.lease().await;
    assert_eq!((lease.input, lease.attempt), (input("1").hash, 1));
}

/// The caller is dead, but the change remains.
pub async fn releasing_everything_leaves_the_change_of_a_requested_run<F: Fixture>() {
    for leased in [false, true] {
        let scene = scene::<F>(false).await;
        scene.queue("a", "1").await;
        let run = scene.ask("a", RunKind::Apply).await;
        scene.enqueue_requested(run, "1").await;
        if leased {
            scene.lease().await;
        }
        scene.release_all().await;
        for attempt in 1..=3 {
            let lease = scene.lease().await;
            assert_eq!((lease.run, lease.attempt), (run, attempt));
            let failed = scene.failed(&lease, "no").await;
            scene.advance(failed.next_due.unwrap_or_default());
        }
    }
}

pub async fn a_replaced_run_keeps_its_place<F: Fixture>() {
    let scene = Scene::<F>::new(&["changes", "asked", "waits"]).await;
    let first = scene.queue("changes", "1").await;
    scene.advance(seconds(1));
    scene.queue("asked", "1").await;
    scene.advance(seconds(1));
    let last = scene.queue("waits", "1").await;
    for round in 2..5 {
        scene.advance(seconds(1));
        let replaced = scene.enqueue("changes", &format!("{round}")).await;
        assert_eq!(replaced.decision, Some(EnqueueDecision::Replace));
    }
    let change = TaskChange {
        request: Some((scene.run_id(), RunKind::Apply)),
        ..TaskChange::default()
    };
    let asked = change.request.map(|(run, _)| run);
    let changed = scene.change("asked", change).await;
    changed.expect("a run can be requested");
    scene
        .enqueue_requested(asked.expect("it has an id"), "2")
        .await;
    let mut order = Vec::new();
    while let Some(lease) = scene.acquire().await {
        order.push(lease.run);
    }
    assert_eq!(order, [first, asked.expect("it has an id"), last]);
}
