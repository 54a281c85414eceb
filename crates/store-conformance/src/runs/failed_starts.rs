//! Runs that fail before they are leased.

use cts_core::runs::EnqueueDecision::{Enqueue, Keep};
use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Digest, TaskStatus};

use crate::Fixture;
use crate::scene::{Scene, task};
use cts_store::{EnqueueRequest, FailedStart};

const ERROR: &str = "module directory /m does not exist";

impl<F: Fixture> Scene<F> {
    fn failing(&self, request: EnqueueRequest) -> EnqueueRequest {
        EnqueueRequest {
            fails: Some(FailedStart {
                event: self.event_id(),
                error: ERROR.to_owned(),
            }),
            ..request
        }
    }
}

pub async fn a_run_that_no_worker_can_begin_fails_with_an_event_and_is_never_leased<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let request = scene.failing(scene.request("a", "2"));
    let run = request.run;
    let version = scene.version().await;
    let enqueued = scene.request_all(vec![request.clone()]).await;
    assert_eq!(enqueued[0].decision, Some(Enqueue));
    assert_ne!(version, scene.version().await);
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, None);

    let again = scene.request_all(vec![request]).await;
    assert_eq!((again[0].decision, again[0].queued), (Some(Keep), None));
    scene.restart().await;
    let record = scene.run(run).await;
    assert_eq!(record.status, RunStatus::Failed);
    assert_eq!(
        (record.attempts, record.error().as_deref()),
        (0, Some(ERROR))
    );
    assert!(record.finished_at.is_some());
    let state = scene.state("a").await;
    assert_eq!(state.status, TaskStatus::Errored);
    let events = state.events.iter();
    let events: Vec<_> = events
        .map(|event| (event.run_id == Some(run), event.success))
        .collect();
    assert_eq!(events, [(true, false), (false, true)]);
    assert_eq!(state.events[0].error.as_deref(), Some(ERROR));

    // The status has to become good again once the module is, so nothing counts as applied.
    let mended = scene.enqueue("a", "1").await;
    assert_eq!(mended.decision, Some(Enqueue));
    assert_eq!(
        scene.lease().await.input,
        scene.request("a", "1").input.hash
    );
}

pub async fn a_requested_run_that_no_worker_can_begin_leaves_no_request_and_no_draft<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let draft = scene.draft("draft", RunKind::Apply).await;
    let requested = scene.ask("a", RunKind::Apply).await;
    let plan = scene.ask("a", RunKind::Plan).await;
    for run in [draft, requested, plan] {
        let request = scene.failing(scene.request_of(run, "1").await);
        scene.request_all(vec![request]).await;
        assert_eq!(scene.run(run).await.status, RunStatus::Failed);
    }
    assert_eq!(scene.open_requests().await, []);
    assert_eq!(scene.acquire().await, None);
    let events = scene.state("a").await.events;
    let runs: Vec<_> = events.iter().map(|event| event.run_id).collect();
    assert_eq!(runs, [Some(requested)], "a plan has no event");
    // Only a discarded draft is dropped.
    scene.drop_draft("draft", draft).await;
    scene.draft("draft", RunKind::Apply).await;
}

pub async fn a_check_that_no_worker_can_begin_has_failed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.enable("a", false).await;
    let check = EnqueueRequest {
        kind: RunKind::Check,
        check_key: Some(Digest::of(b"key")),
        ..scene.request("a", "1")
    };
    let run = check.run;
    scene.request_all(vec![scene.failing(check)]).await;
    assert_eq!(scene.run(run).await.status, RunStatus::Failed);
    let checks = scene.store().checks(&[task("a")]).await;
    let checks = checks.expect("checks can be read");
    assert_eq!(checks[0].1.error(), Some(ERROR));
    assert_eq!(scene.state("a").await.events, []);
}
