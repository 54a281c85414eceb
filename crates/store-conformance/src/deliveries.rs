//! Deliveries to the receivers of webhooks.

use cts_core::{Delivery, RunId};

use super::Fixture;
use super::scene::{LEASE, Scene, seconds, spec};
use cts_store::{Lease, Retention};

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is compared with what a lease has"
)]
fn delivery(number: u64, first_run: RunId) -> Option<Delivery> {
    Some(Delivery { number, first_run })
}

/// The next lease of a run that becomes due after a while.
async fn later<F: Fixture>(scene: &Scene<F>) -> Lease {
    let due = scene
        .store()
        .next_due()
        .await
        .expect("the queue can be read");
    scene.advance(due.expect("a run is queued"));
    scene.lease().await
}

pub async fn attempts_and_retries_are_one_delivery<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let first = scene.leased("a", "1").await;
    let expected = delivery(1, first.run);
    assert_eq!(first.delivery, expected);
    scene.interrupted(&first).await;
    let again = scene.lease().await;
    assert_eq!((again.run, again.delivery), (first.run, expected));
    scene.fail_thrice(again).await;
    let retry = later(&scene).await;
    assert_ne!(retry.run, first.run);
    assert_eq!(retry.delivery, expected);
    let other = scene.leased("b", "1").await;
    assert_eq!(other.delivery, delivery(1, other.run));
}

pub async fn a_lost_worker_leaves_the_delivery_as_it_is<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lost = scene.leased("a", "1").await;
    scene.advance(LEASE + seconds(1));
    scene.lead().await;
    assert_eq!(scene.reap().await.len(), 1);
    let again = later(&scene).await;
    assert_eq!(again.delivery, delivery(1, lost.run));
    scene.release_all().await;
    let again = later(&scene).await;
    assert_eq!(again.delivery, delivery(1, lost.run));
}

pub async fn a_replaced_input_is_another_delivery<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let first = scene.leased("a", "1").await;
    scene.failed(&first, "no").await;
    scene.enqueue("a", "2").await;
    let second = scene.lease().await;
    assert_eq!(second.run, first.run, "replaced in place");
    assert_eq!(second.delivery, delivery(2, first.run));
    scene.queue("a", "3").await;
    scene.failed(&second, "no").await;
    let third = scene.lease().await;
    assert_ne!(third.run, first.run);
    assert_eq!(third.delivery, delivery(3, third.run));
}

pub async fn an_earlier_input_whose_handlers_failed_is_another_delivery<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut deliveries = Vec::new();
    let mut lease = scene.leased("a", "1").await;
    let run = lease.run;
    for text in ["2", "1", "2"] {
        deliveries.push(lease.delivery);
        scene.failed(&lease, "no").await;
        scene.enqueue("a", text).await;
        lease = scene.lease().await;
    }
    deliveries.push(lease.delivery);
    assert_eq!(deliveries, [1, 2, 3, 4].map(|number| delivery(number, run)));
}

pub async fn what_follows_a_success_is_another_delivery<F: Fixture>() {
    let mut always = spec("a");
    always.file_settings.skip_unchanged = false;
    let scene = Scene::<F>::configured(&[always]).await;
    for number in 1..=3 {
        let lease = scene.leased("a", "1").await;
        assert_eq!(lease.delivery, delivery(number, lease.run));
        scene.applied(&lease).await;
    }
}

pub async fn plans_deliver_nothing<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let first = scene.leased("a", "1").await;
    scene.failed(&first, "no").await;
    scene.queue_plan("a", "2").await;
    let plan = scene.lease().await;
    assert_eq!(plan.delivery, None);
    scene.planned(&plan, "").await;
    assert_eq!(later(&scene).await.delivery, delivery(1, first.run));
}

pub async fn a_task_that_comes_back_delivers_anew<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let before = scene.apply("a", "1").await;
    scene.configure(&[]).await;
    scene.configure(&[spec("a")]).await;
    let lease = scene.leased("a", "1").await;
    assert_ne!(lease.run, before);
    assert_eq!(lease.delivery, delivery(1, lease.run));
}

pub async fn a_delivery_goes_on_after_a_restart<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    let first = scene.leased("a", "1").await;
    scene.failed(&first, "no").await;
    scene.restart().await;
    assert_eq!(later(&scene).await.delivery, delivery(1, first.run));
}

pub async fn a_forgotten_run_ends_its_delivery<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let first = scene.leased("a", "1").await;
    scene.fail_thrice(first).await;
    let pruned = scene.store().prune(Retention::of_any_age(0)).await;
    assert_eq!(pruned.expect("old runs can be forgotten"), 1);
    let retry = later(&scene).await;
    assert_eq!(retry.delivery, delivery(2, retry.run));
}
