//! Hints between processes, where a store has several.
//!
//! Hints may be lost, but without a failure they are not.

use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use cts_core::WorkerId;
use cts_core::runs::{RunKind, RunStatus};
use futures::StreamExt as _;
use tokio::time::timeout;

use crate::Fixture;
use crate::scene::{Scene, task};
use cts_store::{Hint, HintStream};

/// Longer than any hint takes.
const TIMEOUT: Duration = Duration::from_secs(20);

async fn listen<F: Fixture>(scene: &Scene<F>) -> Option<HintStream> {
    let stream = scene.store().listen().await;
    stream.expect("hints can be listened for")
}

async fn publish<F: Fixture>(scene: &Scene<F>, hints: &[Hint]) {
    let published = scene.store().publish(hints).await;
    published.expect("hints can be published");
}

/// Waits until all of these have come, in any order; nothing else may come but a gap.
async fn assert_heard(stream: &mut HintStream, mut expected: Vec<Hint>) {
    let all = expected.clone();
    while !expected.is_empty() {
        let heard = timeout(TIMEOUT, stream.next()).await;
        assert!(heard.is_ok(), "not heard: {expected:?}");
        let heard = heard.ok().flatten().expect("hints never end");
        assert!(heard == Hint::Gap || all.contains(&heard), "{heard:?}");
        expected.retain(|hint| *hint != heard);
    }
}

fn run<F: Fixture>(scene: &Scene<F>, name: &str, status: RunStatus, micros: i64) -> Hint {
    let start = DateTime::from_timestamp(1_800_000_000, 0).expect("it is in range");
    Hint::Run {
        run: scene.run_id(),
        task: task(name),
        kind: RunKind::Plan,
        status,
        at: start + TimeDelta::microseconds(micros),
    }
}

fn every_kind<F: Fixture>(scene: &Scene<F>) -> Vec<Hint> {
    vec![
        Hint::Queue,
        run(scene, "a", RunStatus::Queued, 0),
        run(scene, "été-1_·", RunStatus::Running, 1),
        run(scene, "日本語", RunStatus::Succeeded, 999_999),
        run(scene, "_", RunStatus::Failed, -1),
        run(scene, &"x".repeat(500), RunStatus::Cancelled, 7),
        Hint::Tasks,
        Hint::Brake,
        Hint::Approval {
            run: scene.run_id(),
            effect: "0af1".into(),
        },
        Hint::Drains {
            worker: WorkerId::new("été \"1\""),
        },
        Hint::Log {
            run: scene.run_id(),
        },
        Hint::LogFollowed {
            run: scene.run_id(),
            replica: "été \"1\"".into(),
        },
        Hint::LogSearch {
            caller: "token \"été\"".into(),
            at: DateTime::from_timestamp_micros(1_800_000_000_000_001).expect("it is in range"),
        },
        Hint::Leadership,
    ]
}

pub async fn published_hints_are_heard<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    publish(&scene, &[]).await;
    publish(&scene, &[run(&scene, "before", RunStatus::Queued, 0)]).await;
    let stream = listen(&scene).await;
    let hints = every_kind(&scene);
    publish(&scene, &hints).await;
    if let Some(mut stream) = stream {
        assert_heard(&mut stream, hints.clone()).await;
        for hint in hints {
            publish(&scene, std::slice::from_ref(&hint)).await;
            assert_heard(&mut stream, vec![hint]).await;
        }
    }
}

pub async fn everyone_who_listens_hears<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let (first, second, dropped) = (
        listen(&scene).await,
        listen(&scene).await,
        listen(&scene).await,
    );
    drop(dropped);
    let hints = every_kind(&scene);
    publish(&scene, &hints).await;
    for mut stream in [first, second].into_iter().flatten() {
        assert_heard(&mut stream, hints.clone()).await;
    }
    let late = listen(&scene).await;
    let newer = vec![run(&scene, "newer", RunStatus::Queued, 1)];
    publish(&scene, &newer).await;
    if let Some(mut late) = late {
        assert_heard(&mut late, newer).await;
    }
}

pub async fn many_hints_at_once_are_heard<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let stream = listen(&scene).await;
    let long = "ü".repeat(500);
    let hints: Vec<_> = (0..200)
        .map(|number| run(&scene, &long, RunStatus::Queued, number))
        .collect();
    publish(&scene, &hints).await;
    if let Some(mut stream) = stream {
        assert_heard(&mut stream, hints).await;
    }
}

/// A name has no limit, a message may have one.
pub async fn a_hint_of_any_size_is_heard_or_leaves_a_gap<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let stream = listen(&scene).await;
    let long = run(&scene, &"ü".repeat(50_000), RunStatus::Queued, 0);
    publish(&scene, std::slice::from_ref(&long)).await;
    publish(&scene, &[Hint::Queue]).await;
    let Some(stream) = stream else { return };
    let until_queue = stream.take_while(|hint| std::future::ready(*hint != Hint::Queue));
    let heard = timeout(TIMEOUT, until_queue.collect::<Vec<_>>()).await;
    let heard = heard.expect("the hint behind it is heard");
    assert!(!heard.is_empty(), "it was lost without a gap");
    assert!(heard.iter().all(|hint| *hint == Hint::Gap || *hint == long));
}

pub async fn hints_are_heard_after_a_restart<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[]).await;
    drop(listen(&scene).await);
    scene.restart().await;
    let stream = listen(&scene).await;
    let hints = every_kind(&scene);
    publish(&scene, &hints).await;
    if let Some(mut stream) = stream {
        assert_heard(&mut stream, hints).await;
    }
}
