//! Lost leases, and the fate of their runs.

use std::time::Duration;

use cts_core::lease::LONGEST_LEASE;
use cts_core::runs::{ERROR_BYTES, EnqueueDecision, RunKind, RunStatus};
use cts_core::{LeaderEpoch, LostLease, TaskStatus};

use crate::Fixture;
use crate::scene::{LEASE, Scene, input, seconds, spec, worker};
use cts_store::{Lease, Requeued, Retention, lost_lease_error};

/// Life of the leadership; schedulers call once in a third of it.
const LEADERSHIP: Duration = Duration::from_secs(15);

/// Lets the lease end while schedulers serve, and takes it back.
async fn lose<F: Fixture>(scene: &Scene<F>, lease: &Lease) -> Requeued {
    scene.advance(LEASE);
    let lost = scene.reap().await;
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].run, lease.run);
    lost[0].clone()
}

/// Newer inputs give a queued run new attempts again and again.
pub async fn the_newest_errors_of_a_run_stay_and_none_is_long<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut lease = scene.leased("a", "0").await;
    for number in 0..8 {
        scene.failed(&lease, &format!("error {number}")).await;
        scene.enqueue("a", &format!("input {number}")).await;
        lease = scene.lease().await;
    }
    let record = scene.run(lease.run).await;
    assert_eq!(record.errors, ["error 5", "error 6", "error 7"]);
    scene.failed(&lease, &"long ".repeat(ERROR_BYTES)).await;
    let record = scene.run(lease.run).await;
    assert_eq!(record.errors.len(), 3);
    assert!(record.errors[2].len() <= ERROR_BYTES);
    assert!(record.errors[2].contains("bytes are left out here"));
}

pub async fn a_run_that_loses_its_workers_fails_with_one_event_that_says_why<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let mut lease = scene.leased("a", "1").await;
    scene.failed(&lease, "no").await;
    for _ in 0..2 {
        scene.advance(scene.next_due().await.expect("there is another attempt"));
        lease = scene.lease().await;
        lose(&scene, &lease).await;
    }
    let record = scene.run(lease.run).await;
    assert_eq!((record.status, record.attempts), (RunStatus::Failed, 3));
    let lost = lost_lease_error(worker().as_str());
    assert_eq!(record.errors, ["no", &lost, &lost]);
    let state = scene.state("a").await;
    assert_eq!(state.status, TaskStatus::Errored);
    assert_eq!(state.events.len(), 1);
    assert_eq!(state.events[0].run_id, Some(lease.run));
    let told = state.events[0].error.clone();
    let chain = format!(
        "retry attempt #2 failed '{lost}': retry attempt #1 failed '{lost}': the attempt before failed 'no'"
    );
    assert_eq!(told, Some(chain));
    // The input is tried again later, like that of any failed run, and other tasks go on.
    assert_eq!(scene.next_due().await, Some(seconds(60)));
    scene.leased("b", "1").await;
    assert_eq!(scene.queue_depth().await.queued, 1);
}

/// A run is queued by the replica `one`, which leads for a short time.
async fn led_by_one<F: Fixture>() -> (Scene<F>, LeaderEpoch) {
    let scene = Scene::<F>::unled().await;
    let epoch = scene.lead_as("one", None, LEADERSHIP).await.epoch;
    let store = scene.store();
    let configured = store.replace_config_tasks(epoch, &[spec("a")]).await;
    configured.expect("tasks can be replaced");
    let enqueued = store.enqueue(epoch, vec![scene.request("a", "1")]).await;
    enqueued.expect("inputs can be enqueued");
    (scene, epoch)
}

/// Every scheduler, or the database, was away for longer than half of a leadership.
pub async fn leases_that_no_scheduler_could_renew_do_not_count<F: Fixture>() {
    let (scene, _) = led_by_one::<F>().await;
    for round in 0..5 {
        let lease = scene.lease().await;
        assert_eq!(lease.attempt, 1, "{round}");
        scene.advance(LEASE);
        let epoch = scene.lead_as("two", None, LEADERSHIP).await.epoch;
        let lost = scene.store().reap(epoch, &scene.expired_leases(1)).await;
        let lost = lost.expect("leases can be taken back");
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].status, RunStatus::Queued);
        let record = scene.run(lease.run).await;
        assert_eq!((record.attempts, record.errors.len()), (0, 0));
        assert_eq!(scene.next_due().await, Some(seconds(0)));
    }
}

/// The leader ended, but another replica served all the time.
pub async fn leases_that_a_replica_could_renew_count_though_nobody_led<F: Fixture>() {
    let (scene, mut epoch) = led_by_one::<F>().await;
    let lease = scene.lease().await;
    for _ in 0..6 {
        scene.advance(LEADERSHIP / 3);
        epoch = scene.lead_as("two", None, LEADERSHIP).await.epoch;
    }
    let lost = scene.store().reap(epoch, &scene.expired_leases(1)).await;
    assert_eq!(lost.expect("leases can be taken back").len(), 1);
    let record = scene.run(lease.run).await;
    assert_eq!((record.attempts, record.errors.len()), (1, 1));
}

/// Lists the lost leases that the store remembers: their holders, and the seconds from the beginning to the
/// loss.
async fn remembered<F: Fixture>(scene: &Scene<F>, lease: &Lease) -> Vec<(String, i64)> {
    let lost = scene.store().lost_leases(lease.run).await;
    let lost = lost.expect("lost leases can be read");
    let seconds = |lost: &LostLease| (lost.lost_at - lost.started_at).num_seconds();
    lost.iter()
        .map(|lost| (lost.worker.to_string(), seconds(lost)))
        .collect()
}

pub async fn a_lost_lease_is_remembered_with_its_task<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let lease = scene.leased("a", "1").await;
    let ended = scene.leased("b", "1").await;
    scene.applied(&ended).await;
    assert!(remembered(&scene, &lease).await.is_empty());
    lose(&scene, &lease).await;
    let once = (worker().to_string(), LEASE.as_secs().cast_signed());
    assert_eq!(
        remembered(&scene, &lease).await,
        std::slice::from_ref(&once)
    );

    // Other runs of the task return the lost lease, newest first; runs of other tasks do not, and a lost
    // check is left out.
    let again = scene.lease().await;
    scene.applied(&again).await;
    let check = scene.ask("a", RunKind::Check).await;
    let check = scene.lease_requested(check, "1").await;
    lose(&scene, &check).await;
    scene.checked(&scene.lease().await).await;
    let next = scene.leased("a", "2").await;
    lose(&scene, &next).await;
    let known = remembered(&scene, &next).await;
    assert_eq!((known.len(), &known[1]), (2, &once));
    assert!(remembered(&scene, &ended).await.is_empty());

    scene.advance(Duration::from_hours(24));
    let kept = Retention {
        age: Duration::from_hours(23),
        ..Retention::of_any_age(100)
    };
    scene.store().prune(kept).await.expect("runs can be pruned");
    assert!(remembered(&scene, &next).await.is_empty());
}

pub async fn leases_that_a_dead_process_had_are_lost<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.advance(seconds(3));
    scene.release_all().await;
    let lost = remembered(&scene, &lease).await;
    assert_eq!(lost, [(worker().to_string(), 3)]);
}

/// Years by which the clock of a machine is ahead until it is set.
const AHEAD: Duration = Duration::from_hours(5 * 365 * 24);

pub async fn a_clock_that_was_years_ahead_silences_no_run_and_keeps_no_lease<F: Fixture>() {
    let scene = Scene::<F>::new(&["lost", "waiting"]).await;
    scene.advance(AHEAD);
    let waiting = scene.leased("waiting", "1").await;
    scene.failed(&waiting, "no").await;
    let lost = scene.leased("lost", "1").await;
    scene.set_back(AHEAD);

    assert!(scene.reap().await.is_empty(), "the lease is in force");
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.attempt), (waiting.run, 2));
    // The lease is of the present time, and ends like any other.
    assert!(scene.reap().await.is_empty());
    scene.applied(&lease).await;
    // The other lease ends after the longest life of a lease, so that its holder keeps what was promised.
    scene.advance(LEASE);
    assert!(scene.reap().await.is_empty());
    scene.advance(LONGEST_LEASE);
    let requeued = scene.reap().await;
    assert_eq!(requeued.len(), 1);
    assert_eq!(requeued[0].run, lost.run);
    assert_eq!(scene.lease().await.run, lost.run);
}

pub async fn a_crash_between_lease_and_completion_leaves_nothing_last_applied<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let lost = scene.leased("a", "2").await;
    scene.restart().await;
    let released = scene.release_all().await;
    assert_eq!(
        (released[0].run, released[0].status),
        (lost.run, RunStatus::Queued)
    );
    // Both were begun and neither is certainly in force, so neither is skipped.
    let kept = scene.enqueue("a", "2").await;
    assert_eq!(kept.decision, Some(EnqueueDecision::Keep));
    let back = scene.enqueue("a", "1").await;
    assert_eq!(back.decision, Some(EnqueueDecision::Replace));
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.input), (lost.run, input("1").hash));
    assert_eq!(lease.epoch.get(), lost.epoch.get() + 1);
}
