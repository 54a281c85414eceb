//! Behaviours of attempts that fail before Terraform, and of the choice of the next worker.

use std::time::Duration;

use cts_core::runs::{AttemptEnding, AttemptOutcome, ELSEWHERE_FOR, EarlyFailure, RunStatus};
use cts_core::{RunId, WorkerId, WorkerProblem};

use crate::Fixture;
use crate::scene::{LEASE, MICROSECOND, Scene, claim, seconds, worker_record};
use cts_store::{Claim, Completed, Lease, WorkerRecord};

/// The run that this worker gets now.
async fn leased_by<F: Fixture>(scene: &Scene<F>, worker: &str) -> Option<Lease> {
    let claim = Claim {
        worker: WorkerId::new(worker),
        ..claim()
    };
    scene.acquire_as(&claim).await
}

async fn leases<F: Fixture>(scene: &Scene<F>, worker: &str) -> Lease {
    leased_by(scene, worker).await.expect("a run is due")
}

async fn fails<F: Fixture>(
    scene: &Scene<F>,
    lease: &Lease,
    early_failure: EarlyFailure,
) -> Completed {
    let failed = AttemptOutcome::Failed("no space left".to_owned());
    let mut completion = scene.completion(lease, failed);
    completion.early_failure = Some(early_failure);
    scene.complete(completion).await
}

/// The attempts that count, and the ends of all.
async fn counted<F: Fixture>(scene: &Scene<F>, run: RunId) -> (u32, Vec<AttemptEnding>) {
    let record = scene.run(run).await;
    let attempts = scene.attempts(run).await;
    let endings = attempts.iter().map(|attempt| attempt.ending);
    (record.attempts, endings.collect())
}

pub async fn an_attempt_of_a_sick_worker_does_not_count_and_another_worker_gets_the_run<
    F: Fixture,
>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.heartbeat(&worker_record("sick")).await;
    scene.heartbeat(&worker_record("well")).await;
    let run = scene.queue("a", "1").await;
    let lease = leases(&scene, "sick").await;
    let given_back = fails(&scene, &lease, EarlyFailure::Machine).await;
    assert_eq!(
        (given_back.given_back, given_back.status, given_back.event),
        (true, RunStatus::Queued, None)
    );
    assert_eq!(given_back.next_due, Some(Duration::ZERO));
    let ends = vec![AttemptEnding::Released];
    assert_eq!(counted(&scene, run).await, (0, ends));
    let attempts = scene.attempts(run).await;
    assert_eq!(attempts[0].error, "no space left");
    assert_eq!(attempts[0].early_failure, Some(EarlyFailure::Machine));

    assert_eq!(leased_by(&scene, "sick").await, None);
    let lease = leases(&scene, "well").await;
    assert_eq!((lease.run, lease.attempt), (run, 1));
    let applied = scene.applied(&lease).await;
    assert_eq!(applied.status, RunStatus::Succeeded);
}

pub async fn a_second_attempt_of_a_sick_worker_counts<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue("a", "1").await;
    // There is no other worker, so this one gets it again at once.
    for (attempts, given_back) in [(0, true), (1, false), (2, false), (3, false)] {
        let lease = leases(&scene, "sick").await;
        let ended = fails(&scene, &lease, EarlyFailure::Machine).await;
        assert_eq!(ended.given_back, given_back);
        assert_eq!(counted(&scene, run).await.0, attempts);
        scene.advance(seconds(10));
    }
    assert_eq!(scene.run(run).await.status, RunStatus::Failed);
}

pub async fn the_last_worker_waits_two_seconds_for_another_one_that_fits<F: Fixture>() {
    let unfit = [
        WorkerRecord {
            draining: true,
            ..worker_record("other")
        },
        WorkerRecord {
            slots: 0,
            ..worker_record("other")
        },
        WorkerRecord {
            capabilities: crate::scene::capabilities(&[("tofu", "1")], true),
            ..worker_record("other")
        },
        WorkerRecord {
            problem: Some(WorkerProblem {
                reason: "full".to_owned(),
                takes_runs: false,
            }),
            ..worker_record("other")
        },
    ];
    for other in unfit {
        let scene = Scene::<F>::new(&["a"]).await;
        scene.heartbeat(&other.clone()).await;
        scene.queue("a", "1").await;
        let lease = leases(&scene, "last").await;
        fails(&scene, &lease, EarlyFailure::Machine).await;
        let again = leased_by(&scene, "last").await;
        assert!(again.is_some(), "{other:?}");
    }

    let scene = Scene::<F>::new(&["a"]).await;
    scene.heartbeat(&worker_record("other")).await;
    scene.queue("a", "1").await;
    let lease = leases(&scene, "last").await;
    fails(&scene, &lease, EarlyFailure::Machine).await;
    scene.advance(ELSEWHERE_FOR);
    assert_eq!(leased_by(&scene, "last").await, None);
    scene.advance(MICROSECOND);
    leases(&scene, "last").await;
}

pub async fn an_ordinary_failure_prefers_no_other_worker<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.heartbeat(&worker_record("other")).await;
    scene.queue("a", "1").await;
    let lease = leases(&scene, "last").await;
    let failed = fails(&scene, &lease, EarlyFailure::Run).await;
    scene.advance(failed.next_due.expect("it is tried again"));
    leases(&scene, "last").await;
}

pub async fn a_run_whose_lease_is_lost_goes_to_another_worker_first<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.queue("a", "1").await;
    let lost = leases(&scene, "lost").await;
    scene.advance(LEASE);
    scene.heartbeat(&worker_record("other")).await;
    scene.reap().await;
    assert_eq!(leased_by(&scene, "lost").await, None);
    let lease = leases(&scene, "other").await;
    assert_eq!(lease.run, lost.run);
}
