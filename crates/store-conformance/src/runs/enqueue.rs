//! Frozen inputs become queued runs.

use std::time::Duration;

use cts_core::runs::EnqueueDecision::{Enqueue, Skip};
use cts_core::runs::RunStatus;

use crate::Fixture;
use crate::scene::{Scene, input, input_of, noise, seconds, stored_input, task};
use cts_store::{EnqueueRequest, Enqueued};

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
        by_brake: false,
        refused: None,
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
