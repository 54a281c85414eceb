//! Behaviours of the records of attempts.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cts_core::runs::{AttemptEnding, AttemptOutcome, CurrentPhase, RunCause, RunPhase};
use cts_proto::time::duration_to_wire;

use crate::Fixture;
use crate::details::details;
use crate::scene::{LEASE, Scene, all_runs, seconds, worker};
use cts_store::{ATTEMPTS_RECORDED, AttemptRecord, EnqueueRequest, Lease, lost_lease_error};

fn endings(attempts: &[AttemptRecord]) -> Vec<(u32, AttemptEnding)> {
    let endings = attempts.iter();
    endings.map(|it| (it.number, it.ending)).collect()
}

/// Renews the lease with a phase that has lasted for three seconds.
async fn in_apply<F: Fixture>(scene: &Scene<F>, lease: &Lease) {
    let phase = CurrentPhase {
        phase: RunPhase::Apply,
        lasted: seconds(3),
    };
    let store = scene.store();
    let renewed = store.renew(lease.run, &lease.holder, lease.epoch, LEASE, Some(phase));
    renewed.await.expect("the lease is held");
}

fn span(from: &AttemptRecord, to: Option<DateTime<Utc>>) -> Option<TimeDelta> {
    Some(to? - from.leased_at?)
}

pub async fn a_run_has_a_record_of_each_attempt_with_its_times<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue("a", "1").await;
    assert_eq!(scene.attempts(run).await, []);
    let lease = scene.lease().await;
    scene.advance(seconds(5));
    in_apply(&scene, &lease).await;
    let record = scene.run(run).await;
    let (phase, since) = record.phase.expect("the worker has reported its phase");
    let begun = record.started_at.expect("it is running");
    assert_eq!(
        (phase, since - begun),
        (RunPhase::Apply, TimeDelta::seconds(2))
    );

    scene.advance(LEASE);
    scene.reap().await;
    assert_eq!(scene.run(run).await.phase, None);
    let second = scene.lease().await;
    assert_eq!(scene.run(run).await.phase, None, "a new lease begins anew");
    scene.advance(seconds(7));
    let mut failed = scene.completion(&second, AttemptOutcome::Failed("no\nmore".into()));
    failed.details = Some(details("x"));
    let wait = scene.complete(failed).await.next_due;
    scene.advance(wait.expect("there is another attempt"));
    let third = scene.lease().await;

    let running = scene.attempts(run).await;
    let expected = [
        (1, AttemptEnding::LeaseLost),
        (2, AttemptEnding::Failed),
        (3, AttemptEnding::Running),
    ];
    assert_eq!(endings(&running), expected);
    let three: &[AttemptRecord; 3] = running.as_slice().try_into().expect("three attempts");
    let [lost, failed, last] = three;
    let lease_time = TimeDelta::from_std(LEASE).expect("short");
    assert_eq!(lost.worker, worker());
    assert_eq!(lost.phase, Some(RunPhase::Apply));
    assert_eq!(
        span(lost, Some(lost.renewed_at)),
        Some(TimeDelta::seconds(5))
    );
    assert_eq!(
        span(lost, lost.ended_at),
        Some(lease_time + TimeDelta::seconds(5))
    );
    assert_eq!(lost.retry_after, Some(Duration::ZERO));
    assert_eq!((failed.error.as_str(), failed.phase), ("no\nmore", None));
    assert_eq!(span(failed, failed.ended_at), Some(TimeDelta::seconds(7)));
    let hour = duration_to_wire(Duration::from_hours(1));
    assert_eq!(failed.phases.apply, Some(hour));
    assert_eq!(failed.retry_after, wait);
    assert_eq!((last.ended_at, last.phases.apply), (None, None));

    scene.applied(&third).await;
    let ended = scene.attempts(run).await;
    assert_eq!(ended[..2], running[..2]);
    assert_eq!(endings(&ended[2..]), [(3, AttemptEnding::Succeeded)]);
    assert_eq!(span(&ended[2], ended[2].ended_at), Some(TimeDelta::zero()));
}

pub async fn attempts_that_do_not_count_are_recorded<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.interrupted(&lease).await;
    scene.lease().await;
    scene.advance(seconds(4));
    scene.release_all().await;
    scene.lead().await;
    let attempts = scene.attempts(lease.run).await;
    let expected = [(1, AttemptEnding::Released), (1, AttemptEnding::CutOff)];
    assert_eq!(endings(&attempts), expected);
    assert_eq!(
        span(&attempts[1], attempts[1].ended_at),
        Some(TimeDelta::seconds(4))
    );
    assert_eq!(attempts[1].worker, worker());
}

pub async fn the_end_of_a_run_is_the_last_record<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let mut lease = scene.leased("a", "1").await;
    for _ in 0..2 {
        scene.advance(LEASE);
        scene.reap().await;
        scene.advance(scene.next_due().await.expect("there is another attempt"));
        lease = scene.lease().await;
    }
    scene.advance(LEASE);
    scene.reap().await;
    let lost = scene.attempts(lease.run).await;
    assert_eq!(lost.len(), 3);
    assert_eq!(lost[2].ending, AttemptEnding::LeaseLost);
    assert_eq!(lost[2].retry_after, None);
    let error = scene.run(lease.run).await.errors.pop();
    assert_eq!(error, Some(lost_lease_error(worker().as_str())));

    let lease = scene.leased("b", "1").await;
    scene.cancel(lease.run, false).await;
    scene.interrupted(&lease).await;
    let cancelled = scene.attempts(lease.run).await;
    assert_eq!(endings(&cancelled), [(1, AttemptEnding::Cancelled)]);
}

/// A worker that stops gives its run back, and such an attempt does not count: there may be any number of them.
pub async fn the_newest_attempts_of_a_run_stay<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut lease = scene.leased("a", "1").await;
    for _ in 0..ATTEMPTS_RECORDED + 5 {
        scene.interrupted(&lease).await;
        lease = scene.lease().await;
    }
    let attempts = scene.attempts(lease.run).await;
    assert_eq!(attempts.len(), ATTEMPTS_RECORDED);
    let newest = attempts.last().expect("there are some");
    assert_eq!(
        (newest.epoch, newest.ending),
        (lease.epoch, AttemptEnding::Running)
    );
}

pub async fn a_run_keeps_its_cause_with_those_that_are_merged<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let caused = |text: &str, cause: RunCause| EnqueueRequest {
        cause: Some(cause),
        ..scene.request("a", text)
    };
    let moment = |second| DateTime::from_timestamp(second, 0);
    let first = RunCause {
        triggered_at: moment(1),
        tick: true,
        ..RunCause::default()
    };
    let second = RunCause {
        triggered_at: moment(2),
        changes: vec!["web: +web-3".to_owned()],
        ..RunCause::default()
    };
    let run = scene.queue_new(caused("1", first)).await;
    assert!(scene.run(run).await.cause.is_some_and(|cause| cause.tick));
    scene.request_all(vec![caused("2", second)]).await;
    let cause = scene.run(run).await.cause;
    let expected = RunCause {
        triggered_at: moment(1),
        tick: true,
        changes: vec!["web: +web-3".to_owned()],
        ..RunCause::default()
    };
    assert_eq!(cause, Some(expected.clone()));
    let listed = scene.listed(&all_runs()).await;
    assert_eq!(listed[0].cause, Some(expected.clone()));

    while scene.state("a").await.events.is_empty() {
        let lease = scene.lease().await;
        let wait = scene.failed(&lease, "no").await.next_due;
        scene.advance(wait.expect("it is tried again"));
    }
    let events = scene.state("a").await.events;
    assert_eq!(events[0].cause, Some(expected));
    let retry = scene.lease().await;
    scene.applied(&retry).await;
    let events = scene.state("a").await.events;
    assert_eq!(events[0].cause, Some(RunCause::of_retry()));
}
