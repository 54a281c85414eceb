//! Runs that apply nothing and plan nothing.

use cts_core::runs::{AttemptOutcome, EnqueueDecision, RunKind, RunKinds, RunStatus};

use super::Fixture;
use super::scene::{LEASE, Scene, claim, plan};
use cts_store::{Claim, EnqueueRequest, PLANS_KEPT, Retention};

fn check<F: Fixture>(scene: &Scene<F>, name: &str, text: &str) -> EnqueueRequest {
    EnqueueRequest {
        kind: RunKind::Check,
        ..scene.plan_request(name, text)
    }
}

pub async fn a_check_changes_nothing_for_its_task<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let run = scene.queue_new(check(&scene, "a", "2")).await;
    let queued = scene.queue("a", "3").await;
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.kind), (run, RunKind::Check));
    assert_eq!(scene.acquire().await, None, "one run at a time");
    let completed = scene.checked(&lease).await;
    assert_eq!(completed.status, RunStatus::Succeeded);
    assert_eq!((completed.event, completed.tasks_changed), (None, false));
    let record = scene.run(run).await;
    assert_eq!((record.kind, record.plan), (RunKind::Check, None));
    let skip = EnqueueDecision::Skip {
        cancel_queued: true,
    };
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(skip));
    assert_eq!(scene.run(queued).await.status, RunStatus::Cancelled);
    assert_eq!(scene.state("a").await.events.len(), 1);
}

pub async fn a_failed_check_has_failed_for_good<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_new(check(&scene, "a", "1")).await;
    let lease = scene.lease().await;
    let failed = scene.failed(&lease, "not valid").await;
    assert_eq!((failed.status, failed.event), (RunStatus::Failed, None));
    let error = scene.run(run).await.error();
    assert_eq!(error.as_deref(), Some("not valid"));
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_check_that_is_cut_off_is_made_again<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_new(check(&scene, "a", "1")).await;
    scene.queue("a", "2").await;
    let lease = scene.lease().await;
    let interrupted = scene.interrupted(&lease).await;
    assert_eq!(interrupted.status, RunStatus::Queued);
    let lease = scene.lease().await;
    assert_eq!(lease.run, run);
    scene.advance(LEASE);
    let reaped = scene.reap().await;
    assert_eq!(reaped.len(), 1);
    assert_eq!(
        (reaped[0].kind, reaped[0].status),
        (RunKind::Check, RunStatus::Queued)
    );
}

pub async fn a_worker_that_did_something_else_than_a_check_has_failed<F: Fixture>() {
    for outcome in [AttemptOutcome::Applied, AttemptOutcome::Planned(plan("x"))] {
        let scene = Scene::<F>::new(&["a"]).await;
        let run = scene.queue_new(check(&scene, "a", "1")).await;
        let lease = scene.lease().await;
        let completion = scene.completion(&lease, outcome);
        let completed = scene.complete(completion).await;
        assert_eq!(
            (completed.status, completed.event),
            (RunStatus::Failed, None)
        );
        let record = scene.run(run).await;
        assert_eq!(record.plan, None);
        assert!(
            record
                .error()
                .is_some_and(|error| error.contains("checked"))
        );
    }
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let completed = scene.checked(&lease).await;
    assert_eq!(
        completed.status,
        RunStatus::Queued,
        "an apply is tried again"
    );
    assert_eq!(scene.run(lease.run).await.errors.len(), 1);
}

pub async fn checks_go_to_workers_that_know_them<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_new(check(&scene, "a", "1")).await;
    let of = |kinds| Claim { kinds, ..claim() };
    for kinds in [RunKinds::APPLIES, RunKinds::PLANS] {
        assert_eq!(scene.acquire_as(&of(kinds)).await, None);
    }
    let checks = RunKinds {
        applies: false,
        plans: false,
        checks: true,
        destroys: false,
        destroy_plans: false,
    };
    let lease = scene.acquire_as(&of(checks)).await;
    assert_eq!(lease.map(|lease| lease.run), Some(run));
}

pub async fn checks_push_out_no_result<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let applied = scene.apply("a", "1").await;
    let mut checks = Vec::new();
    for _ in 0..=PLANS_KEPT {
        checks.push(scene.queue_new(check(&scene, "a", "1")).await);
        let lease = scene.lease().await;
        scene.checked(&lease).await;
    }
    let pruned = scene.store().prune(Retention::of_any_age(1000)).await;
    assert_eq!(pruned.expect("old runs can be forgotten"), 1);
    assert_eq!(scene.find_run(checks[0]).await, None);
    assert!(scene.find_run(checks[1]).await.is_some());
    assert!(scene.find_run(applied).await.is_some());
}
