//! Several callers at once, and callers that go away.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use cts_core::runs::{AttemptOutcome, EnqueueDecision, RunStatus};
use cts_core::{RunId, TaskName, WorkerId};
use futures::future::join_all;

use super::Fixture;
use super::scene::{LEASE, Scene, input, line};
use crate::LeaseError;

const WORKERS: usize = 8;
const TASKS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
const ROUNDS: usize = 4;

/// What the workers of the first test know together.
#[derive(Debug, Default)]
struct Ledger {
    running: Mutex<BTreeSet<TaskName>>,
    leased: Mutex<Vec<RunId>>,
    completed: AtomicUsize,
}

async fn work<F: Fixture>(scene: &Scene<F>, ledger: &Ledger, name: WorkerId) {
    let store = scene.store();
    while ledger.completed.load(Ordering::Relaxed) < TASKS.len() * ROUNDS {
        let lease = store
            .acquire(&name, LEASE)
            .await
            .expect("runs can be leased");
        let Some(lease) = lease else { continue };
        ledger
            .leased
            .lock()
            .expect("no worker panics")
            .push(lease.run);
        let alone = ledger
            .running
            .lock()
            .expect("no worker panics")
            .insert(lease.task.clone());
        assert!(alone, "two runs of {} are leased at once", lease.task);
        let renewed = store.renew(lease.run, lease.epoch, LEASE).await;
        renewed.expect("a live lease can be renewed");
        ledger
            .running
            .lock()
            .expect("no worker panics")
            .remove(&lease.task);
        scene.applied(&lease).await;
        let done = ledger.completed.fetch_add(1, Ordering::Relaxed) + 1;
        if done <= TASKS.len() * (ROUNDS - 1) {
            scene
                .queue(lease.task.as_str(), &format!("input {done}"))
                .await;
        }
    }
}

pub async fn parallel_workers_lease_every_run_once_and_no_task_twice<F: Fixture>() {
    let scene = Scene::<F>::new(&TASKS).await;
    let requests = TASKS.map(|name| scene.request(name, "first"));
    scene.request_all(requests.into()).await;
    let ledger = Ledger::default();
    let workers = (0..WORKERS).map(|number| {
        let name = WorkerId::new(format!("worker-{number}"));
        work(&scene, &ledger, name)
    });
    join_all(workers).await;
    let leased = ledger.leased.into_inner().expect("no worker panics");
    let distinct: BTreeSet<_> = leased.iter().copied().collect();
    assert_eq!(leased.len(), TASKS.len() * ROUNDS);
    assert_eq!(distinct.len(), leased.len(), "a run was leased twice");
    for run in leased {
        let record = scene.run(run).await;
        assert_eq!((record.status, record.attempts), (RunStatus::Succeeded, 1));
    }
}

pub async fn parallel_requests_for_one_task_queue_one_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let texts: Vec<_> = (0..20).map(|number| number.to_string()).collect();
    let answers = join_all(texts.iter().map(|text| scene.enqueue("a", text))).await;
    let made = answers
        .iter()
        .filter(|answer| answer.decision == Some(EnqueueDecision::Enqueue));
    assert_eq!(made.count(), 1);
    let queued: BTreeSet<_> = answers.iter().map(|answer| answer.queued).collect();
    assert_eq!(queued.len(), 1);
    let lease = scene.lease().await;
    assert!(texts.iter().any(|text| input(text).hash == lease.input));
    assert_eq!(scene.acquire().await, None);
}

pub async fn of_parallel_completions_one_is_accepted<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let store = scene.store();
    let attempts = (0..WORKERS).map(|_| {
        let completion = scene.completion(&lease, AttemptOutcome::Applied);
        store.complete(completion)
    });
    let mut accepted = 0;
    for answer in join_all(attempts).await {
        match answer {
            Ok(_) => accepted += 1,
            Err(error) => assert!(matches!(error, LeaseError::Lost { .. }), "{error:?}"),
        }
    }
    assert_eq!(accepted, 1);
    assert_eq!(scene.state("a").await.events.len(), 1);
}

pub async fn parallel_lines_are_all_kept<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let store = scene.store();
    let texts: BTreeSet<_> = (0..40).map(|number| format!("line {number:02}")).collect();
    let appends = texts
        .iter()
        .map(|text| store.append_log(lease.run, lease.epoch, vec![line(text)]));
    for appended in join_all(appends).await {
        appended.expect("a live lease can log");
    }
    let page = store.read_log(lease.run, 0, 100).await;
    let page = page.expect("logs can be read").expect("the run is there");
    assert_eq!(page.lines.len(), texts.len());
    let kept: BTreeSet<_> = page.lines.into_iter().map(|line| line.text).collect();
    assert_eq!(kept, texts);
}

/// Polls a future so many times and then drops it.
async fn poll_times<T>(future: impl Future<Output = T>, mut polls: usize) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// More polls than any method needs, so that the future is dropped at each of its waits.
const POLLS: usize = 60;

pub async fn a_dropped_request_has_happened_wholly_or_not_at_all<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let mut finished = false;
    for polls in 0..POLLS {
        let text = polls.to_string();
        let requests = vec![scene.request("a", &text), scene.request("b", &text)];
        let runs = [requests[0].run, requests[1].run];
        let answer = poll_times(scene.store().enqueue(requests), polls).await;
        finished = answer.is_some();
        let [first, second] = [scene.find_run(runs[0]).await, scene.find_run(runs[1]).await];
        assert_eq!(first.is_some(), second.is_some(), "after {polls} polls");
        if finished {
            assert!(first.is_some());
        }
        if first.is_some() {
            scene.applied(&scene.lease().await).await;
            scene.applied(&scene.lease().await).await;
        }
        assert_eq!(scene.acquire().await, None);
    }
    assert!(finished, "no request was polled to its end");
}

pub async fn a_dropped_completion_has_happened_wholly_or_not_at_all<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut finished = false;
    for polls in 0..POLLS {
        let lease = scene.leased("a", &polls.to_string()).await;
        let events = scene.state("a").await.events;
        let mut completion = scene.completion(&lease, AttemptOutcome::Applied);
        completion.log = vec![line("last")];
        let answer = poll_times(scene.store().complete(completion.clone()), polls).await;
        finished = answer.is_some();
        let log = scene.store().read_log(lease.run, 0, 10).await;
        let lines = log
            .expect("logs can be read")
            .expect("the run is there")
            .lines;
        let state = scene.state("a").await;
        if scene.run(lease.run).await.status == RunStatus::Succeeded {
            assert_eq!(state.events[0].id, completion.event);
            assert_eq!(lines, [line("last")]);
        } else {
            assert!(!finished);
            assert_eq!((state.events, lines), (events, vec![]));
            scene.complete(completion).await;
        }
    }
    assert!(finished, "no completion was polled to its end");
}
