//! The end of an attempt.

use cts_core::runs::{AttemptOutcome, ERROR_BYTES, EnqueueDecision, RunKind, RunStatus};

use crate::Fixture;
use crate::scene::{Scene, input, seconds, task};
use cts_store::{Completed, Completion};

pub async fn success_is_one_event_and_the_last_applied_input<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.advance(seconds(7));
    let completion = scene.completion(&lease, AttemptOutcome::Applied);
    let (event_id, unused) = (completion.event, completion.retry_run);
    let completed = scene.complete(completion).await;
    let event = completed.event.clone().expect("success is an event");
    let expected = Completed {
        attempt: 1,
        given_back: false,
        task: task("a"),
        kind: RunKind::Apply,
        status: RunStatus::Succeeded,
        event: Some(event.clone()),
        failure: None,
        next_due: None,
        tasks_changed: false,
    };
    assert_eq!(completed, expected);
    assert_eq!((event.id, event.run_id), (event_id, Some(lease.run)));
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

pub async fn the_event_of_a_failed_run_tells_every_error_newest_first<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let run = lease.run;
    let completed = scene.fail_thrice(lease).await;
    assert_eq!(completed.status, RunStatus::Failed);
    let event = completed.event.expect("a failed run is an event");
    assert_eq!((event.run_id, event.success), (Some(run), false));
    assert_eq!(
        event.error.as_deref(),
        Some(concat!(
            "retry attempt #2 failed 'error 3': retry attempt #1 failed 'error 2': ",
            "the attempt before failed 'error 1'"
        ))
    );
    assert_eq!(event.end_time, event.start_time + seconds(3));
    assert_eq!(scene.state("a").await.events, [event]);
    let record = scene.run(run).await;
    assert_eq!((record.status, record.attempts), (RunStatus::Failed, 3));
    assert_eq!(record.finished_at, Some(record.created_at + seconds(3)));
}

pub async fn a_final_failure_has_no_further_attempt<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let failed = scene.completion(&lease, AttemptOutcome::Failed("no".to_owned()));
    let retry = failed.retry_run;
    let completed = scene
        .complete(Completion {
            is_final: true,
            ..failed
        })
        .await;
    assert_eq!(completed.status, RunStatus::Failed);
    assert!(completed.event.is_some(), "{completed:?}");
    assert_eq!(completed.next_due, Some(seconds(60)));
    let record = scene.run(lease.run).await;
    assert_eq!((record.status, record.attempts), (RunStatus::Failed, 1));
    assert_eq!(scene.run(retry).await.status, RunStatus::Queued);
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
