//! Frozen inputs become queued runs.

use std::time::Duration;

use cts_core::runs::EnqueueDecision::{Enqueue, Keep, Replace, Skip};
use cts_core::runs::RunStatus;

use super::Fixture;
use super::scene::{Scene, bytes_of, input, input_of, noise, seconds, spec, stored_input, task};
use cts_store::{EnqueueRequest, Enqueued, Unchanged};

const SKIP: Option<cts_core::runs::EnqueueDecision> = Some(Skip {
    cancel_queued: false,
});

pub async fn a_new_input_is_queued_and_due_at_once<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let request = scene.request("a", "1");
    let run = request.run;
    let enqueued = scene.request_all(vec![request]).await;
    let expected = Enqueued {
        task: task("a"),
        decision: Some(Enqueue),
        queued: Some(run),
        cancelled: None,
        losses: Vec::new(),
    };
    assert_eq!(enqueued, [expected]);
    let record = scene.run(run).await;
    assert_eq!((record.id, &record.task), (run, &task("a")));
    assert_eq!(record.status, RunStatus::Queued);
    assert_eq!((record.input, record.attempts), (input("1").hash, 0));
    assert_eq!(record.due_at, record.created_at);
    assert_eq!((record.started_at, record.finished_at), (None, None));
    assert_eq!(scene.next_due().await, Some(Duration::ZERO));
}

pub async fn a_newer_input_replaces_the_queued_one<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue("a", "1").await;
    let request = scene.request("a", "2");
    let unused = request.run;
    let replaced = scene.request_all(vec![request]).await.remove(0);
    assert_eq!(replaced.decision, Some(Replace));
    assert_eq!((replaced.queued, replaced.cancelled), (Some(run), None));
    assert_eq!(scene.run(run).await.input, input("2").hash);
    assert_eq!(scene.find_run(unused).await, None);
    assert_eq!(scene.lease().await.input, input("2").hash);
}

pub async fn an_equal_queued_input_is_kept<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue("a", "1").await;
    let before = scene.run(run).await;
    scene.advance(seconds(5));
    let kept = scene.enqueue("a", "1").await;
    assert_eq!(kept.decision, Some(Keep));
    assert_eq!((kept.queued, kept.cancelled), (Some(run), None));
    assert_eq!(scene.run(run).await, before);
}

pub async fn an_applied_input_is_skipped<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let skipped = scene.enqueue("a", "1").await;
    assert_eq!(skipped.decision, SKIP);
    assert_eq!((skipped.queued, skipped.cancelled), (None, None));
    assert_eq!(scene.acquire().await, None);
    scene.queue("a", "2").await;
}

pub async fn an_input_being_applied_is_skipped<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.leased("a", "1").await;
    let skipped = scene.enqueue("a", "1").await;
    assert_eq!(skipped.decision, SKIP);
    assert_eq!((skipped.queued, skipped.cancelled), (None, None));
}

pub async fn going_back_to_the_applied_input_cancels_the_queued_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["applied", "running"]).await;
    scene.apply("applied", "1").await;
    scene.leased("running", "1").await;
    for name in ["applied", "running"] {
        let queued = scene.queue(name, "2").await;
        scene.advance(seconds(1));
        let skipped = scene.enqueue(name, "1").await;
        assert_eq!(
            skipped.decision,
            Some(Skip {
                cancel_queued: true
            })
        );
        assert_eq!((skipped.queued, skipped.cancelled), (None, Some(queued)));
        let record = scene.run(queued).await;
        assert_eq!(record.status, RunStatus::Cancelled);
        assert_eq!(record.finished_at, Some(record.created_at + seconds(1)));
        assert_eq!(record.started_at, None);
    }
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, None);
    assert_eq!(scene.state("applied").await.events.len(), 1);
}

pub async fn without_skip_unchanged_an_equal_input_runs_again<F: Fixture>() {
    let mut eager = spec("a");
    eager.file_settings.skip_unchanged = false;
    let scene = Scene::<F>::configured(&[eager]).await;
    scene.apply("a", "1").await;
    let lease = scene.leased("a", "1").await;
    let queued = scene.queue("a", "1").await;
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(Keep));
    scene.applied(&lease).await;
    assert_eq!(scene.lease().await.run, queued);
}

async fn enqueue_as<F: Fixture>(scene: &Scene<F>, text: &str, unchanged: Unchanged) -> Enqueued {
    let request = EnqueueRequest {
        unchanged,
        ..scene.request("a", text)
    };
    scene.request_all(vec![request]).await.remove(0)
}

/// A new leader evaluates all tasks.
pub async fn a_request_to_skip_overrules_a_task_that_does_not<F: Fixture>() {
    let mut eager = spec("a");
    eager.file_settings.skip_unchanged = false;
    let scene = Scene::<F>::configured(&[eager]).await;
    let first = enqueue_as(&scene, "1", Unchanged::Skip).await;
    assert_eq!(first.decision, Some(Enqueue));
    let lease = scene.lease().await;
    let skipped = enqueue_as(&scene, "1", Unchanged::Skip).await;
    assert_eq!(skipped.decision, SKIP);
    scene.applied(&lease).await;
    let skipped = enqueue_as(&scene, "1", Unchanged::Skip).await;
    assert_eq!((skipped.decision, skipped.queued), (SKIP, None));
    let newer = enqueue_as(&scene, "2", Unchanged::Skip).await;
    assert_eq!(newer.decision, Some(Enqueue));
    let back = enqueue_as(&scene, "1", Unchanged::Skip).await;
    assert_eq!((back.queued, back.cancelled), (None, newer.queued));
    let asked = enqueue_as(&scene, "1", Unchanged::AsTaskSays).await;
    assert_eq!(asked.decision, Some(Enqueue));
}

/// A pass over all tasks was requested.
pub async fn a_request_to_run_overrules_a_task_that_skips<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let queued = enqueue_as(&scene, "1", Unchanged::Run).await;
    assert_eq!(queued.decision, Some(Enqueue));
    let kept = enqueue_as(&scene, "1", Unchanged::Run).await;
    assert_eq!((kept.decision, kept.queued), (Some(Keep), queued.queued));
    let replaced = enqueue_as(&scene, "2", Unchanged::Run).await;
    assert_eq!(replaced.decision, Some(Replace));
    let lease = scene.lease().await;
    assert_eq!(
        (Some(lease.run), lease.input),
        (queued.queued, input("2").hash)
    );
    let behind = enqueue_as(&scene, "2", Unchanged::Run).await;
    assert_eq!(behind.decision, Some(Enqueue));
    scene.applied(&lease).await;
    assert_eq!(Some(scene.lease().await.run), behind.queued);
}

/// Also in a disabled task, and also when the request is repeated.
pub async fn no_request_to_run_overrules_anything_else<F: Fixture>() {
    let mut off = spec("a");
    off.enabled = false;
    let scene = Scene::<F>::configured(&[off]).await;
    let answer = enqueue_as(&scene, "1", Unchanged::Run).await;
    assert_eq!((answer.decision, answer.queued), (None, None));
    scene.configure(&[spec("a")]).await;
    let request = EnqueueRequest {
        unchanged: Unchanged::Run,
        guarded: None,
        ..scene.request("a", "1")
    };
    scene.request_all(vec![request.clone()]).await;
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    let again = scene.request_all(vec![request]).await.remove(0);
    assert_eq!((again.decision, again.queued), (Some(Keep), None));
}

pub async fn a_newer_input_waits_behind_the_running_one<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let running = scene.leased("a", "1").await;
    let queued = scene.queue("a", "2").await;
    assert_ne!(queued, running.run);
    assert_eq!(scene.run(running.run).await.status, RunStatus::Running);
    let replaced = scene.enqueue("a", "3").await;
    assert_eq!(replaced.decision, Some(Replace));
    assert_eq!(replaced.queued, Some(queued));
    scene.applied(&running).await;
    let next = scene.lease().await;
    assert_eq!((next.run, next.input), (queued, input("3").hash));
}

pub async fn unknown_and_disabled_tasks_get_no_decision<F: Fixture>() {
    let scene = Scene::<F>::new(&["off"]).await;
    scene.queue("off", "1").await;
    let mut off = spec("off");
    off.enabled = false;
    scene.configure(&[off]).await;
    for name in ["off", "unknown"] {
        let request = scene.request(name, "2");
        let unused = request.run;
        let enqueued = scene.request_all(vec![request]).await;
        let expected = Enqueued {
            task: task(name),
            decision: None,
            queued: None,
            cancelled: None,
            losses: Vec::new(),
        };
        assert_eq!(enqueued, [expected]);
        assert_eq!(scene.find_run(unused).await, None);
    }
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_batch_is_answered_in_its_order<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    assert_eq!(scene.request_all(Vec::new()).await, []);
    let requests = vec![
        scene.request("b", "1"),
        scene.request("unknown", "1"),
        scene.request("a", "1"),
        scene.request("b", "2"),
    ];
    let (first, second) = (requests[0].run, requests[2].run);
    let enqueued = scene.request_all(requests).await;
    let found: Vec<_> = enqueued
        .iter()
        .map(|enqueued| (enqueued.task.as_str(), enqueued.decision, enqueued.queued))
        .collect();
    assert_eq!(
        found,
        [
            ("b", Some(Enqueue), Some(first)),
            ("unknown", None, None),
            ("a", Some(Enqueue), Some(second)),
            ("b", Some(Replace), Some(first)),
        ]
    );
}

/// A caller that does not know whether its request arrived sends it again, however late.
pub async fn a_repeated_request_changes_nothing<F: Fixture>() {
    let mut eager = spec("a");
    eager.file_settings.skip_unchanged = false;
    eager.file_settings.retry_failed = false;
    let scene = Scene::<F>::configured(&[eager]).await;
    let request = scene.request("a", "1");
    let run = request.run;
    let repeat = async || {
        let before = scene.run(run).await;
        let again = scene.request_all(vec![request.clone()]).await.remove(0);
        assert_eq!((again.decision, again.cancelled), (Some(Keep), None));
        assert_eq!(scene.run(run).await, before);
        again.queued
    };
    scene.request_all(vec![request.clone()]).await;
    assert_eq!(repeat().await, Some(run));
    let lease = scene.lease().await;
    assert_eq!(repeat().await, None);
    scene.fail_thrice(lease).await;
    assert_eq!(repeat().await, None);
    let newer = scene.queue("a", "2").await;
    assert_eq!(repeat().await, Some(newer));
    assert_eq!(scene.run(newer).await.input, input("2").hash);
}

pub async fn a_replacement_is_due_at_once_with_all_its_attempts<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.failed(&lease, "no").await;
    assert_eq!(scene.next_due().await, Some(seconds(1)));
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(Keep));
    assert_eq!(scene.next_due().await, Some(seconds(1)));
    let replaced = scene.enqueue("a", "2").await;
    assert_eq!(replaced.decision, Some(Replace));
    assert_eq!(replaced.queued, Some(lease.run));
    assert_eq!(scene.next_due().await, Some(Duration::ZERO));
    let lease = scene.lease().await;
    assert_eq!((lease.attempt, lease.input), (1, input("2").hash));
}

pub async fn inputs_come_back_byte_for_byte<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let every_byte: Vec<u8> = (0..=u8::MAX).rev().cycle().take(70_000).collect();
    let hostile = [
        b"".to_vec(),
        b"\0".to_vec(),
        b"\"'`;\\ -- ${x} %{y} \r\n\0 /* */".to_vec(),
        vec![0xff, 0xfe, 0xc0, 0x80, 0x00],
        every_byte,
        b"a".repeat(5 << 20),
        noise(5 << 20),
    ];
    for bytes in hostile {
        let input = input_of(&[&bytes, b"second", &bytes]);
        let hash = input.hash;
        let request = EnqueueRequest {
            input,
            ..scene.request("a", "")
        };
        scene.request_all(vec![request]).await;
        let stored = stored_input(&*scene.store(), hash).await;
        let expected = vec![bytes.clone(), b"second".to_vec(), bytes];
        assert!(stored == Some(expected), "{hash} came back changed");
    }
}

pub async fn one_input_may_serve_many_tasks<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.apply("a", "1").await;
    let lease = scene.leased("b", "1").await;
    assert_eq!(lease.input, input("1").hash);
    let stored = stored_input(&*scene.store(), lease.input).await;
    assert_eq!(stored, Some(bytes_of(&input("1"))));
}
