//! Runs that are cancelled.

use std::time::Duration;

use cts_core::runs::EnqueueDecision::{Enqueue, Withhold};
use cts_core::runs::{
    AttemptOutcome, CANCEL_GRACE, CancelOrder, CancelRefusal, RunKind, RunStatus,
};
use cts_core::{RunId, TaskPhase};

use crate::Fixture;
use crate::scene::{LEASE, Scene, destroyed, disabled, input, seconds, spec};
use cts_store::{
    CancelError, CancelState, CancelledRun, Deletion, EnqueueRequest, Lease, LeaseError, Unchanged,
};

impl<F: Fixture> Scene<F> {
    async fn try_cancel(&self, run: RunId, force: bool) -> Result<CancelledRun, CancelError> {
        let event = self.event_id();
        self.store().cancel_run(run, force, event).await
    }

    async fn refused(&self, run: RunId, force: bool) -> CancelRefusal {
        let answer = self.try_cancel(run, force).await;
        let refusal = answer.err().and_then(|error| match error {
            CancelError::Refused(refusal) => Some(refusal),
            CancelError::Unknown | CancelError::Store(_) => None,
        });
        refusal.expect("the run is not to be cancelled")
    }

    async fn order(&self, lease: &Lease) -> Option<CancelOrder> {
        let store = self.store();
        let order = store.cancel_order(lease.run, &lease.holder, lease.epoch);
        order.await.expect("the lease is live")
    }

    async fn cancel_state(&self, run: RunId) -> Option<CancelState> {
        let state = self.store().cancel_state(run).await;
        state.expect("it can be read")
    }

    /// Returns the decision about this input when a new leader looks at all tasks.
    async fn looked_at(&self, name: &str, text: &str) -> Option<cts_core::runs::EnqueueDecision> {
        let request = EnqueueRequest {
            unchanged: Unchanged::Skip,
            ..self.request(name, text)
        };
        self.request_all(vec![request]).await.remove(0).decision
    }

    async fn last_error(&self, name: &str) -> Option<String> {
        let events = self.state(name).await.events;
        events.first().and_then(|event| event.error.clone())
    }
}

pub async fn a_queued_run_is_withdrawn_with_an_event<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue("a", "1").await;
    let cancelled = scene.cancel(run, false).await;
    assert_eq!((cancelled.run, cancelled.kind), (run, RunKind::Apply));
    assert_eq!(
        (cancelled.status, cancelled.worker),
        (RunStatus::Cancelled, None)
    );
    assert!(cancelled.event.is_some() && !cancelled.tasks_changed);
    scene.restart().await;
    let record = scene.run(run).await;
    assert_eq!(record.status, RunStatus::Cancelled);
    assert!(record.finished_at.is_some());
    let events = scene.state("a").await.events;
    assert_eq!(
        (events.len(), events[0].run_id, events[0].success),
        (1, Some(run), false)
    );
    let error = events[0].error.clone().expect("it says why");
    assert!(error.starts_with("cancelled"), "{error}");
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.looked_at("a", "1").await, Some(Withhold));
    let refusal = scene.refused(run, true).await;
    assert_eq!(refusal, CancelRefusal::Ended(RunStatus::Cancelled));
}

pub async fn a_running_run_is_ordered_to_stop_and_not_tried_again<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "0").await;
    let lease = scene.leased("a", "1").await;
    assert_eq!(scene.order(&lease).await, None);
    let cancelled = scene.cancel(lease.run, false).await;
    assert_eq!(cancelled.status, RunStatus::Running);
    assert_eq!(cancelled.worker, Some(lease.holder.clone()));
    scene.restart().await;
    let interrupt = Some(CancelOrder::Interrupt);
    let store = scene.store();
    let renewed = store.renew(lease.run, &lease.holder, lease.epoch, LEASE, None);
    assert_eq!(renewed.await.expect("the lease is live"), interrupt);
    assert_eq!(scene.order(&lease).await, interrupt);
    let ended = scene.interrupted(&lease).await;
    assert_eq!(ended.status, RunStatus::Failed);
    assert!(ended.event.is_some_and(|event| !event.success));
    assert_eq!(ended.next_due, None);
    let error = scene.last_error("a").await.expect("it says why");
    assert!(error.starts_with("cancelled"), "{error}");
    assert_eq!(scene.acquire().await, None);
    // A takeover evaluates the data again, and so does a restart.
    assert_eq!(scene.looked_at("a", "1").await, Some(Withhold));
    scene.release_all().await;
    assert_eq!(scene.looked_at("a", "1").await, Some(Withhold));
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(Withhold));
}

pub async fn a_run_that_was_ended_on_its_server_ends_as_if_it_were_cancelled<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "0").await;
    for newer_waits in [false, true] {
        let input = if newer_waits { "2" } else { "1" };
        let lease = scene.leased("a", input).await;
        if newer_waits {
            scene.queue("a", "3").await;
        }
        let decision = "cancelled: the remote run was discarded on the server by an operator";
        let declined = AttemptOutcome::Declined(decision.to_owned());
        let ended = scene.complete(scene.completion(&lease, declined)).await;
        assert_eq!(
            (ended.status, ended.next_due.is_some()),
            (RunStatus::Failed, newer_waits)
        );
        assert!(ended.event.is_some_and(|event| !event.success));
        assert_eq!(scene.last_error("a").await.as_deref(), Some(decision));
        if newer_waits {
            assert_eq!(scene.lease().await.task, lease.task, "the newer one runs");
        } else {
            assert_eq!(scene.acquire().await, None);
            assert_eq!(scene.looked_at("a", "1").await, Some(Withhold));
        }
    }
}

pub async fn cancelled_input_runs_with_the_next_change_or_request<F: Fixture>() {
    for how in 0..5 {
        let scene = Scene::<F>::new(&["a"]).await;
        let lease = scene.leased("a", "1").await;
        scene.cancel(lease.run, false).await;
        scene.failed(&lease, "execution halted").await;
        assert_eq!(scene.looked_at("a", "1").await, Some(Withhold));
        match how {
            0 => {
                scene.apply("a", "2").await;
                assert_eq!(scene.looked_at("a", "1").await, Some(Enqueue));
            }
            1 => {
                let run = scene.ask("a", RunKind::Apply).await;
                let lease = scene.lease_requested(run, "1").await;
                scene.failed(&lease, "no").await;
                assert!(scene.next_due().await.is_some(), "it is tried again");
            }
            2 => {
                scene.enable("a", false).await;
                scene.enable("a", true).await;
                assert_eq!(scene.looked_at("a", "1").await, Some(Enqueue));
            }
            3 => {
                scene.configure(&[disabled("a")]).await;
                scene.configure(&[spec("a")]).await;
                assert_eq!(scene.looked_at("a", "1").await, Some(Enqueue));
            }
            _ => {
                let pass = EnqueueRequest {
                    unchanged: Unchanged::Run,
                    ..scene.request("a", "1")
                };
                let enqueued = scene.request_all(vec![pass]).await.remove(0);
                assert_eq!(enqueued.decision, Some(Enqueue));
            }
        }
    }
}

pub async fn a_newer_input_that_was_cancelled_too_stays_withheld<F: Fixture>() {
    for restarts in [false, true] {
        let mut scene = Scene::<F>::new(&["a"]).await;
        let lease = scene.leased("a", "1").await;
        let newer = scene.queue("a", "2").await;
        scene.cancel(newer, false).await;
        scene.cancel(lease.run, false).await;
        if restarts {
            scene.restart().await;
            scene.release_all().await;
        } else {
            scene.interrupted(&lease).await;
        }
        assert_eq!(scene.looked_at("a", "2").await, Some(Withhold));
        assert_eq!(scene.looked_at("a", "1").await, Some(Enqueue));
    }
}

pub async fn a_restart_withholds_nothing_that_a_newer_input_replaces<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let newer = scene.queue("a", "2").await;
    scene.cancel(lease.run, false).await;
    scene.restart().await;
    scene.release_all().await;
    let lease = scene.lease().await;
    assert_eq!(lease.run, newer);
    scene.applied(&lease).await;
    assert_eq!(scene.looked_at("a", "1").await, Some(Enqueue));
}

pub async fn a_second_order_has_to_wait_and_then_needs_force<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.cancel(lease.run, false).await;
    scene.advance(seconds(10));
    let refusal = scene.refused(lease.run, false).await;
    assert_eq!(
        refusal,
        CancelRefusal::InGrace(CANCEL_GRACE.saturating_sub(seconds(10)))
    );
    scene.renew(&lease, LEASE * 4).await;
    scene.advance(seconds(20));
    let refusal = scene.refused(lease.run, false).await;
    assert_eq!(refusal, CancelRefusal::NeedsForce);
    assert_eq!(scene.order(&lease).await, Some(CancelOrder::Interrupt));
    for _ in 0..2 {
        let forced = scene.cancel(lease.run, true).await;
        assert_eq!(forced.status, RunStatus::Running);
        assert_eq!(scene.order(&lease).await, Some(CancelOrder::Force));
    }
    scene.interrupted(&lease).await;
    let error = scene.last_error("a").await.expect("it says why");
    assert!(error.contains("by force"), "{error}");
}

pub async fn a_worker_that_takes_no_note_is_told_from_one_that_does<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    assert_eq!(scene.cancel_state(lease.run).await, None);
    scene.cancel(lease.run, false).await;
    scene.advance(seconds(15));
    let state = scene
        .cancel_state(lease.run)
        .await
        .expect("there is an order");
    assert_eq!(
        (state.worker, state.ordered),
        (lease.holder.clone(), seconds(15))
    );
    assert!(!state.noted);
    let store = scene.store();
    scene.order(&lease).await;
    let state = scene
        .cancel_state(lease.run)
        .await
        .expect("there is an order");
    assert!(state.noted);
    scene.interrupted(&lease).await;
    assert_eq!(scene.cancel_state(lease.run).await, None);
    let refused = store
        .cancel_order(lease.run, &lease.holder, lease.epoch)
        .await;
    assert!(
        matches!(refused, Err(LeaseError::Lost { .. })),
        "{refused:?}"
    );
}

pub async fn a_cancelled_run_whose_lease_is_lost_is_not_begun_again<F: Fixture>() {
    for restarts in [false, true] {
        let mut scene = Scene::<F>::new(&["a"]).await;
        let lease = scene.leased("a", "1").await;
        scene.cancel(lease.run, false).await;
        let taken = if restarts {
            scene.restart().await;
            scene.release_all().await
        } else {
            scene.advance(LEASE);
            scene.reap().await
        };
        assert_eq!(taken.len(), 1);
        assert!(taken[0].status.is_end(), "{taken:?}");
        let record = scene.run(lease.run).await;
        let error = record.error().expect("it says why");
        assert!(error.starts_with("cancelled"), "{error}");
        assert_eq!(scene.acquire().await, None);
        assert_eq!(scene.looked_at("a", "1").await, Some(Withhold));
    }
}

/// A scene whose task `a` is being destroyed, and the destroying run; with a lease if it is `running`.
async fn destroying<F: Fixture>(running: bool) -> (Scene<F>, RunId, Option<Lease>) {
    let scene = Scene::<F>::configured(&[destroyed("a")]).await;
    scene.apply("a", "1").await;
    let run = scene.run_id();
    assert!(!scene.delete_as("a", Deletion::AsTaskSays { run }).await);
    let lease = if running { scene.acquire().await } else { None };
    (scene, run, lease)
}

async fn assert_suspended<F: Fixture>(scene: &Scene<F>, run: RunId) {
    let stored = scene.there("a").await;
    assert_eq!(
        (stored.phase, stored.destroy_run),
        (TaskPhase::Deleting, Some(run))
    );
    assert!(stored.destruction_suspended);
    assert_eq!(scene.run(run).await.status, RunStatus::Queued);
    scene.advance(Duration::from_hours(24 * 365));
    assert!(scene.reap().await.is_empty());
    assert_eq!(scene.acquire().await, None, "it does not go on");
    assert_eq!(scene.refused(run, false).await, CancelRefusal::Suspended);
}

pub async fn a_cancelled_destruction_is_suspended_and_goes_on<F: Fixture>() {
    for end in 0..5 {
        let (mut scene, run, lease) = destroying::<F>(end > 0).await;
        let cancelled = scene.cancel(run, false).await;
        match (end, &lease) {
            (1, Some(lease)) => drop(scene.interrupted(lease).await),
            (2, Some(lease)) => drop(scene.failed(lease, "no").await),
            (3, Some(_)) => {
                scene.advance(LEASE);
                scene.reap().await;
            }
            (4, Some(_)) => drop(scene.release_all().await),
            _ => assert_eq!(cancelled.status, RunStatus::Queued),
        }
        assert_suspended(&scene, run).await;
        scene.restart().await;
        scene.release_all().await;
        assert_suspended(&scene, run).await;
        assert!(!scene.delete_as("a", scene.as_task_says()).await);
        let stored = scene.there("a").await;
        assert!(!stored.destruction_suspended);
        let lease = scene.lease().await;
        assert_eq!((lease.run, lease.kind), (run, RunKind::Destroy));
        assert_eq!((lease.input, lease.attempt), (input("1").hash, 1));
        assert_eq!(scene.order(&lease).await, None);
        scene.destroyed(&lease).await;
        assert_eq!(scene.stored("a").await, None);
    }
}

pub async fn a_suspended_destruction_is_given_up_by_what_retains<F: Fixture>() {
    let (scene, run, lease) = destroying::<F>(true).await;
    scene.cancel(run, false).await;
    scene.interrupted(&lease.expect("it is leased")).await;
    assert_suspended(&scene, run).await;
    assert!(scene.delete_as("a", Deletion::Retain).await);
    assert_eq!(scene.stored("a").await, None);
    assert_eq!(scene.run(run).await.status, RunStatus::Cancelled);
}
