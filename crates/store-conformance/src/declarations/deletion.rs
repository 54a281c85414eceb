//! Tasks that are deleted over the API.

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{RunId, TaskPhase, TaskStatus};
use futures::future::{join, join_all};

use crate::Fixture;
use crate::scene::{LEASE, Scene, task, withdrawn};
use cts_store::{DELETED, Deletion, Lease, TaskError};

async fn assert_gone<F: Fixture>(scene: &Scene<F>, name: &str, runs: &[RunId]) {
    assert_eq!(scene.stored(name).await, None);
    assert_eq!(scene.phases().await, []);
    for run in runs {
        assert_eq!(scene.find_request(*run).await, None);
        // A run that was only requested has no record.
        if let Some(record) = scene.find_run(*run).await {
            assert!(record.status.is_end(), "{record:?}");
            let log = scene.store().read_log(*run, 0, 10).await;
            let log = log.expect("logs can be read").expect("it stays");
            assert!(log.ended);
        }
    }
    let store = scene.store();
    let again = store.delete_task(&task(name), Deletion::Retain).await;
    assert!(matches!(again, Err(TaskError::Unknown)), "{again:?}");
    assert_eq!(scene.open_requests().await, []);
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, None);
    // The name is free, and nothing of the earlier task is left.
    scene.created(name).await;
    let state = scene.state(name).await;
    assert_eq!((state.status, state.events), (TaskStatus::Unknown, vec![]));
}

pub async fn an_idle_task_goes_at_once<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    scene.created("a").await;
    let ended = scene.apply("a", "1").await;
    let queued = scene.queue("a", "2").await;
    let plan = scene.queue_plan("a", "2").await;
    let asked = scene.ask("a", RunKind::Check).await;
    let late = scene.request_of(asked, "3").await;
    assert!(scene.delete("a").await);
    // A leader that knew of the request comes too late.
    let enqueued = scene.request_all(vec![late]).await.remove(0);
    assert_eq!((enqueued.decision, enqueued.queued), (None, None));
    assert_gone(&scene, "a", &[ended, queued, plan, asked]).await;
}

/// A task that is deleted while it runs, with rows of every kind; the first run is the leased one.
async fn deleting<F: Fixture>(scene: &Scene<F>, kind: RunKind) -> (Lease, Vec<RunId>) {
    scene.created("a").await;
    let ended = scene.apply("a", "0").await;
    let run = scene.ask("a", kind).await;
    let lease = scene.lease_requested(run, "1").await;
    let queued = scene.queue("a", "2").await;
    let plan = scene.queue_plan("a", "2").await;
    let asked = scene.ask("a", RunKind::Check).await;
    for _ in 0..2 {
        assert!(!scene.delete("a").await);
    }
    let stored = scene.there("a").await;
    assert_eq!(stored.phase, TaskPhase::Deleting);
    assert_eq!(scene.names().await, ["a"]);
    assert_eq!(scene.state("a").await.events.len(), 1);
    for run in [queued, plan] {
        assert_eq!(scene.run(run).await.status, RunStatus::Cancelled);
    }
    let refused = scene.find_request(asked).await.and_then(|it| it.refused);
    assert_eq!(refused, Some(withdrawn(DELETED)));
    let requests = vec![
        scene.request("a", "3"),
        scene.plan_request("a", "3"),
        scene.request_of(asked, "3").await,
    ];
    for answer in scene.request_all(requests).await {
        assert_eq!((answer.decision, answer.queued), (None, None));
    }
    assert_eq!(scene.acquire().await, None);
    (lease, vec![run, ended, queued, plan, asked])
}

/// Lets the running run of each kind end in every possible way.
pub async fn a_task_that_runs_goes_when_its_run_has_ended<F: Fixture>() {
    let ends = (0..5).flat_map(|end| RunKind::ENQUEUED.map(|kind| (end, kind)));
    for (end, kind) in ends {
        let mut scene = Scene::<F>::new(&[]).await;
        let (lease, runs) = deleting(&scene, kind).await;
        scene.restart().await;
        let completed = match end {
            0 => Some(scene.succeeded(&lease).await),
            1 => Some(scene.failed(&lease, "no").await),
            2 => Some(scene.interrupted(&lease).await),
            _ => None,
        };
        if let Some(completed) = completed {
            assert!(completed.tasks_changed && completed.next_due.is_none());
            assert_eq!(completed.event.is_some(), kind.applies() && end < 2);
        } else {
            assert_eq!(scene.reap().await, [], "its lease is live");
            let lost = if end == 3 {
                scene.advance(LEASE);
                scene.reap().await
            } else {
                scene.release_all().await
            };
            assert_eq!((lost.len(), lost[0].run), (1, lease.run));
        }
        let status = [RunStatus::Succeeded, RunStatus::Failed];
        let status = status.get(end).copied().unwrap_or(RunStatus::Cancelled);
        assert_eq!(scene.run(lease.run).await.status, status, "{end} {kind:?}");
        assert_gone(&scene, "a", &runs).await;
    }
}

/// In either order, nothing is left at the end.
pub async fn tasks_that_are_deleted_while_they_are_leased_go<F: Fixture>() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let scene = Scene::<F>::new(&names).await;
    for name in names {
        scene.queue(name, "1").await;
    }
    let store = scene.store();
    let tasks = names.map(task);
    let leases = join_all(names.map(|_| scene.acquire()));
    let deletions = join_all(
        tasks
            .iter()
            .map(|name| store.delete_task(name, Deletion::Retain)),
    );
    let (leases, deletions) = join(leases, deletions).await;
    let mut gone = 0;
    for deletion in deletions {
        gone += usize::from(deletion.expect("the task is there"));
    }
    let leases: Vec<_> = leases.into_iter().flatten().collect();
    assert_eq!(
        leases.len() + gone,
        names.len(),
        "what is leased is not gone"
    );
    for lease in &leases {
        assert!(scene.applied(lease).await.tasks_changed);
    }
    assert_eq!(scene.phases().await, []);
    assert_eq!(scene.queue_depth().await.running, 0);
}
