//! Behaviours of runs that end once their remote run has ended.

use cts_core::runs::{AttemptOutcome, CancelOrder, EnqueueDecision, RunKind, RunKinds, RunStatus};
use cts_core::{RemoteRun, RunId, TaskPhase};

use crate::Fixture;
use crate::remote_runs::remote_run;
use crate::scene::{
    LEASE, Scene, capabilities, claim, destroyed, disabled, other, seconds, spec, task,
};
use cts_store::{Claim, Completed, Deletion, Lease, RunRecord};

const URL: &str = "https://tfe.example.com/run-1";

/// A worker with the remote driver that ends remote runs.
fn remote_claim() -> Claim {
    Claim {
        capabilities: capabilities(&[("terraform", "1.9.8"), ("terraform-cloud", "1")], false),
        ends_remote_runs: true,
        asks_permission: true,
        ..claim()
    }
}

/// A remote run that may still change something.
fn open() -> RemoteRun {
    RemoteRun {
        abandoned: false,
        waiting_for: None,
        ..remote_run(1)
    }
}

impl<F: Fixture> Scene<F> {
    /// A queued run whose remote run goes on.
    async fn queued_with_remote(&self, name: &str) -> RunId {
        let lease = self.leased(name, "1").await;
        self.record_remote(&lease, &open()).await;
        assert_eq!(self.interrupted(&lease).await.status, RunStatus::Queued);
        lease.run
    }

    /// Leases a plan, although an apply has been due longer.
    async fn acquire_only(&self, plan: RunId) -> Lease {
        let plans = Claim {
            kinds: RunKinds {
                applies: false,
                ..RunKinds::ALL
            },
            ..claim()
        };
        let lease = self.acquire_as(&plans).await.expect("the plan is due");
        assert_eq!(lease.run, plan);
        lease
    }

    /// The run waits for a worker that ends its remote run; asserts that other workers do not get it.
    async fn assert_awaits_ending(&self, run: RunId) -> RunRecord {
        let record = self.run(run).await;
        assert_eq!((record.status, &record.worker), (RunStatus::Running, &None));
        assert!(record.awaits_ending());
        let waits = record.waiting_for.clone().expect("it says why");
        assert!(waits.contains(&format!("the remote run {URL} is being ended")));
        assert_eq!(self.next_due().await, Some(seconds(0)));
        assert_eq!(self.queue_depth().await.running, 0);
        let earlier = Claim {
            ends_remote_runs: false,
            asks_permission: true,
            ..remote_claim()
        };
        let local = Claim {
            ends_remote_runs: true,
            asks_permission: true,
            ..claim()
        };
        for claim in [claim(), earlier, local] {
            assert_eq!(self.acquire_as(&claim).await, None);
        }
        assert!(self.reap().await.is_empty(), "no lease has expired");
        record
    }

    /// Leases the ending of a run.
    async fn lease_ending(&self, run: RunId) -> Lease {
        let attempts = self.run(run).await.attempts;
        let lease = self.acquire_as(&remote_claim()).await;
        let lease = lease.expect("the remote run is to be ended");
        assert!(lease.ends_remote_run);
        assert_eq!((lease.run, lease.attempt), (run, attempts.max(1)));
        lease
    }

    /// A worker ends the remote run, and then the run.
    async fn end_remote(&self, run: RunId) -> Completed {
        let lease = self.lease_ending(run).await;
        let ended = RemoteRun {
            ended: true,
            given_up: true,
            ..open()
        };
        self.record_remote(&lease, &ended).await;
        self.interrupted(&lease).await
    }
}

pub async fn a_cancelled_run_ends_once_its_remote_run_has_ended<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    let cancelled = scene.cancel(run, false).await;
    assert_eq!(cancelled.status, RunStatus::Running);
    assert_eq!((cancelled.worker, cancelled.event), (None, None));
    scene.assert_awaits_ending(run).await;
    let store = scene.store();
    let state = store.cancel_state(run).await;
    assert_eq!(state.expect("runs can be read"), None, "no worker");
    let waiting = store.waiting_runs(seconds(0)).await;
    let waiting = waiting.expect("waiting runs can be read");
    assert_eq!(waiting[0].requirement.driver, "terraform-cloud");
    assert_eq!(waiting[0].task, task("a"));

    // Its worker drains before the remote run has ended.
    let lease = scene.lease_ending(run).await;
    assert_eq!(scene.acquire_as(&remote_claim()).await, None, "one worker");
    let order = store.cancel_order(lease.run, &lease.holder, lease.epoch);
    assert_eq!(
        order.await.expect("a live lease"),
        Some(CancelOrder::Interrupt)
    );
    assert_eq!(scene.interrupted(&lease).await.status, RunStatus::Running);
    scene.assert_awaits_ending(run).await;

    let ended = scene.end_remote(run).await;
    assert_eq!(ended.status, RunStatus::Failed);
    let error = ended.event.expect("it has an event").error;
    let error = error.expect("it says why");
    assert!(error.contains("cancelled: the run was stopped on request"));
    assert!(!error.contains("may be applied"), "{error}");
    let again = scene.enqueue("a", "1").await;
    assert_eq!(again.decision, Some(EnqueueDecision::Withhold));
}

pub async fn a_run_whose_remote_run_has_ended_is_withdrawn_at_once<F: Fixture>() {
    // cts does not end an abandoned remote run.
    for (ended, abandoned) in [(true, false), (false, true)] {
        let scene = Scene::<F>::new(&["a"]).await;
        let lease = scene.leased("a", "1").await;
        let remote = RemoteRun {
            ended,
            abandoned,
            ..open()
        };
        scene.record_remote(&lease, &remote).await;
        scene.interrupted(&lease).await;
        let cancelled = scene.cancel(lease.run, false).await;
        assert_eq!(cancelled.status, RunStatus::Cancelled);
        let error = cancelled.event.and_then(|event| event.error);
        assert!(error.is_some_and(|error| error.ends_with("before it began")));
    }
}

pub async fn a_newer_input_runs_after_the_remote_run_has_ended<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    scene.cancel(run, false).await;
    let newer = scene.queue("a", "2").await;
    assert_eq!(scene.acquire().await, None, "one run of a task at a time");
    let lease = scene.lease_ending(run).await;
    // The newer run ends the remote run if this worker does not.
    assert_eq!(scene.interrupted(&lease).await.status, RunStatus::Failed);
    let lease = scene.lease().await;
    assert_eq!(lease.run, newer);
    assert!(!lease.ends_remote_run);
    scene.applied(&lease).await;
    assert_eq!(scene.enqueue("a", "2").await.queued, None);
}

pub async fn a_lost_worker_is_followed_by_another_that_ends_the_remote_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    scene.cancel(run, false).await;
    for _ in 0..5 {
        let lost = scene.lease_ending(run).await;
        scene.advance(LEASE);
        let reaped = scene.reap().await;
        assert_eq!(reaped.len(), 1);
        assert_eq!(reaped[0].status, RunStatus::Running);
        scene.assert_awaits_ending(run).await;
        let store = scene.store();
        let late = store.complete(scene.completion(&lost, AttemptOutcome::Applied));
        assert!(late.await.is_err(), "the lease is over");
    }
    assert_eq!(scene.end_remote(run).await.status, RunStatus::Failed);
}

pub async fn a_failed_end_of_a_remote_run_is_tried_again_after_a_while<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    scene.cancel(run, false).await;
    let lease = scene.lease_ending(run).await;
    assert_eq!(scene.failed(&lease, "401").await.status, RunStatus::Running);
    assert_eq!(scene.acquire_as(&remote_claim()).await, None);
    let wait = scene.next_due().await.expect("it is tried again");
    assert!(wait > seconds(0));
    scene.advance(wait);
    assert_eq!(scene.end_remote(run).await.status, RunStatus::Failed);
}

pub async fn a_run_whose_worker_dies_while_it_is_cancelled_leaves_no_remote_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.record_remote(&lease, &open()).await;
    let cancelled = scene.cancel(lease.run, false).await;
    assert_eq!(cancelled.worker, Some(lease.holder.clone()));
    scene.advance(LEASE);
    assert_eq!(scene.reap().await[0].status, RunStatus::Running);
    scene.assert_awaits_ending(lease.run).await;
    assert_eq!(scene.end_remote(lease.run).await.status, RunStatus::Failed);
}

pub async fn force_gives_the_remote_run_up_with_its_address<F: Fixture>() {
    // Queued, waiting for a worker, and leased.
    for stage in 0..3 {
        let scene = Scene::<F>::new(&["a"]).await;
        let run = scene.queued_with_remote("a").await;
        if stage > 0 {
            scene.cancel(run, false).await;
        }
        let lease = match stage {
            2 => Some(scene.lease_ending(run).await),
            _ => None,
        };
        scene.cancel(run, true).await;
        match &lease {
            Some(lease) => drop(scene.interrupted(lease).await),
            None => drop(scene.reap().await),
        }
        let events = scene.state("a").await.events;
        let error = events[0].error.as_deref().unwrap_or_default();
        assert!(
            error.starts_with("cancelled") && error.contains(URL),
            "{error}"
        );
        assert!(scene.run(run).await.status.is_end());
        // The next run ends what was given up.
        let next = scene.leased("a", "2").await;
        scene.applied(&next).await;
    }
}

pub async fn a_disabled_task_ends_its_remote_run_without_an_event<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    scene.enable("a", false).await;
    scene.assert_awaits_ending(run).await;
    let ended = scene.end_remote(run).await;
    assert_eq!((ended.status, ended.event), (RunStatus::Cancelled, None));
    scene.enable("a", true).await;
    scene.apply("a", "1").await;
}

pub async fn a_deleted_task_stays_until_its_remote_run_has_ended<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    assert!(!scene.delete("a").await);
    scene.assert_awaits_ending(run).await;
    assert_eq!(scene.phases().await[0].1, TaskPhase::Deleting);
    assert!(!scene.delete("a").await, "it is being deleted");
    let ended = scene.end_remote(run).await;
    assert_eq!((ended.status, ended.event), (RunStatus::Cancelled, None));
    assert!(scene.phases().await.is_empty());

    // Its infrastructure is destroyed after that.
    let scene = Scene::<F>::configured(&[destroyed("a")]).await;
    let run = scene.queued_with_remote("a").await;
    let destroys = scene.run_id();
    let deletion = Deletion::AsTaskSays { run: destroys };
    assert!(!scene.delete_as("a", deletion).await);
    scene.assert_awaits_ending(run).await;
    assert_eq!(scene.end_remote(run).await.status, RunStatus::Cancelled);
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.kind), (destroys, RunKind::Destroy));
    scene.destroyed(&lease).await;
    assert!(scene.phases().await.is_empty());
}

pub async fn a_destruction_that_is_given_up_ends_its_remote_run<F: Fixture>() {
    for retains in [false, true] {
        let scene = Scene::<F>::configured(&[destroyed("a")]).await;
        scene.apply("a", "1").await;
        let run = scene.run_id();
        scene.delete_as("a", Deletion::AsTaskSays { run }).await;
        let lease = scene.lease().await;
        scene.record_remote(&lease, &open()).await;
        scene.interrupted(&lease).await;
        if retains {
            assert!(!scene.delete("a").await);
            scene.assert_awaits_ending(run).await;
            assert_eq!(scene.end_remote(run).await.status, RunStatus::Cancelled);
            assert!(scene.phases().await.is_empty());
        } else {
            let cancelled = scene.cancel(run, false).await;
            assert_eq!(cancelled.status, RunStatus::Running);
            scene.assert_awaits_ending(run).await;
            assert_eq!(scene.end_remote(run).await.status, RunStatus::Queued);
            let stored = scene.there("a").await;
            assert!(stored.destruction_suspended);
            assert_eq!(scene.acquire_as(&remote_claim()).await, None);
        }
    }
}

pub async fn a_task_that_is_no_longer_configured_stays_until_its_remote_run_has_ended<
    F: Fixture,
>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let run = scene.queued_with_remote("a").await;
    let left = scene.configure(&[spec("b")]).await;
    assert_eq!(left.deleting, [task("a")]);
    scene.assert_awaits_ending(run).await;
    scene.end_remote(run).await;
    assert_eq!(scene.names().await, ["b"]);

    // Nor is the remote run of a task forgotten that the file disables.
    let run = scene.queued_with_remote("b").await;
    scene.configure(&[disabled("b")]).await;
    scene.assert_awaits_ending(run).await;
    assert_eq!(scene.end_remote(run).await.status, RunStatus::Cancelled);
}

/// The task may have another driver now, and no worker that could end the remote run before.
pub async fn another_declaration_leaves_the_end_of_the_remote_run_to_the_next_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    scene.configure(&[other("a")]).await;
    assert_eq!(scene.run(run).await.status, RunStatus::Cancelled);
    let next = scene.leased("a", "1").await;
    let store = scene.store();
    let known = store.remote_runs(next.run, &next.holder, next.epoch).await;
    let newest = known.expect("a live lease can read").newest;
    assert!(newest.is_some_and(|newest| newest.remote.is_open()));
}

pub async fn a_remote_run_is_ended_after_the_plan_of_its_task<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    let plan = scene.queue_plan("a", "plan").await;
    let plan = scene.acquire_only(plan).await;
    assert_eq!(scene.cancel(run, false).await.status, RunStatus::Queued);
    assert!(scene.reap().await.is_empty());
    assert_eq!(scene.run(run).await.status, RunStatus::Queued);
    scene.planned(&plan, "the plan").await;
    scene.assert_awaits_ending(run).await;
    assert_eq!(scene.end_remote(run).await.status, RunStatus::Failed);

    // A newer input takes the place of the order.
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    let plan = scene.queue_plan("a", "plan").await;
    let plan = scene.acquire_only(plan).await;
    scene.cancel(run, false).await;
    let newer = scene.enqueue("a", "2").await;
    assert_eq!(newer.decision, Some(EnqueueDecision::Replace));
    scene.planned(&plan, "the plan").await;
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.ends_remote_run), (run, false));
    scene.applied(&lease).await;

    // A deletion waits for both.
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queued_with_remote("a").await;
    let plan = scene.queue_plan("a", "plan").await;
    let plan = scene.acquire_only(plan).await;
    assert!(!scene.delete("a").await);
    scene.planned(&plan, "the plan").await;
    scene.assert_awaits_ending(run).await;
    scene.end_remote(run).await;
    assert!(scene.phases().await.is_empty());
}

pub async fn an_ending_outlasts_the_single_process<F: Fixture>() {
    // Waiting for a worker, leased, and cancelled while it was running.
    for stage in 0..3 {
        let scene = Scene::<F>::new(&["a", "b"]).await;
        let run = if stage == 2 {
            let lease = scene.leased("a", "1").await;
            scene.record_remote(&lease, &open()).await;
            scene.cancel(lease.run, false).await;
            lease.run
        } else {
            let run = scene.queued_with_remote("a").await;
            scene.delete("a").await;
            run
        };
        if stage == 1 {
            scene.lease_ending(run).await;
        }
        scene.release_all().await;
        scene.assert_awaits_ending(run).await;
        scene.end_remote(run).await;
        let left: &[&str] = if stage == 2 { &["a", "b"] } else { &["b"] };
        assert_eq!(scene.names().await, left);
        scene.apply("b", "2").await;
    }
}

pub async fn a_remote_run_of_an_earlier_run_is_ended_too<F: Fixture>() {
    let mut on_server = spec("a");
    "terraform-cloud".clone_into(&mut on_server.requirement.driver);
    let scene = Scene::<F>::configured(&[on_server]).await;
    scene.queue("a", "1").await;
    let lease = scene.acquire_as(&remote_claim()).await.expect("it is due");
    scene.record_remote(&lease, &open()).await;
    let newer = scene.queue("a", "2").await;
    assert_eq!(scene.interrupted(&lease).await.status, RunStatus::Cancelled);
    assert_eq!(scene.cancel(newer, false).await.status, RunStatus::Running);
    let ending = scene.lease_ending(newer).await;
    let runs = scene
        .store()
        .remote_runs(newer, &ending.holder, ending.epoch)
        .await;
    assert_eq!(
        runs.expect("a live lease").newest.map(|it| it.run),
        Some(lease.run)
    );
}
