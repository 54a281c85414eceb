//! Requested runs, and the callers that wait for them.

use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};

use super::Fixture;
use super::scene::{Scene, incomplete, seconds, spec, task};
use cts_store::{EnqueueRequest, RunRequest, TaskChange, Unchanged};

pub async fn a_request_is_carried_out_once<F: Fixture>() {
    for kind in RunKind::ENQUEUED {
        let mut scene = Scene::<F>::new(&["a"]).await;
        let run = scene.ask("a", kind).await;
        let request = scene.request_of(run, "1").await;
        scene.carry_out(run, "1").await;
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

pub async fn a_requested_apply_takes_the_place_of_a_queued_one<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let queued = scene.queue("a", "1").await;
    let run = scene.ask("a", RunKind::Apply).await;
    // Also with the very input that is queued.
    let enqueued = scene.carry_out(run, "1").await;
    assert_eq!(enqueued.decision, Some(EnqueueDecision::Supersede));
    assert_eq!(enqueued.cancelled, Some(queued));
    assert_eq!(scene.run(queued).await.status, RunStatus::Cancelled);
    let second = scene.ask("a", RunKind::Apply).await;
    let enqueued = scene.carry_out(second, "1").await;
    assert_eq!(enqueued.cancelled, Some(run));
    let lease = scene.lease().await;
    assert_eq!(lease.run, second);
    scene.applied(&lease).await;
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_requested_run_is_made_whatever_is_applied<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    for kind in RunKind::ENQUEUED {
        let run = scene.ask("a", kind).await;
        let request = EnqueueRequest {
            unchanged: Unchanged::Skip,
            guarded: None,
            ..scene.request_of(run, "1").await
        };
        let enqueued = scene.request_all(vec![request]).await.remove(0);
        assert_eq!(enqueued.decision, Some(EnqueueDecision::Enqueue));
        let lease = scene.lease().await;
        assert_eq!(lease.run, run);
        scene.succeeded(&lease).await;
    }
    assert_eq!(scene.state("a").await.events.len(), 2);
}

pub async fn a_requested_run_has_one_attempt<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.ask("a", RunKind::Apply).await;
    scene.carry_out(run, "1").await;
    assert!(scene.run(run).await.no_retry);
    let failed = scene.failed(&scene.lease().await, "no").await;
    assert_eq!(failed.status, RunStatus::Failed);
    assert_eq!(scene.state("a").await.events.len(), 1);
}

/// The caller gets the run with the newest input.
pub async fn a_change_behind_a_requested_run_keeps_its_id<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.ask("a", RunKind::Apply).await;
    scene.carry_out(run, "1").await;
    let enqueued = scene.enqueue("a", "2").await;
    assert_eq!(enqueued.decision, Some(EnqueueDecision::Replace));
    assert_eq!(enqueued.queued, Some(run));
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.input), (run, super::input("2").hash));
}

pub async fn a_refused_request_gets_no_run<F: Fixture>() {
    for kind in RunKind::ENQUEUED {
        let scene = Scene::<F>::new(&["a"]).await;
        let run = scene.ask("a", kind).await;
        let request = scene.request_of(run, "1").await;
        scene.refuse(run, "its input is not complete").await;
        scene.refuse(run, "another reason").await;
        let refused = scene.find_request(run).await.and_then(|it| it.refused);
        assert_eq!(refused, Some(incomplete("its input is not complete")));
        let enqueued = scene.request_all(vec![request]).await.remove(0);
        assert_eq!((enqueued.decision, enqueued.queued), (None, None));
        assert_eq!(scene.find_run(run).await, None);
        assert_eq!(scene.names().await, ["a"], "the task itself stays");
        scene.queue("a", "1").await;
    }
}

pub async fn what_is_no_open_request_is_not_refused<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.refuse(scene.run_id(), "no").await;
    let run = scene.ask("a", RunKind::Plan).await;
    scene.carry_out(run, "1").await;
    scene.refuse(run, "too late").await;
    assert_eq!(scene.find_request(run).await, None);
    assert_eq!(scene.lease().await.run, run);
}

pub async fn a_requested_run_of_a_disabled_task_is_made<F: Fixture>() {
    for kind in RunKind::ENQUEUED {
        let mut off = spec("a");
        off.enabled = false;
        let scene = Scene::<F>::configured(&[off]).await;
        let run = scene.ask("a", kind).await;
        scene.carry_out(run, "1").await;
        let unchanged = scene.change("a", TaskChange::default()).await;
        unchanged.expect("the task can be changed");
        assert_eq!(scene.next_due().await, Some(seconds(0)));
        assert_eq!(scene.queue_depth().await.ready, 1);
        let lease = scene.lease().await;
        assert_eq!(lease.run, run);
        scene.succeeded(&lease).await;
        assert_eq!(scene.enqueue("a", "2").await.decision, None);
    }
}

pub async fn a_task_is_enabled_and_run_by_one_change<F: Fixture>() {
    let mut off = spec("a");
    off.enabled = false;
    let scene = Scene::<F>::configured(&[off]).await;
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
    let lease = scene.carried_out(run, "1").await;
    let again = scene.change("a", change).await;
    assert_eq!(again.expect("it was made before"), changed);
    assert_eq!(scene.open_requests().await, []);
    scene.applied(&lease).await;
    assert_eq!(scene.state("a").await.events.len(), 1);
}

/// The caller is dead.
pub async fn releasing_everything_forgets_requests_and_drafts<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    scene.leased("c", "1").await;
    scene.delete("c").await;
    scene.ask("a", RunKind::Plan).await;
    let refused = scene.ask("a", RunKind::Plan).await;
    scene.refuse(refused, "no").await;
    let queued = scene.ask("b", RunKind::Apply).await;
    scene.carry_out(queued, "1").await;
    scene.draft("waits", RunKind::Check).await;
    let draft = scene.draft("runs", RunKind::Apply).await;
    scene.carry_out(draft, "1").await;
    while scene.acquire().await.is_some() {}
    let released = scene.release_all().await;
    let mut ended: Vec<_> = released.iter().map(|lost| lost.run).collect();
    ended.sort();
    assert_eq!(ended.len(), 3);
    assert!(ended.contains(&queued) && ended.contains(&draft));
    for lost in &released {
        let expected = if lost.run == queued {
            RunStatus::Queued
        } else {
            RunStatus::Cancelled
        };
        assert_eq!(lost.status, expected, "{lost:?}");
    }
    assert_eq!(scene.open_requests().await, []);
    assert_eq!(scene.find_request(refused).await, None);
    assert_eq!(scene.run(draft).await.status, RunStatus::Cancelled);
    let left: Vec<_> = scene.phases().await.into_iter().map(|it| it.0).collect();
    assert_eq!(left, ["a", "b"]);
    assert_eq!(scene.lease().await.run, queued, "it may stand for a change");
    assert_eq!(scene.acquire().await, None);
}
