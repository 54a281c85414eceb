//! Runs that wait for something outside of cts before they apply.

use cts_core::TaskStatus;
use cts_core::runs::{EnqueueDecision, Resumed, RunStatus, WaitEnd};

use crate::Fixture;
use crate::scene::{Scene, grouped, seconds};
use cts_store::{Lease, TaskChange};

const REASON: &str = "a person who approves it";

impl<F: Fixture> Scene<F> {
    /// Queues a run, leases it and lets it wait.
    async fn waiting(&self, name: &str, text: &str) -> Lease {
        let lease = self.leased(name, text).await;
        self.suspend(&lease, REASON).await;
        lease
    }

    async fn wait_end(&self, lease: &Lease) -> Option<WaitEnd> {
        let end = self
            .store()
            .wait_end(lease.run, &lease.holder, lease.epoch)
            .await;
        end.expect("a live lease can be looked at")
    }
}

pub async fn a_run_that_waits_says_so_and_is_not_at_work<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.waiting("a", "1").await;
    let record = scene.run(lease.run).await;
    assert_eq!(record.status, RunStatus::Running);
    assert_eq!(record.waiting_for.as_deref(), Some(REASON));
    assert_eq!(scene.queue_depth().await.running, 0);
    assert_eq!(scene.wait_end(&lease).await, None);
    // Again, because the answer may have been lost.
    scene.suspend(&lease, REASON).await;
    assert_eq!(scene.resume(&lease).await, Resumed::GoesOn);
    assert_eq!(scene.resume(&lease).await, Resumed::GoesOn);
    // A delayed call comes when the wait is over.
    scene.suspend(&lease, REASON).await;
    assert_eq!(scene.run(lease.run).await.waiting_for, None);
    assert_eq!(scene.queue_depth().await.running, 1);
    scene.applied(&lease).await;
    assert_eq!(scene.state("a").await.status, TaskStatus::Successful);
}

pub async fn a_newer_input_ends_a_wait_and_takes_its_place<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let lease = scene.waiting("a", "1").await;
    scene.advance(seconds(5));
    scene.queue("b", "1").await;
    assert_eq!(
        scene.enqueue("a", "1").await.decision,
        Some(EnqueueDecision::Skip {
            cancel_queued: false
        })
    );
    assert_eq!(
        scene.wait_end(&lease).await,
        None,
        "it is what it waits with"
    );
    scene.advance(seconds(5));
    let newer = scene.queue("a", "2").await;
    let end = WaitEnd::NewerInput;
    assert_eq!(scene.wait_end(&lease).await, Some(end));
    assert_eq!(scene.resume(&lease).await, Resumed::Ended(end));
    let completed = scene.interrupted(&lease).await;
    assert_eq!(completed.status, RunStatus::Cancelled);
    assert_eq!(scene.state("a").await.events, []);
    // Before the run that was queued while the first one waited.
    assert_eq!(scene.lease().await.run, newer);
}

pub async fn disabling_a_task_ends_its_wait_for_good<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.waiting("a", "1").await;
    let change = TaskChange {
        enabled: Some(false),
        idle_only: true,
        ..TaskChange::default()
    };
    scene.change("a", change).await.expect("it is not busy");
    assert_eq!(scene.wait_end(&lease).await, Some(WaitEnd::TaskChanged));
    // Also if it is enabled again before the worker has looked.
    scene.enable("a", true).await;
    assert_eq!(scene.wait_end(&lease).await, Some(WaitEnd::TaskChanged));
    assert_eq!(scene.interrupted(&lease).await.status, RunStatus::Cancelled);
    assert_eq!(scene.next_due().await, None);
    // The input was not applied, so the next request for it queues a run.
    scene.leased("a", "1").await;
}

pub async fn waiting_run_leaves_its_group_to_other_tasks<F: Fixture>() {
    let scene = Scene::<F>::configured(&[grouped("a"), grouped("b")]).await;
    let first = scene.waiting("a", "1").await;
    let second = scene.leased("b", "1").await;
    assert_eq!(scene.resume(&first).await, Resumed::GroupBusy);
    let record = scene.run(first.run).await;
    assert_eq!(record.waiting_for.as_deref(), Some(REASON), "it waits on");
    scene.applied(&second).await;
    assert_eq!(scene.resume(&first).await, Resumed::GoesOn);
    scene.queue("b", "2").await;
    assert_eq!(scene.acquire().await, None, "the group is taken again");
    scene.applied(&first).await;
    scene.lease().await;
}
