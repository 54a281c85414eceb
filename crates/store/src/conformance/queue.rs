//! How much work waits.

use std::time::Duration;

use super::Fixture;
use super::scene::{LEASE, MICROSECOND, Scene, seconds, spec};
use crate::QueueDepth;

async fn assert_depth<F: Fixture>(
    scene: &Scene<F>,
    (queued, ready, running): (u64, u64, u64),
    oldest_ready: Option<Duration>,
) {
    let expected = QueueDepth {
        queued,
        ready,
        running,
        oldest_ready,
    };
    assert_eq!(scene.queue_depth().await, expected);
}

pub async fn an_empty_queue_has_no_depth<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    assert_eq!(scene.queue_depth().await, QueueDepth::default());
    scene.configure(&[spec("a")]).await;
    assert_eq!(scene.queue_depth().await, QueueDepth::default());
}

pub async fn runs_are_counted_by_what_they_wait_for<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    for name in ["a", "b", "c"] {
        scene.queue(name, "1").await;
    }
    assert_depth(&scene, (3, 3, 0), Some(Duration::ZERO)).await;
    let first = scene.lease().await;
    let second = scene.lease().await;
    assert_depth(&scene, (1, 1, 2), Some(Duration::ZERO)).await;
    scene.applied(&first).await;
    scene.interrupted(&second).await;
    assert_depth(&scene, (2, 2, 0), Some(Duration::ZERO)).await;
    let third = scene.lease().await;
    let fourth = scene.lease().await;
    assert_depth(&scene, (0, 0, 2), None).await;
    // An expired lease is one until it is taken back.
    scene.advance(LEASE);
    assert_depth(&scene, (0, 0, 2), None).await;
    scene.reap().await;
    assert_depth(&scene, (2, 2, 0), Some(Duration::ZERO)).await;
    assert_ne!(third.run, fourth.run);
}

pub async fn the_age_is_that_of_the_longest_due<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.queue("b", "1").await;
    scene.advance(seconds(5));
    scene.queue("a", "1").await;
    scene.advance(MICROSECOND);
    assert_depth(&scene, (2, 2, 0), Some(seconds(5) + MICROSECOND)).await;
    scene.lease().await;
    assert_depth(&scene, (1, 1, 1), Some(MICROSECOND)).await;
    // A replacement takes the place that it finds.
    scene.enqueue("a", "2").await;
    assert_depth(&scene, (1, 1, 1), Some(MICROSECOND)).await;
}

pub async fn a_run_that_is_not_due_is_queued_but_not_ready<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.failed(&lease, "no").await;
    assert_depth(&scene, (1, 0, 0), None).await;
    scene.advance(seconds(1).checked_sub(MICROSECOND).expect("it is longer"));
    assert_depth(&scene, (1, 0, 0), None).await;
    scene.advance(MICROSECOND);
    assert_depth(&scene, (1, 1, 0), Some(Duration::ZERO)).await;
}

pub async fn a_run_behind_a_running_one_is_queued_but_not_ready<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let running = scene.leased("a", "1").await;
    scene.queue("a", "2").await;
    scene.advance(seconds(3));
    assert_depth(&scene, (1, 0, 1), None).await;
    scene.queue("b", "1").await;
    assert_depth(&scene, (2, 1, 1), Some(Duration::ZERO)).await;
    scene.applied(&running).await;
    assert_depth(&scene, (2, 2, 0), Some(seconds(3))).await;
}

pub async fn a_disabled_task_has_nothing_queued_but_may_be_running<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.leased("a", "1").await;
    scene.queue("b", "1").await;
    let off = ["a", "b"].map(|name| {
        let mut off = spec(name);
        off.enabled = false;
        off
    });
    scene.configure(&off).await;
    assert_depth(&scene, (0, 0, 1), None).await;
    scene.configure(&["a", "b"].map(spec)).await;
    assert_depth(&scene, (1, 1, 1), Some(Duration::ZERO)).await;
}
