//! Behaviours after a restart: which data still exists.

use cts_core::runs::{EnqueueDecision, RunStatus};

use super::Fixture;
use super::scene::{Scene, bytes_of, input, line, stored_input};

pub async fn stored_data_is_there_after_a_restart<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["b", "a"]).await;
    let last_applied = scene.apply("a", "1").await;
    let failed = scene.leased("b", "1").await;
    scene.fail_thrice(failed.clone()).await;
    scene.enqueue("b", "2").await;
    let running = scene.lease().await;
    let logged = scene
        .store()
        .append_log(running.run, &running.holder, running.epoch, vec![line("x")])
        .await;
    logged.expect("a live lease can log");
    let queued = scene.queue("b", "3").await;
    let runs = [last_applied, failed.run, running.run, queued];

    let mut before = Vec::new();
    let mut after = Vec::new();
    for seen in [&mut before, &mut after] {
        let store = scene.store();
        seen.push(format!(
            "{:#?}",
            store.tasks().await.expect("tasks can be read")
        ));
        let states = store.task_states(None).await.expect("states can be read");
        seen.push(format!("{states:#?}"));
        for run in runs {
            seen.push(format!("{:#?}", scene.run(run).await));
            let log = store.read_log(run, 0, 10).await.expect("logs can be read");
            seen.push(format!("{log:#?}"));
        }
        let stored = stored_input(&*store, input("3").hash).await;
        assert_eq!(stored, Some(bytes_of(&input("3"))));
        drop(store);
        scene.restart().await;
    }
    assert_eq!(before, after);
    let again = scene.enqueue("a", "1").await.decision;
    assert!(
        matches!(again, Some(EnqueueDecision::Skip { .. })),
        "{again:?}"
    );
}

pub async fn a_crash_between_lease_and_completion_leaves_nothing_last_applied<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let lost = scene.leased("a", "2").await;
    scene.restart().await;
    let released = scene.release_all().await;
    assert_eq!(
        (released[0].run, released[0].status),
        (lost.run, RunStatus::Queued)
    );
    // Both were begun and neither is certainly in force, so neither is skipped.
    let kept = scene.enqueue("a", "2").await;
    assert_eq!(kept.decision, Some(EnqueueDecision::Keep));
    let back = scene.enqueue("a", "1").await;
    assert_eq!(back.decision, Some(EnqueueDecision::Replace));
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.input), (lost.run, input("1").hash));
    assert_eq!(lease.epoch.get(), lost.epoch.get() + 1);
}
