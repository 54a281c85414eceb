//! Concurrency groups: at most one task of a group applies at a time.

use std::time::Duration;

use cts_core::runs::{Resumed, RunStatus};
use cts_core::{RemoteRun, WorkerId};
use futures::future::join_all;

use crate::Fixture;
use crate::remote_runs::remote_run;
use crate::scene::{GROUP, LEASE, Scene, claim, grouped, spec, task};
use cts_store::Claim;

/// Tasks `a` and `b` of a group, and `c` of none, each with a queued run.
async fn three<F: Fixture>() -> Scene<F> {
    let scene = Scene::<F>::configured(&[grouped("a"), grouped("b"), spec("c")]).await;
    for name in ["a", "b", "c"] {
        scene.queue(name, "1").await;
    }
    scene
}

/// The task for which task `c` would wait, if it belonged to the group.
async fn applying<F: Fixture>(scene: &Scene<F>) -> Option<String> {
    let holder = scene.store().holder_of_group(GROUP, &task("c")).await;
    let run = holder.expect("the run that has a group can be read")?;
    Some(scene.run(run).await.task.to_string())
}

async fn assert_nothing_is_ready<F: Fixture>(scene: &Scene<F>) {
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.queue_depth().await.ready, 0);
    let next = scene.store().next_due().await;
    assert_eq!(next.expect("the next due run can be read"), None);
    let waiting = scene.waiting_runs(Duration::ZERO).await;
    assert_eq!(waiting, []);
}

pub async fn parallel_calls_lease_one_apply_of_a_group_the_oldest_first<F: Fixture>() {
    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let scene = Scene::<F>::configured(&NAMES.map(grouped)).await;
    for name in NAMES {
        scene.queue(name, "1").await;
    }
    for name in NAMES {
        let calls = (0..8).map(|number| {
            let claim = Claim {
                worker: WorkerId::new(format!("worker-{number}")),
                ..claim()
            };
            let store = scene.store();
            async move { store.acquire(&claim).await }
        });
        let leases: Vec<_> = join_all(calls)
            .await
            .into_iter()
            .filter_map(|lease| lease.expect("runs can be leased"))
            .collect();
        assert_eq!(leases.len(), 1, "applies of a group that were leased");
        assert_eq!(leases[0].task, task(name), "the run that was due first");
        scene.applied(&leases[0]).await;
    }
    assert_eq!(scene.queue_depth().await.queued, 0);
}

pub async fn a_remote_run_keeps_its_group_until_it_has_ended<F: Fixture>() {
    let scene = three::<F>().await;
    let first = scene.lease().await;
    assert_eq!(first.task, task("a"));
    let other = scene.lease().await;
    scene.applied(&other).await;
    let remote = remote_run(1);
    scene.record_remote(&first, &remote).await;
    scene.suspend(&first, "a person").await;
    assert_nothing_is_ready(&scene).await;

    // Its worker drains: it goes on elsewhere, and the group does not go to another task meanwhile.
    assert_eq!(scene.interrupted(&first).await.status, RunStatus::Queued);
    assert_eq!(applying(&scene).await.as_deref(), Some("a"));
    assert_eq!(scene.queue_depth().await.ready, 1, "only the run itself");
    let first = scene.lease().await;
    assert_eq!(first.task, task("a"));
    scene.suspend(&first, "a person").await;
    assert_nothing_is_ready(&scene).await;

    // Its worker is lost.
    scene.advance(LEASE);
    scene.reap().await;
    let first = scene.lease().await;
    assert_eq!(first.task, task("a"));
    let store = scene.store();
    let resumed = store.resume(first.run, &first.holder, first.epoch, 1).await;
    assert_eq!(resumed.expect("a live lease"), Resumed::GoesOn);
    let ended = RemoteRun {
        ended: true,
        ..remote
    };
    scene.record_remote(&first, &ended).await;
    assert_eq!(scene.interrupted(&first).await.status, RunStatus::Queued);
    assert_eq!(applying(&scene).await, None);
    assert_eq!(scene.queue_depth().await.ready, 2);
}

pub async fn a_newer_input_of_a_run_that_waits_comes_before_runs_that_were_due_at_the_same_time<
    F: Fixture,
>() {
    let scene = Scene::<F>::configured(&[grouped("a"), grouped("b")]).await;
    // Due at once, as the first runs under a leader are.
    for name in ["a", "b"] {
        scene.queue(name, "1").await;
    }
    let first = scene.lease().await;
    assert_eq!(first.task, task("a"));
    scene.record_remote(&first, &remote_run(1)).await;
    scene.suspend(&first, "a person").await;
    scene.queue("a", "2").await;
    let ended = RemoteRun {
        ended: true,
        ..remote_run(1)
    };
    scene.record_remote(&first, &ended).await;
    assert_eq!(scene.interrupted(&first).await.status, RunStatus::Cancelled);
    assert_eq!(scene.lease().await.task, task("a"));
}

pub async fn a_plan_keeps_no_group<F: Fixture>() {
    let scene = Scene::<F>::configured(&[grouped("a"), grouped("b")]).await;
    scene.queue_plan("a", "1").await;
    let plan = scene.lease().await;
    scene.record_remote(&plan, &remote_run(1)).await;
    scene.leased("b", "1").await;
}
