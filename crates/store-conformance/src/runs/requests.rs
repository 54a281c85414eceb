//! Requested runs, and the callers that wait for them.

use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};

use crate::Fixture;
use crate::scene::{Scene, disabled, seconds, task};
use cts_store::{RunRequest, TaskChange};

pub async fn a_request_is_carried_out_once<F: Fixture>() {
    for kind in RunKind::ENQUEUED {
        let mut scene = Scene::<F>::new(&["a"]).await;
        let run = scene.ask("a", kind).await;
        let request = scene.request_of(run, "1").await;
        scene.enqueue_requested(run, "1").await;
        assert_eq!(scene.find_request(run).await, None);
        // The leader died before it saw the request, and a second leader takes over.
        scene.restart().await;
        scene.lead().await;
        let repeated = async |queued| {
            let again = scene.request_all(vec![request.clone()]).await.remove(0);
            assert_eq!(again.decision, Some(EnqueueDecision::Keep));
            assert_eq!(again.queued, queued, "{kind:?}");
            assert_eq!(scene.queue_depth().await.queued, queued.iter().len() as u64);
        };
        repeated(Some(run)).await;
        let lease = scene.lease().await;
        repeated(None).await;
        scene.succeeded(&lease).await;
        repeated(None).await;
        scene.enable("a", false).await;
        repeated(None).await;
        assert_eq!(scene.run(run).await.status, RunStatus::Succeeded);
    }
}

pub async fn requests_come_oldest_first<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let mut expected = Vec::new();
    for (name, kind) in [
        ("b", RunKind::Plan),
        ("a", RunKind::Check),
        ("b", RunKind::Apply),
    ] {
        let run = scene.ask(name, kind).await;
        let requested_at = scene.find_request(run).await.map(|it| it.requested_at);
        expected.push(RunRequest {
            run,
            task: task(name),
            kind,
            requested_at: requested_at.expect("the request is there"),
            refused: None,
            requested_by: None,
        });
        scene.advance(seconds(1));
    }
    let requests = scene
        .store()
        .requests()
        .await
        .expect("requests can be read");
    assert_eq!(requests, expected);
    let waits: Vec<_> = requests
        .windows(2)
        .map(|pair| pair[1].requested_at - pair[0].requested_at)
        .collect();
    assert!(waits.iter().all(|wait| wait.num_seconds() == 1));
    scene.refuse(expected[1].run, "no").await;
    let left = [expected[0].run, expected[2].run];
    assert_eq!(scene.open_requests().await, left);
}

pub async fn a_task_is_enabled_and_run_by_one_change<F: Fixture>() {
    let scene = Scene::<F>::configured(&[disabled("a")]).await;
    let run = scene.run_id();
    let change = TaskChange {
        enabled: Some(true),
        request: Some((run, RunKind::Apply)),
        idle_only: true,
        ..TaskChange::default()
    };
    let changed = scene.change("a", change.clone()).await;
    let changed = changed.expect("the task is idle");
    assert!(changed.spec.enabled);
    assert_eq!(changed.revision, 2);
    // The answer was lost, and the caller asks again.
    let again = scene.change("a", change.clone()).await;
    assert_eq!(again.expect("it was made before"), changed);
    assert_eq!(scene.open_requests().await, [run]);
    let lease = scene.lease_requested(run, "1").await;
    let again = scene.change("a", change).await;
    assert_eq!(again.expect("it was made before"), changed);
    assert_eq!(scene.open_requests().await, []);
    scene.applied(&lease).await;
    assert_eq!(scene.state("a").await.events.len(), 1);
}
