//! Leases: granted, renewed, taken back.

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, RunKind, RunStatus};
use cts_core::state::StateRecord;
use cts_core::{Delivery, LeaseEpoch, RunId, TaskTimeouts, WorkerId};

use super::Fixture;
use super::scene::{LEASE, MICROSECOND, Scene, claim, input, line, seconds, spec, task};
use cts_store::{Claim, EnqueueRequest, Lease, LeaseError, Requeued};

/// A lease of the scene's worker.
fn named(run: RunId, epoch: LeaseEpoch) -> Lease {
    Lease {
        run,
        task: task("a"),
        kind: RunKind::Apply,
        holder: claim().worker,
        epoch,
        input: input("1").hash,
        attempt: 1,
        timeouts: TaskTimeouts::default(),
        state: StateRecord::default(),
        delivery: None,
    }
}

async fn assert_refused<F: Fixture>(scene: &Scene<F>, run: RunId, epoch: LeaseEpoch) {
    assert_all_refused(scene, &named(run, epoch)).await;
}

/// Every call of a worker that names this lease is refused, and changes nothing.
async fn assert_all_refused<F: Fixture>(scene: &Scene<F>, lease: &Lease) {
    let Lease { run, epoch, .. } = *lease;
    let store = scene.store();
    let before = scene.find_run(run).await;
    let log = store.read_log(run, 0, 10).await.expect("logs can be read");
    let lost = |refused: Result<(), LeaseError>| {
        let told = match &refused {
            Err(LeaseError::Lost { run, epoch }) => Some((*run, *epoch)),
            _ => None,
        };
        assert_eq!(told, Some((run, epoch)), "{refused:?}");
    };
    let holder = &lease.holder;
    lost(store.renew(run, holder, epoch, LEASE).await.map(drop));
    lost(store.cancel_order(run, holder, epoch).await.map(drop));
    let late = vec![line("late")];
    lost(store.append_log(run, holder, epoch, late).await);
    lost(store.append_log(run, holder, epoch, Vec::new()).await);
    let outcomes = [
        AttemptOutcome::Applied,
        AttemptOutcome::Failed("late".to_owned()),
        AttemptOutcome::Interrupted,
    ];
    for outcome in outcomes {
        let mut completion = scene.completion(lease, outcome);
        completion.log = vec![line("late")];
        lost(store.complete(completion).await.map(drop));
    }
    assert_eq!(scene.find_run(run).await, before);
    let after = store.read_log(run, 0, 10).await.expect("logs can be read");
    assert_eq!(after, log);
}

pub async fn there_is_nothing_to_lease_in_an_empty_store<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, None);
    assert_eq!(scene.reap().await, []);
    assert_eq!(scene.release_all().await, []);
}

pub async fn a_lease_tells_what_to_do<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue("a", "1").await;
    scene.advance(seconds(3));
    let expected = Lease {
        delivery: Some(Delivery {
            number: 1,
            first_run: run,
        }),
        ..named(run, LeaseEpoch::new(1))
    };
    assert_eq!(scene.lease().await, expected);
    let record = scene.run(run).await;
    assert_eq!((record.status, record.attempts), (RunStatus::Running, 1));
    assert_eq!(record.started_at, Some(record.created_at + seconds(3)));
    assert_eq!(record.finished_at, None);
}

pub async fn a_lease_tells_the_timeouts_of_its_task<F: Fixture>() {
    let mut own = spec("a");
    // Text elsewhere in a task that looks like timeouts does not count as timeouts.
    own.definition.description = "\u{0}{\"timeouts\":{\"apply\":5}}".into();
    let mut other = spec("b");
    other
        .definition
        .description
        .clone_from(&own.definition.description);
    own.file_settings.timeouts = TaskTimeouts {
        plan: Some(Duration::from_millis(1500)),
        apply: Some(Duration::from_hours(48)),
        init: None,
    };
    let scene = Scene::<F>::new(&[]).await;
    scene.configure(&[own.clone(), other]).await;
    scene.queue("a", "1").await;
    assert_eq!(scene.lease().await.timeouts, own.file_settings.timeouts);
    scene.queue("b", "1").await;
    assert_eq!(scene.lease().await.timeouts, TaskTimeouts::default());
}

pub async fn a_grant_is_found_by_the_call_that_it_was_made_to<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let requested = |request: &str| Claim {
        request: request.to_owned(),
        ..claim()
    };
    let grants = async |worker: &WorkerId, requests: &[&str]| {
        let requests: Vec<String> = requests.iter().map(|&it| it.to_owned()).collect();
        let grants = scene.store().grants(worker, &requests).await;
        grants.expect("leases can be found")
    };
    let worker = claim().worker;
    scene.queue("a", "1").await;
    scene.queue("b", "1").await;
    let one = scene
        .acquire_as(&requested("1"))
        .await
        .expect("a run is due");
    let two = scene
        .acquire_as(&requested("2"))
        .await
        .expect("a run is due");
    assert_eq!(grants(&worker, &[]).await, []);
    assert_eq!(grants(&worker, &["3", "1"]).await, [(one.run, one.epoch)]);
    assert_eq!(grants(&WorkerId::new("another"), &["1", "2"]).await, []);
    scene.interrupted(&one).await;
    assert_eq!(grants(&worker, &["1", "2"]).await, [(two.run, two.epoch)]);
    // The next grant of the run goes to another call.
    let next = scene
        .acquire_as(&requested("4"))
        .await
        .expect("a run is due");
    assert_eq!(next.run, one.run);
    assert_eq!(grants(&worker, &["1"]).await, []);
    assert_eq!(grants(&worker, &["4"]).await, [(next.run, next.epoch)]);
}

pub async fn the_longest_due_run_comes_first_and_then_the_lowest_id<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c", "d"]).await;
    let request = |name: &str, run: RunId| EnqueueRequest {
        run,
        ..scene.request(name, "1")
    };
    let ids = [
        scene.run_id(),
        scene.run_id(),
        scene.run_id(),
        scene.run_id(),
    ];
    // The runs are due at the same time, so that the ids decide, whatever the order of the requests.
    let together = [("a", ids[3]), ("b", ids[1]), ("c", ids[2])];
    let requests = together.map(|(name, run)| request(name, run));
    scene.request_all(requests.into()).await;
    scene.advance(MICROSECOND);
    scene.request_all(vec![request("d", ids[0])]).await;
    for run in [ids[1], ids[2], ids[3], ids[0]] {
        assert_eq!(scene.lease().await.run, run);
    }
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_run_is_not_leased_before_it_is_due<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.failed(&lease, "no").await;
    assert_eq!(scene.acquire().await, None);
    scene.advance(
        seconds(1)
            .checked_sub(MICROSECOND)
            .expect("a second is longer"),
    );
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, Some(MICROSECOND));
    scene.advance(MICROSECOND);
    assert_eq!(scene.lease().await.run, lease.run);
}

pub async fn a_task_has_one_running_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let running = scene.leased("a", "1").await;
    let waiting = scene.queue("a", "2").await;
    assert_eq!(scene.acquire().await, None);
    scene.leased("b", "1").await;
    // Not even when the lease has expired: its worker may still be writing.
    scene.advance(LEASE * 2);
    assert_eq!(scene.acquire().await, None);
    scene.applied(&running).await;
    assert_eq!(scene.lease().await.run, waiting);
}

pub async fn a_disabled_task_is_not_leased_until_it_is_enabled<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let run = scene.queue("a", "1").await;
    let mut off = spec("a");
    off.enabled = false;
    scene.configure(&[off, spec("b")]).await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, None);
    scene.leased("b", "1").await;
    scene.configure(&[spec("a"), spec("b")]).await;
    assert_eq!(scene.run(run).await.status, RunStatus::Cancelled);
    assert_eq!(scene.next_due().await, None);
    let run = scene.queue("a", "1").await;
    assert_eq!(scene.next_due().await, Some(Duration::ZERO));
    assert_eq!(scene.lease().await.run, run);
}

pub async fn the_epoch_increases_with_every_grant<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut lease = scene.leased("a", "1").await;
    for round in 0..4 {
        match round {
            0 => drop(scene.failed(&lease, "no").await),
            1 => drop(scene.interrupted(&lease).await),
            2 => {
                scene.release_all().await;
            }
            _ => {
                scene.advance(LEASE);
                scene.reap().await;
            }
        }
        scene.advance(seconds(2));
        let next = scene.lease().await;
        assert_eq!(next.run, lease.run);
        assert_eq!(next.epoch.get(), lease.epoch.get() + 1);
        lease = next;
    }
}

pub async fn renewing_extends_the_lease_from_now<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let store = scene.store();
    let lease = scene.leased("a", "1").await;
    scene.advance(seconds(20));
    let renewed = store
        .renew(lease.run, &lease.holder, lease.epoch, seconds(15))
        .await;
    renewed.expect("a live lease can be renewed");
    scene.advance(seconds(15).checked_sub(MICROSECOND).expect("it is shorter"));
    assert_eq!(scene.reap().await, []);
    let renewed = store
        .renew(lease.run, &lease.holder, lease.epoch, seconds(5))
        .await;
    renewed.expect("a live lease can be renewed");
    scene.advance(seconds(5));
    let reaped = scene.reap().await;
    assert_eq!(reaped.len(), 1);
}

pub async fn a_renewal_never_shortens_the_lease<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let store = scene.store();
    let lease = scene.leased("a", "1").await;
    let renewed = store
        .renew(lease.run, &lease.holder, lease.epoch, seconds(60))
        .await;
    renewed.expect("a live lease can be renewed");
    let renewed = store
        .renew(lease.run, &lease.holder, lease.epoch, seconds(5))
        .await;
    renewed.expect("a live lease can be renewed");
    scene.advance(seconds(59));
    assert_eq!(scene.reap().await, []);
    scene.advance(seconds(1));
    assert_eq!(scene.reap().await.len(), 1);
}

pub async fn an_expired_lease_is_in_force_again_when_it_is_renewed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let waiting = scene.queue("a", "2").await;
    scene.advance(LEASE * 3);
    let renew = async || {
        let store = scene.store();
        let renewed = store.renew(lease.run, &lease.holder, lease.epoch, LEASE);
        renewed.await
    };
    renew().await.expect("it was not taken back");
    scene.advance(LEASE.checked_sub(MICROSECOND).expect("it is longer"));
    assert_eq!(scene.reap().await, []);
    assert_eq!(scene.acquire().await, None, "the task has a running run");
    scene.advance(MICROSECOND);
    assert_eq!(scene.reap().await.len(), 1);
    let late = renew().await;
    assert!(matches!(late, Err(LeaseError::Lost { .. })), "{late:?}");
    assert_eq!(scene.lease().await.run, waiting);
    let late = renew().await;
    assert!(matches!(late, Err(LeaseError::Lost { .. })), "{late:?}");
}

pub async fn a_lease_belongs_to_its_holder<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    for other in ["another", "", "WORKER"] {
        let of_another = Lease {
            holder: WorkerId::new(other),
            ..lease.clone()
        };
        assert_all_refused(&scene, &of_another).await;
    }
    scene.advance(LEASE);
    scene.reap().await;
    let other = Claim {
        worker: WorkerId::new("another"),
        ..claim()
    };
    let next = scene.acquire_as(&other).await.expect("a run is queued");
    assert_eq!((next.run, &next.holder), (lease.run, &other.worker));
    // Not even with the right epoch.
    assert_all_refused(&scene, &named(next.run, next.epoch)).await;
    assert_eq!(scene.applied(&next).await.status, RunStatus::Succeeded);
}

pub async fn an_expired_lease_can_be_completed_until_it_is_taken_back<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.advance(LEASE * 10);
    assert_eq!(scene.applied(&lease).await.status, RunStatus::Succeeded);
    assert_eq!(scene.state("a").await.events.len(), 1);

    let lease = scene.leased("a", "2").await;
    scene.advance(LEASE);
    scene.reap().await;
    assert_refused(&scene, lease.run, lease.epoch).await;
}

pub async fn an_old_epoch_is_refused<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let old = scene.leased("a", "1").await;
    scene.advance(LEASE);
    scene.reap().await;
    let new = scene.lease().await;
    assert_eq!(new.run, old.run);
    assert_refused(&scene, old.run, old.epoch).await;
    let future = LeaseEpoch::new(new.epoch.get() + 1);
    assert_refused(&scene, new.run, future).await;
    assert_refused(&scene, new.run, LeaseEpoch::new(u64::MAX)).await;
    assert_eq!(scene.applied(&new).await.status, RunStatus::Succeeded);
}

pub async fn a_run_that_was_never_leased_is_refused<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let queued = scene.queue("a", "1").await;
    for epoch in [0, 1] {
        assert_refused(&scene, queued, LeaseEpoch::new(epoch)).await;
        assert_refused(&scene, scene.run_id(), LeaseEpoch::new(epoch)).await;
    }
}

pub async fn a_completed_run_is_refused<F: Fixture>() {
    let mut once = spec("a");
    once.file_settings.retry_failed = false;
    let scene = Scene::<F>::configured(&[once]).await;
    let succeeded = scene.leased("a", "1").await;
    scene.applied(&succeeded).await;
    assert_refused(&scene, succeeded.run, succeeded.epoch).await;

    let retried = scene.leased("a", "2").await;
    scene.failed(&retried, "no").await;
    assert_refused(&scene, retried.run, retried.epoch).await;

    scene.advance(seconds(1));
    let interrupted = scene.lease().await;
    scene.interrupted(&interrupted).await;
    assert_refused(&scene, interrupted.run, interrupted.epoch).await;

    let cancelled = scene.lease().await;
    scene.queue("a", "3").await;
    scene.interrupted(&cancelled).await;
    assert_refused(&scene, cancelled.run, cancelled.epoch).await;

    let failed = scene.lease().await;
    scene.fail_thrice(failed.clone()).await;
    assert_refused(&scene, failed.run, LeaseEpoch::new(3)).await;
}

pub async fn reaping_takes_back_expired_leases_only<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let first = scene.leased("a", "1").await;
    scene.advance(seconds(10));
    let second = scene.leased("b", "1").await;
    scene.advance(seconds(20).checked_sub(MICROSECOND).expect("it is shorter"));
    assert_eq!(scene.reap().await, []);
    scene.advance(MICROSECOND);
    let expected = Requeued {
        run: first.run,
        task: task("a"),
        kind: RunKind::Apply,
        status: RunStatus::Queued,
    };
    let reaped = scene.reap().await;
    assert_eq!(reaped, [expected]);
    assert_eq!(scene.reap().await, []);
    assert_eq!(scene.run(second.run).await.status, RunStatus::Running);
}

pub async fn reaping_cancels_a_run_when_a_newer_one_waits<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let newer = scene.queue("a", "2").await;
    scene.advance(LEASE);
    let expected = Requeued {
        run: lease.run,
        task: task("a"),
        kind: RunKind::Apply,
        status: RunStatus::Cancelled,
    };
    assert_eq!(scene.reap().await, [expected]);
    let record = scene.run(lease.run).await;
    assert_eq!(record.status, RunStatus::Cancelled);
    assert_eq!(record.finished_at, Some(record.created_at + LEASE));
    assert_eq!(scene.state("a").await.events, []);
    assert_eq!(scene.lease().await.run, newer);
    assert_refused(&scene, lease.run, lease.epoch).await;
}

pub async fn releasing_takes_back_every_lease<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let requeued = scene.leased("a", "1").await;
    let cancelled = scene.leased("b", "1").await;
    let waiting = scene.queue("b", "2").await;
    scene.advance(seconds(1));
    let queued = scene.queue("c", "1").await;
    let mut released = scene.release_all().await;
    released.sort_by(|one, other| one.task.cmp(&other.task));
    let expected = [
        (&requeued, RunStatus::Queued),
        (&cancelled, RunStatus::Cancelled),
    ];
    let expected = expected.map(|(lease, status)| Requeued {
        run: lease.run,
        task: lease.task.clone(),
        kind: RunKind::Apply,
        status,
    });
    assert_eq!(released, expected);
    assert_refused(&scene, requeued.run, requeued.epoch).await;
    let mut runs = [
        scene.lease().await.run,
        scene.lease().await.run,
        scene.lease().await.run,
    ];
    runs.sort();
    assert_eq!(runs, [requeued.run, waiting, queued]);
}

pub async fn the_next_due_time_follows_what_can_be_leased<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    assert_eq!(scene.next_due().await, None);
    let lease = scene.leased("a", "1").await;
    assert_eq!(scene.next_due().await, None);
    scene.queue("a", "2").await;
    assert_eq!(scene.next_due().await, None, "its task is running");
    let other = scene.leased("b", "1").await;
    scene.failed(&other, "no").await;
    assert_eq!(scene.next_due().await, Some(seconds(1)));
    scene.advance(seconds(5));
    assert_eq!(scene.next_due().await, Some(Duration::ZERO));
    scene.lease().await;
    assert_eq!(scene.next_due().await, None);
    scene.applied(&lease).await;
    assert_eq!(scene.next_due().await, Some(Duration::ZERO));
}
