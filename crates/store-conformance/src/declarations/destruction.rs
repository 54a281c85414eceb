//! Tasks whose infrastructure is destroyed before they are removed.

use std::time::Duration;

use cts_core::runs::{ATTEMPTS, RunKind, RunStatus};
use cts_core::{RunId, TaskPhase};

use crate::Fixture;
use crate::scene::{GROUP, LEASE, Scene, destroyed, in_group, input, spec, task};
use cts_store::{Deletion, EnqueueRequest, Lease, TaskError};

/// A scene with a task `a` that is to be destroyed and has applied `applied`, and a task `b`, which is not.
async fn applied<F: Fixture>() -> Scene<F> {
    let scene = Scene::<F>::configured(&[destroyed("a"), spec("b")]).await;
    scene.apply("a", "applied").await;
    scene
}

/// Deletes `a` and returns the id of the run that destroys it.
async fn delete<F: Fixture>(scene: &Scene<F>) -> RunId {
    let run = scene.run_id();
    let gone = scene.delete_as("a", Deletion::AsTaskSays { run }).await;
    assert!(!gone);
    let stored = scene.there("a").await;
    let state = (stored.phase, stored.destroy_run);
    assert_eq!(state, (TaskPhase::Deleting, Some(run)));
    run
}

async fn lease_of<F: Fixture>(scene: &Scene<F>, run: RunId) -> Lease {
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.kind), (run, RunKind::Destroy));
    assert_eq!(lease.input, input("applied").hash);
    lease
}

/// A scene with a task `a` that is being destroyed.
async fn destroying<F: Fixture>() -> (Scene<F>, Lease) {
    let scene = applied::<F>().await;
    let run = delete(&scene).await;
    let lease = lease_of(&scene, run).await;
    (scene, lease)
}

async fn assert_gone<F: Fixture>(scene: &Scene<F>) {
    assert_eq!(scene.stored("a").await, None);
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, None);
}

pub async fn resources_of_a_task_are_destroyed_before_it_goes<F: Fixture>() {
    let mut scene = applied::<F>().await;
    let queued = scene.queue("a", "newer").await;
    let asked = scene.ask("a", RunKind::Check).await;
    let run = delete(&scene).await;
    assert_eq!(scene.run(queued).await.status, RunStatus::Cancelled);
    let request = scene.find_request(asked).await;
    assert!(request.is_some_and(|request| request.refused.is_some()));
    assert_eq!(scene.queue_depth().await.ready, 1);
    let waiting = scene.waiting_runs(Duration::ZERO).await;
    assert_eq!(waiting.len(), 1);
    scene.restart().await;
    assert!(!scene.delete_as("a", scene.as_task_says()).await);
    let late = scene.enqueue("a", "late").await;
    assert_eq!((late.decision, late.queued), (None, None));
    let lease = lease_of(&scene, run).await;
    let completed = scene.destroyed(&lease).await;
    assert_eq!(completed.status, RunStatus::Succeeded);
    assert!(completed.tasks_changed && completed.event.is_none());
    let record = scene.run(run).await;
    assert_eq!((record.kind, record.no_retry), (RunKind::Destroy, false));
    assert_gone(&scene).await;
}

pub async fn without_a_word_and_without_anything_made_a_task_just_goes<F: Fixture>() {
    let scene = applied::<F>().await;
    scene.apply("b", "1").await;
    assert!(scene.delete_as("b", scene.as_task_says()).await);
    assert!(scene.delete_as("a", Deletion::Retain).await);
    scene.configure(&[destroyed("c"), destroyed("d")]).await;
    scene.queue("c", "never leased").await;
    assert!(scene.delete_as("c", scene.as_task_says()).await);
    // An earlier task of its name has applied.
    scene.configure(&[destroyed("a"), destroyed("d")]).await;
    assert!(scene.delete_as("a", scene.as_task_says()).await);
    let planned = scene.queue_plan("d", "1").await;
    let lease = scene.lease().await;
    assert!(!scene.delete_as("d", scene.as_task_says()).await);
    assert!(scene.planned(&lease, "the plan").await.tasks_changed);
    assert_eq!(scene.run(planned).await.status, RunStatus::Succeeded);
    assert_eq!(scene.phases().await, []);
}

/// Ids of runs are from the clocks of several processes.
pub async fn the_input_that_was_leased_last_is_destroyed<F: Fixture>() {
    for end in [
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Cancelled,
    ] {
        let scene = Scene::<F>::configured(&[destroyed("a")]).await;
        let early = scene.run_id();
        scene.apply("a", "earlier").await;
        scene.advance(Duration::from_secs(1));
        let request = EnqueueRequest {
            run: early,
            ..scene.request("a", "applied")
        };
        scene.queue_new(request).await;
        let lease = scene.lease().await;
        assert_eq!(lease.run, early);
        match end {
            RunStatus::Succeeded => drop(scene.applied(&lease).await),
            RunStatus::Failed => drop(scene.failed(&lease, "no").await),
            _ => {
                scene.queue("a", "never leased").await;
                scene.interrupted(&lease).await;
            }
        }
        let run = delete(&scene).await;
        lease_of(&scene, run).await;
    }
}

/// Lets the running run end in every possible way.
pub async fn destruction_waits_for_the_running_run<F: Fixture>() {
    for end in 0..5 {
        let mut scene = Scene::<F>::configured(&[destroyed("a"), spec("b")]).await;
        scene.apply("a", "earlier").await;
        let running = scene.leased("a", "applied").await;
        let run = delete(&scene).await;
        assert_eq!(scene.acquire().await, None);
        assert_eq!(scene.find_run(run).await, None);
        scene.restart().await;
        match end {
            0 => drop(scene.applied(&running).await),
            1 => drop(scene.failed(&running, "no").await),
            2 => drop(scene.interrupted(&running).await),
            3 => {
                scene.advance(LEASE);
                scene.reap().await;
            }
            _ => drop(scene.release_all().await),
        }
        assert!(scene.run(running.run).await.status.is_end());
        let lease = lease_of(&scene, run).await;
        scene.destroyed(&lease).await;
        assert_gone(&scene).await;
    }
}

pub async fn a_destruction_outlives_its_workers_and_processes<F: Fixture>() {
    let (mut scene, mut lease) = destroying::<F>().await;
    for _ in 0..=ATTEMPTS {
        scene.advance(LEASE);
        let lost = scene.reap().await.remove(0);
        let expected = (RunKind::Destroy, RunStatus::Queued);
        assert_eq!((lost.kind, lost.status), expected);
        let due = scene.next_due().await.expect("it is tried again");
        scene.advance(due);
        lease = lease_of(&scene, lease.run).await;
    }
    let lost = scene.store().lost_leases(lease.run).await;
    assert!(!lost.expect("lost leases can be read").is_empty());
    for _ in 0..2 {
        scene.restart().await;
        let lost = scene.release_all().await.remove(0);
        let expected = (lease.run, RunKind::Destroy, RunStatus::Queued);
        assert_eq!((lost.run, lost.kind, lost.status), expected);
        lease = lease_of(&scene, lease.run).await;
    }
    // Also while it waits.
    scene.interrupted(&lease).await;
    assert_eq!(scene.release_all().await, []);
    let lease = lease_of(&scene, lease.run).await;
    scene.destroyed(&lease).await;
    assert_gone(&scene).await;
}

pub async fn a_destruction_goes_on_without_its_declaration<F: Fixture>() {
    for running in [false, true] {
        let mut scene = applied::<F>().await;
        let run = delete(&scene).await;
        if running {
            let lease = lease_of(&scene, run).await;
            let none = scene.configure(&[spec("b")]).await;
            assert_eq!(none, cts_store::PendingDeletions::default());
            let completed = scene.failed(&lease, "no").await;
            assert_eq!(completed.status, RunStatus::Queued);
            scene.advance(completed.next_due.expect("it is tried again"));
        }
        scene.configure(&[spec("b")]).await;
        scene.lead().await;
        scene.restart().await;
        let stored = scene.there("a").await;
        assert_eq!(stored.destroy_run, Some(run));
        // The block is back, changed or not, and is refused until then.
        for back in [destroyed("a"), spec("a")] {
            let unfinished = scene.configure(&[back, spec("b")]).await;
            assert_eq!(unfinished.postponed, [task("a")]);
        }
        let lease = lease_of(&scene, run).await;
        scene.destroyed(&lease).await;
        assert_gone(&scene).await;
        scene.configure(&[spec("a"), spec("b")]).await;
        let stored = scene.there("a").await;
        assert_eq!(stored.phase, TaskPhase::Ready);
    }
}

pub async fn a_plan_of_a_destruction_changes_nothing<F: Fixture>() {
    let scene = applied::<F>().await;
    let (store, name, run) = (scene.store(), task("a"), scene.run_id());
    let there = store.plan_destruction(&name, run, None).await;
    assert!(there.expect("a destruction can be planned"));
    let lease = scene.lease().await;
    assert_eq!(lease.input, input("applied").hash);
    let completed = scene.planned(&lease, "to destroy").await;
    assert_eq!((completed.event, completed.tasks_changed), (None, false));
    let record = scene.run(run).await;
    assert_eq!(record.kind, RunKind::DestroyPlan);
    assert_eq!(record.plan.map(|plan| plan.text), Some("to destroy".into()));
    let again = scene.enqueue("a", "applied").await;
    assert_eq!(again.queued, None, "it is still applied");

    let nothing = store
        .plan_destruction(&task("b"), scene.run_id(), None)
        .await;
    assert!(!nothing.expect("there is nothing to be planned"));
    let unknown = store
        .plan_destruction(&task("c"), scene.run_id(), None)
        .await;
    assert!(matches!(unknown, Err(TaskError::Unknown)), "{unknown:?}");
    delete(&scene).await;
    let deleting = store.plan_destruction(&name, scene.run_id(), None).await;
    assert!(matches!(deleting, Err(TaskError::Deleting)), "{deleting:?}");
}

pub async fn a_destruction_and_the_applies_of_its_group_wait_for_each_other<F: Fixture>() {
    let scene = Scene::<F>::configured(&[in_group(destroyed("a")), in_group(spec("b"))]).await;
    scene.apply("a", "applied").await;
    let other = scene.leased("b", "1").await;
    let run = delete(&scene).await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.queue_depth().await.ready, 0);
    scene.applied(&other).await;
    let lease = lease_of(&scene, run).await;
    scene.queue("b", "2").await;
    assert_eq!(scene.acquire().await, None);
    let holder = scene.store().holder_of_group(GROUP, &task("b")).await;
    let holder = holder.expect("the run that has a group can be read");
    assert_eq!(holder, Some(run));
    scene.destroyed(&lease).await;
    assert_eq!(scene.lease().await.task, task("b"));
}
