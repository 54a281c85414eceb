//! How much work waits.

use std::time::Duration;

use cts_core::Requirement;
use cts_core::runs::RunKind;

use crate::Fixture;
use crate::scene::{MICROSECOND, Scene, seconds, spec, task};
use crate::withdrawals::exhaust;
use cts_store::{EnqueueRequest, WaitingRuns};

pub async fn runs_that_wait_are_told_by_what_they_require<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let pinned = Requirement {
        version: Some("1.5.7".to_owned()),
        bundle: true,
        ..Requirement::default()
    };
    let mut specs = ["a", "b", "c", "d", "e"].map(spec);
    specs[1].requirement = pinned.clone();
    specs[3].requirement = pinned.clone();
    scene.configure(&specs).await;
    assert_eq!(scene.waiting_runs(Duration::ZERO).await, []);
    scene.leased("e", "1").await;
    scene.queue("e", "2").await;
    scene.queue("d", "1").await;
    scene.advance(seconds(1));
    scene.queue("c", "1").await;
    scene.queue("b", "1").await;
    scene.advance(seconds(2));
    scene.queue("a", "1").await;
    let of = |requirement: &Requirement, runs, oldest, name| WaitingRuns {
        settings: None,
        requirement: requirement.clone(),
        runs,
        own_checks: 0,
        oldest: seconds(oldest),
        task: task(name),
    };
    let any = Requirement::default();
    assert_eq!(
        scene.waiting_runs(Duration::ZERO).await,
        [of(&pinned, 2, 3, "d"), of(&any, 2, 2, "c")]
    );
    assert_eq!(
        scene.waiting_runs(seconds(2)).await,
        [of(&pinned, 2, 3, "d"), of(&any, 1, 2, "c")]
    );
    assert_eq!(
        scene.waiting_runs(seconds(2) + MICROSECOND).await,
        [of(&pinned, 1, 3, "d")]
    );
    assert_eq!(scene.waiting_runs(seconds(3) + MICROSECOND).await, []);
}

pub async fn waiting_checks_of_the_leader_are_counted<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.queue("a", "1").await;
    let check = |name| EnqueueRequest {
        kind: RunKind::Check,
        ..scene.request(name, "2")
    };
    scene.queue_new(check("a")).await;
    scene.queue_new(check("b")).await;
    let waiting = scene.waiting_runs(Duration::ZERO).await;
    let counts: Vec<_> = waiting.iter().map(|it| (it.runs, it.own_checks)).collect();
    assert_eq!(counts, [(3, 2)]);
}

pub async fn a_start_makes_failed_runs_due_once_in_a_while<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    assert_eq!(scene.retry_failed_now().await, [""; 0]);
    exhaust(&scene, "a").await;
    assert!(scene.next_due().await.is_some_and(|due| due > seconds(40)));
    assert_eq!(scene.retry_failed_now().await, ["a"]);
    assert_eq!(scene.next_due().await, Some(Duration::ZERO));
    // A run that is due already is not made due again, and no run is made due again too soon.
    assert_eq!(scene.retry_failed_now().await, [""; 0]);
    let lease = scene.lease().await;
    scene.failed(&lease, "no").await;
    scene.advance(seconds(4));
    exhaust_rest(&scene).await;
    assert_eq!(scene.retry_failed_now().await, [""; 0]);
    exhaust(&scene, "b").await;
    assert_eq!(scene.retry_failed_now().await, ["b"]);
    let lease = scene.lease().await;
    assert_eq!(lease.task, task("b"));
    scene.failed(&lease, "no").await;
    scene.advance(seconds(600));
    // By then it is due by itself; it fails again.
    exhaust_rest(&scene).await;
    assert_eq!(scene.retry_failed_now().await, ["a", "b"]);
}

/// Fails what is due until nothing is.
async fn exhaust_rest<F: Fixture>(scene: &Scene<F>) {
    while let Some(lease) = scene.acquire().await {
        scene.failed(&lease, "no").await;
        scene.advance(seconds(4));
    }
}

pub async fn a_start_leaves_alone_what_is_not_to_be_tried_again<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    exhaust(&scene, "a").await;
    exhaust(&scene, "b").await;
    let mut off = ["a", "b"].map(spec);
    off[0].file_settings.retry_failed = false;
    off[1].enabled = false;
    scene.configure(&off).await;
    assert_eq!(scene.retry_failed_now().await, [""; 0]);
    scene.configure(&["a", "b"].map(spec)).await;
    assert_eq!(
        scene.retry_failed_now().await,
        ["a"],
        "what was disabled is withdrawn"
    );
}

pub async fn a_run_is_open_while_it_is_queued_or_running<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let is_open = async || {
        let open = scene.store().has_open_runs().await;
        open.expect("open runs can be read")
    };
    assert!(!is_open().await);
    scene.queue("a", "1").await;
    assert!(is_open().await);
    let lease = scene.lease().await;
    assert!(is_open().await);
    scene.failed(&lease, "no").await;
    assert!(is_open().await, "the run waits for its next attempt");
    scene.advance(seconds(4));
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    assert!(!is_open().await);
}
