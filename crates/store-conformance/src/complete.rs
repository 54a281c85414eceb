//! The end of an attempt.

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, ERROR_BYTES, EnqueueDecision, RunKind, RunStatus};

use super::Fixture;
use super::scene::{LEASE, Scene, input, seconds, spec, task};
use cts_store::Completed;

pub async fn success_is_one_event_and_the_last_applied_input<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.advance(seconds(7));
    let completion = scene.completion(&lease, AttemptOutcome::Applied);
    let (event_id, unused) = (completion.event, completion.retry_run);
    let completed = scene.complete(completion).await;
    let event = completed.event.clone().expect("success is an event");
    let expected = Completed {
        task: task("a"),
        kind: RunKind::Apply,
        status: RunStatus::Succeeded,
        event: Some(event.clone()),
        next_due: None,
        tasks_changed: false,
    };
    assert_eq!(completed, expected);
    assert_eq!((event.id, event.run_id), (event_id, lease.run));
    assert!(event.success);
    let record = scene.run(lease.run).await;
    assert_eq!((record.status, record.attempts), (RunStatus::Succeeded, 1));
    assert_eq!(record.finished_at, Some(record.created_at + seconds(7)));
    assert_eq!(scene.find_run(unused).await, None);
    assert_eq!(scene.state("a").await.events, [event]);
    let again = scene.enqueue("a", "1").await.decision;
    assert!(
        matches!(again, Some(EnqueueDecision::Skip { .. })),
        "{again:?}"
    );
}

pub async fn nothing_is_last_applied_from_the_lease_on<F: Fixture>() {
    let scene = Scene::<F>::new(&["failed", "interrupted", "reaped"]).await;
    for name in ["failed", "interrupted", "reaped"] {
        scene.apply(name, "1").await;
        let lease = scene.leased(name, "2").await;
        match name {
            "failed" => drop(scene.failed(&lease, "no").await),
            "interrupted" => drop(scene.interrupted(&lease).await),
            _ => {
                scene.advance(LEASE);
                scene.reap().await;
            }
        }
        // "1" was applied once, but the attempt at "2" may have changed anything.
        let back = scene.enqueue(name, "1").await;
        assert_eq!(back.decision, Some(EnqueueDecision::Replace), "{name}");
        let lease = scene.lease().await;
        assert_eq!(lease.input, input("1").hash);
        scene.applied(&lease).await;
    }
}

pub async fn a_failed_attempt_is_tried_again_after_one_and_two_seconds<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut lease = scene.leased("a", "1").await;
    for (attempt, wait) in [(1, 1), (2, 2)] {
        assert_eq!(lease.attempt, attempt);
        let completed = scene.failed(&lease, "no").await;
        let expected = Completed {
            task: task("a"),
            kind: RunKind::Apply,
            status: RunStatus::Queued,
            event: None,
            next_due: Some(seconds(wait)),
            tasks_changed: false,
        };
        assert_eq!(completed, expected);
        let record = scene.run(lease.run).await;
        assert_eq!(
            (record.status, record.attempts),
            (RunStatus::Queued, attempt)
        );
        assert_eq!(record.finished_at, None);
        assert_eq!(scene.state("a").await.events, []);
        scene.advance(seconds(wait));
        let next = scene.lease().await;
        assert_eq!((next.run, next.input), (lease.run, lease.input));
        lease = next;
    }
    assert_eq!(lease.attempt, 3);
    assert_eq!(scene.applied(&lease).await.status, RunStatus::Succeeded);
    let record = scene.run(lease.run).await;
    assert_eq!(record.started_at, Some(record.created_at));
    let state = scene.state("a").await;
    assert_eq!((state.events.len(), &state.events[0].error), (1, &None));
    assert_eq!(state.events[0].start_time, record.created_at);
    assert_eq!(state.events[0].end_time, record.created_at + seconds(3));
}

pub async fn jitter_prolongs_the_waits<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut lease = scene.leased("a", "1").await;
    for expected in [1250, 2500, 75_000] {
        let outcome = AttemptOutcome::Failed("no".to_owned());
        let mut completion = scene.completion(&lease, outcome);
        completion.jitter = 0.5;
        let completed = scene.complete(completion).await;
        let wait = Duration::from_millis(expected);
        assert_eq!(completed.next_due, Some(wait));
        assert_eq!(scene.next_due().await, Some(wait));
        scene.advance(wait);
        lease = scene.lease().await;
    }
}

pub async fn the_event_of_a_failed_run_tells_every_error_newest_first<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let run = lease.run;
    let completed = scene.fail_thrice(lease).await;
    assert_eq!(completed.status, RunStatus::Failed);
    let event = completed.event.expect("a failed run is an event");
    assert_eq!((event.run_id, event.success), (run, false));
    assert_eq!(
        event.error.as_deref(),
        Some("error 3\n\nerror 2\n\nerror 1")
    );
    assert_eq!(event.end_time, event.start_time + seconds(3));
    assert_eq!(scene.state("a").await.events, [event]);
    let record = scene.run(run).await;
    assert_eq!((record.status, record.attempts), (RunStatus::Failed, 3));
    assert_eq!(record.finished_at, Some(record.created_at + seconds(3)));
}

pub async fn a_failed_run_is_tried_afresh_later_and_later<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut lease = scene.leased("a", "1").await;
    for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
        let failed = lease.run;
        for _ in 0..2 {
            let wait = scene.failed(&lease, "no").await.next_due;
            scene.advance(wait.expect("there is another attempt"));
            lease = scene.lease().await;
        }
        let completion = scene.completion(&lease, AttemptOutcome::Failed("no".to_owned()));
        let retry = completion.retry_run;
        let completed = scene.complete(completion).await;
        let wait = seconds(60 * minutes);
        assert_eq!(completed.status, RunStatus::Failed);
        assert_eq!(completed.next_due, Some(wait));
        let record = scene.run(retry).await;
        assert_eq!((record.status, record.attempts), (RunStatus::Queued, 0));
        assert_eq!(record.input, input("1").hash);
        assert_eq!(record.due_at, record.created_at + wait);
        assert_eq!(record.started_at, None);
        assert_eq!(
            scene.enqueue("a", "1").await.decision,
            Some(EnqueueDecision::Keep)
        );
        scene.advance(wait);
        lease = scene.lease().await;
        assert_eq!((lease.run, lease.attempt), (retry, 1));
        assert_ne!(lease.run, failed);
    }
    assert_eq!(scene.state("a").await.events.len(), 5);
}

pub async fn success_ends_the_row_of_failures<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let wait = scene.fail_thrice(lease).await.next_due;
    assert_eq!(wait, Some(seconds(60)));
    scene.advance(seconds(60));
    let wait = scene.fail_thrice(scene.lease().await).await.next_due;
    assert_eq!(wait, Some(seconds(120)));
    scene.advance(seconds(120));
    scene.applied(&scene.lease().await).await;
    let lease = scene.leased("a", "2").await;
    let wait = scene.fail_thrice(lease).await.next_due;
    assert_eq!(wait, Some(seconds(60)));
}

pub async fn a_newer_input_begins_the_row_of_failures_anew<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let wait = scene.fail_thrice(lease).await.next_due;
    assert_eq!(wait, Some(seconds(60)));
    // The newer input takes the place of the retry.
    scene.enqueue("a", "2").await;
    let wait = scene.fail_thrice(scene.lease().await).await.next_due;
    assert_eq!(wait, Some(seconds(60)));
    scene.advance(seconds(60));
    let lease = scene.lease().await;
    // A newer input that comes during the last run: the failure of that run does not count for the newer
    // input.
    scene.enqueue("a", "3").await;
    let completed = scene.failed(&lease, "no").await;
    assert_eq!(completed.status, RunStatus::Failed);
    let wait = scene.fail_thrice(scene.lease().await).await.next_due;
    assert_eq!(wait, Some(seconds(60)));
}

pub async fn without_retry_failed_nothing_follows_a_failed_run<F: Fixture>() {
    let mut once = spec("a");
    once.file_settings.retry_failed = false;
    let scene = Scene::<F>::configured(&[once]).await;
    let lease = scene.leased("a", "1").await;
    let completed = scene.fail_thrice(lease).await;
    assert_eq!(
        (completed.status, completed.next_due),
        (RunStatus::Failed, None)
    );
    assert_eq!(scene.next_due().await, None);
    scene.advance(seconds(7200));
    assert_eq!(scene.acquire().await, None);
    scene.queue("a", "1").await;
}

pub async fn a_failure_is_final_when_a_newer_input_waits<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let newer = scene.queue("a", "2").await;
    let completion = scene.completion(&lease, AttemptOutcome::Failed("no".to_owned()));
    let unused = completion.retry_run;
    let completed = scene.complete(completion).await;
    assert_eq!(completed.status, RunStatus::Failed);
    assert_eq!(completed.next_due, Some(Duration::ZERO));
    let event = completed.event.expect("a failed run is an event");
    assert_eq!(event.error.as_deref(), Some("no"));
    assert_eq!(scene.find_run(unused).await, None);
    assert_eq!(scene.lease().await.run, newer);
}

pub async fn a_success_leaves_the_newer_input_queued<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let newer = scene.queue("a", "2").await;
    let completed = scene.applied(&lease).await;
    assert_eq!(completed.status, RunStatus::Succeeded);
    assert_eq!(completed.next_due, Some(Duration::ZERO));
    assert_eq!(scene.run(newer).await.status, RunStatus::Queued);
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.attempt), (newer, 1));
}

pub async fn an_interrupted_attempt_does_not_count<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.failed(&lease, "first").await;
    scene.advance(seconds(1));
    for _ in 0..4 {
        let lease = scene.lease().await;
        assert_eq!(lease.attempt, 2);
        let expected = Completed {
            task: task("a"),
            kind: RunKind::Apply,
            status: RunStatus::Queued,
            event: None,
            next_due: Some(Duration::ZERO),
            tasks_changed: false,
        };
        assert_eq!(scene.interrupted(&lease).await, expected);
        assert_eq!(scene.run(lease.run).await.attempts, 1);
    }
    let lease = scene.lease().await;
    let completed = scene.fail_thrice(lease).await;
    let event = completed.event.expect("a failed run is an event");
    assert_eq!(event.error.as_deref(), Some("error 3\n\nerror 2\n\nfirst"));
}

pub async fn an_interrupted_run_is_cancelled_when_a_newer_input_waits<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let newer = scene.queue("a", "2").await;
    scene.advance(seconds(2));
    let expected = Completed {
        task: task("a"),
        kind: RunKind::Apply,
        status: RunStatus::Cancelled,
        event: None,
        next_due: Some(Duration::ZERO),
        tasks_changed: false,
    };
    assert_eq!(scene.interrupted(&lease).await, expected);
    let record = scene.run(lease.run).await;
    assert_eq!(record.status, RunStatus::Cancelled);
    assert_eq!(record.finished_at, Some(record.created_at + seconds(2)));
    assert_eq!(scene.state("a").await.events, []);
    assert_eq!(scene.lease().await.run, newer);
}

pub async fn an_attempt_of_a_disabled_task_can_be_completed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let mut off = spec("a");
    off.enabled = false;
    scene.configure(&[off]).await;
    let renewed = scene
        .store()
        .renew(lease.run, &lease.holder, lease.epoch, LEASE)
        .await;
    renewed.expect("a live lease can be renewed");
    assert_eq!(scene.applied(&lease).await.status, RunStatus::Succeeded);
    assert_eq!(scene.state("a").await.events.len(), 1);
}

/// Without NUL, which not every database can keep in a text.
pub async fn error_texts_come_back_unchanged<F: Fixture>() {
    let hostile = [
        "",
        "\"quoted\" 'text' `too`; DROP TABLE runs; --",
        "line\nbreak\r\n\ttab \\ \u{1}\u{7f}\u{1b}[31mred\u{1b}[0m",
        "ünïcödé ☃ 🦀 \u{feff}\u{202e}\u{fffd}",
        "{\"json\": [null, \"\\u0000\"]} ${x} %s ?1 :a @b $c",
        &"long ".repeat(ERROR_BYTES / "long ".len()),
    ];
    let scene = Scene::<F>::new(&["a"]).await;
    for (text, error) in hostile.into_iter().enumerate() {
        let lease = scene.leased("a", &text.to_string()).await;
        scene.queue("a", "newer").await;
        let completed = scene.failed(&lease, error).await;
        let event = completed.event.expect("a failed run is an event");
        assert_eq!(event.error.as_deref(), Some(error));
        assert_eq!(scene.state("a").await.events[0], event);
        scene.applied(&scene.lease().await).await;
    }
}
