//! How long changes took until they were applied.

use std::time::Duration;

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use cts_core::runs::RunCause;
use cts_core::{Incarnation, Permit, RunId, TimeHistograms, TimesAt};
use cts_store::EnqueueRequest;
use uuid::Uuid;

use crate::Fixture;
use crate::asking::{USED, approve, asks, ruled};
use crate::scene::{Scene, seconds, spec};

const HOUR: Duration = Duration::from_hours(1);

/// The task whose runs show the present time.
const CLOCK: &str = "clock";

/// Applies an input of [`CLOCK`], for which the arrival of a change is not known.
async fn uncounted<F: Fixture>(scene: &Scene<F>, text: &str) -> (RunId, DateTime<Utc>) {
    let run = scene.apply(CLOCK, text).await;
    (run, scene.run(run).await.created_at)
}

/// Queues an input because of a change that arrived at this time.
async fn changed<F: Fixture>(scene: &Scene<F>, name: &str, arrived: DateTime<Utc>) -> RunId {
    let cause = RunCause {
        triggered_at: Some(arrived),
        ..RunCause::default()
    };
    let request = scene.request(name, "changed");
    scene
        .queue_new(EnqueueRequest {
            cause: Some(cause),
            ..request
        })
        .await
}

async fn count<F: Fixture>(scene: &Scene<F>, scheduler: u128, runs: &[RunId]) {
    let scheduler = Incarnation::from_uuid(Uuid::from_u128(scheduler));
    let counted = scene.store().count_applied(scheduler, runs).await;
    counted.expect("runs can be counted");
}

async fn times<F: Fixture>(scene: &Scene<F>, from: DateTime<Utc>) -> Vec<TimesAt> {
    let times = scene.store().times(from).await;
    times.expect("times can be read")
}

async fn end<F: Fixture>(scene: &Scene<F>, run: RunId) -> DateTime<Utc> {
    let ended = scene.run(run).await.finished_at;
    ended.expect("the run has ended")
}

fn minute(at: DateTime<Utc>) -> DateTime<Utc> {
    at.duration_trunc(TimeDelta::minutes(1)).expect("in range")
}

/// The times of changes that had these phases, in seconds.
fn expected(phases: &[(&str, u64)]) -> TimeHistograms {
    let mut times = TimeHistograms::default();
    for (phase, took) in phases {
        times.record(phase, seconds(*took));
    }
    times
}

/// The times of changes that were applied as soon as they arrived.
fn at_once(changes: usize) -> TimeHistograms {
    let phases = ["applied", "buffered", "queued", "terraform"];
    let all: Vec<_> = (0..changes).flat_map(|_| phases).collect();
    expected(&all.iter().map(|phase| (*phase, 0)).collect::<Vec<_>>())
}

pub async fn an_applied_change_is_counted_by_its_phases<F: Fixture>() {
    let scene = Scene::<F>::new(&[CLOCK, "a"]).await;
    let (uncounted, now) = uncounted(&scene, "1").await;
    let run = changed(&scene, "a", now - seconds(5)).await;
    scene.advance(seconds(2));
    let lease = scene.lease().await;
    count(&scene, 1, &[run]).await;
    assert_eq!(times(&scene, now - HOUR).await, [], "the run goes on");
    scene.advance(seconds(10));
    scene.applied(&lease).await;
    count(&scene, 1, &[run, uncounted, scene.run_id()]).await;
    let phases = [
        ("applied", 17),
        ("buffered", 5),
        ("queued", 2),
        ("terraform", 10),
    ];
    let minute = minute(end(&scene, run).await);
    let row = (minute, expected(&phases));
    assert_eq!(times(&scene, minute).await, [row]);
    assert_eq!(times(&scene, minute + seconds(1)).await, []);
}

pub async fn a_change_that_is_applied_by_a_retry_is_counted_once<F: Fixture>() {
    let scene = Scene::<F>::new(&[CLOCK, "a"]).await;
    let (_, now) = uncounted(&scene, "1").await;
    let run = changed(&scene, "a", now).await;
    let lease = scene.lease().await;
    scene.advance(seconds(4));
    let pause = scene.failed(&lease, "no").await.next_due;
    scene.advance(pause.expect("there is another attempt"));
    let lease = scene.lease().await;
    scene.advance(seconds(6));
    scene.applied(&lease).await;
    count(&scene, 1, &[run]).await;
    let mut whole = expected(&[("buffered", 0), ("queued", 0), ("terraform", 10)]);
    let took = end(&scene, run).await - now;
    whole.record("applied", took.to_std().expect("time goes on"));
    let rows = times(&scene, now - HOUR).await;
    assert_eq!(rows, [(minute(end(&scene, run).await), whole)]);
}

pub async fn the_wait_for_consent_is_a_phase_of_its_own<F: Fixture>() {
    let scene = Scene::<F>::configured(&[spec(CLOCK), ruled("a")]).await;
    let (_, now) = uncounted(&scene, "1").await;
    let run = changed(&scene, "a", now).await;
    let lease = scene.lease().await;
    scene.advance(seconds(10));
    assert_eq!(asks(&scene, &lease, "e").await.permit, Permit::Waits);
    scene.interrupted(&lease).await;
    scene.advance(seconds(1000));
    approve(&scene, &[("a", "e")]).await;
    scene.advance(seconds(3));
    let lease = scene.lease().await;
    scene.advance(seconds(20));
    assert_eq!(asks(&scene, &lease, "e").await.permit, USED);
    scene.applied(&lease).await;
    count(&scene, 1, &[run]).await;
    let phases = [
        ("applied", 33),
        ("buffered", 0),
        ("queued", 3),
        ("terraform", 30),
        ("waiting", 1000),
    ];
    let rows = times(&scene, now - HOUR).await;
    assert_eq!(rows, [(minute(end(&scene, run).await), expected(&phases))]);
}

pub async fn each_scheduler_adds_to_rows_of_its_own<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[CLOCK, "a", "b", "c"]).await;
    let (_, now) = uncounted(&scene, "1").await;
    for (name, scheduler) in [("a", 1), ("b", 1), ("c", 2)] {
        let run = changed(&scene, name, now).await;
        let lease = scene.lease().await;
        scene.applied(&lease).await;
        count(&scene, scheduler, &[run]).await;
        scene.restart().await;
    }
    let mut rows = times(&scene, now - HOUR).await;
    rows.sort_by_key(|(_, times)| times.0["applied"].count());
    let minute = minute(now);
    assert_eq!(rows, [(minute, at_once(1)), (minute, at_once(2))]);
}

pub async fn minutes_become_hours_and_hours_are_forgotten<F: Fixture>() {
    let scene = Scene::<F>::new(&[CLOCK, "a", "b"]).await;
    let (_, now) = uncounted(&scene, "1").await;
    let mut runs = Vec::new();
    for name in ["a", "b"] {
        let run = changed(&scene, name, now).await;
        let lease = scene.lease().await;
        scene.applied(&lease).await;
        runs.push(run);
    }
    count(&scene, 1, &runs[..1]).await;
    count(&scene, 2, &runs[1..]).await;
    scene.prune(1).await;
    assert_eq!(times(&scene, now - HOUR).await.len(), 2, "they are young");
    scene.advance(25 * HOUR);
    for counted in 2..4 {
        scene.prune(1).await;
        let hour = now.duration_trunc(TimeDelta::hours(1)).expect("in range");
        let row = (hour, at_once(counted));
        assert_eq!(times(&scene, hour).await, [row]);
        // A scheduler that could not write for long.
        count(&scene, 3, &runs[..1]).await;
    }
    scene.advance(7 * 24 * HOUR);
    scene.prune(1).await;
    assert_eq!(times(&scene, now - HOUR).await, []);
}
