//! Leases: granted, renewed, taken back.

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, RunKind, RunStatus};
use cts_core::state::{StateRecord, StateReport, TerraformState};
use cts_core::{Delivery, LeaseEpoch, RunId, TaskTimeouts, WorkerId};

use crate::Fixture;
use crate::remote_runs::remote_run;
use crate::scene::{LEASE, MICROSECOND, Scene, claim, input, line, seconds, spec, task};
use crate::terraform_states::conflict;
use cts_store::{Claim, Lease, LeaseError};

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
        ignored: Vec::new(),
        state: StateRecord::default(),
        delivery: None,
        trace: None,
        ends_remote_run: false,
        asks_permission: false,
    }
}

async fn assert_refused<F: Fixture>(scene: &Scene<F>, run: RunId, epoch: LeaseEpoch) {
    assert_all_refused(scene, &named(run, epoch)).await;
}

/// Every call of a worker that names this lease is refused, and changes nothing.
async fn assert_all_refused<F: Fixture>(scene: &Scene<F>, lease: &Lease) {
    let Lease { run, epoch, .. } = *lease;
    let store = scene.store();
    let seen = async || {
        let state = store.terraform_state(&lease.task).await;
        (
            scene.find_run(run).await,
            state.expect("states can be read"),
        )
    };
    let before = seen().await;
    let log = store.read_log(run, 0, 10).await.expect("logs can be read");
    let lost = |refused: Result<(), LeaseError>| {
        let told = match &refused {
            Err(LeaseError::Lost { run, epoch }) => Some((*run, *epoch)),
            _ => None,
        };
        assert_eq!(told, Some((run, epoch)), "{refused:?}");
    };
    let holder = &lease.holder;
    lost(store.renew(run, holder, epoch, LEASE, None).await.map(drop));
    lost(store.cancel_order(run, holder, epoch).await.map(drop));
    let late = vec![line("late")];
    lost(store.append_log(run, holder, epoch, late).await);
    lost(store.append_log(run, holder, epoch, Vec::new()).await);
    lost(store.suspend(run, holder, epoch, 1, "late").await);
    lost(store.wait_end(run, holder, epoch).await.map(drop));
    lost(store.resume(run, holder, epoch, 1).await.map(drop));
    lost(store.held_input(run, holder, epoch).await.map(drop));
    for report in [
        StateReport::Moved(TerraformState::new("a", 1).expect("a lineage")),
        StateReport::Accepted(None),
        StateReport::Refused(conflict()),
    ] {
        lost(
            store
                .record_state(run, holder, epoch, &report)
                .await
                .map(drop),
        );
    }
    lost(
        store
            .record_remote_run(run, holder, epoch, &remote_run(7))
            .await,
    );
    lost(store.remote_runs(run, holder, epoch).await.map(drop));
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
    assert_eq!(seen().await, before);
    let after = store.read_log(run, 0, 10).await.expect("logs can be read");
    assert_eq!(after, log);
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

pub async fn a_renewal_never_shortens_the_lease<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.renew(&lease, seconds(60)).await;
    scene.renew(&lease, seconds(5)).await;
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
        let renewed = store.renew(lease.run, &lease.holder, lease.epoch, LEASE, None);
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
    // Nor when it has ended.
    assert_all_refused(&scene, &next).await;
}

pub async fn the_input_of_a_lease_is_read_by_its_holder<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let read = async |holder: &str, epoch| {
        let holder = WorkerId::new(holder);
        scene.store().held_input(lease.run, &holder, epoch).await
    };
    let is_lost = |answer| matches!(answer, Err(LeaseError::Lost { .. }));
    let holder = lease.holder.as_str();
    let input = read(holder, lease.epoch).await;
    assert_eq!(input.expect("the lease is held"), lease.input);
    assert!(is_lost(read("another", lease.epoch).await));
    let next = LeaseEpoch::new(lease.epoch.get() + 1);
    assert!(is_lost(read(holder, next).await));
    // Refused from the moment of its end, and read again after a renewal.
    scene.advance(LEASE.checked_sub(MICROSECOND).expect("it is longer"));
    assert!(read(holder, lease.epoch).await.is_ok());
    scene.advance(MICROSECOND);
    assert!(is_lost(read(holder, lease.epoch).await));
    let held = scene.store();
    let renewed = held.renew(lease.run, &lease.holder, lease.epoch, LEASE, None);
    renewed.await.expect("it was not taken back");
    assert!(read(holder, lease.epoch).await.is_ok());
    scene.applied(&lease).await;
    assert!(is_lost(read(holder, lease.epoch).await));
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
