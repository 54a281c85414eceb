//! Several callers at once, and callers that go away.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use cts_core::runs::{AttemptOutcome, EnqueueDecision, RunStatus};
use cts_core::{Digest, LeaderEpoch, RunId, TaskName, WorkerId};
use futures::future::{join, join_all};

use crate::Fixture;
use crate::scene::{LEASE, Scene, claim, input, line, member, worker_record};
use cts_store::{Claim, Heartbeat, LeaderError, LeaseError};

const WORKERS: usize = 8;
const TASKS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
const ROUNDS: usize = 4;

/// Shared record of the workers of the first test.
#[derive(Debug, Default)]
struct Ledger {
    running: Mutex<BTreeSet<TaskName>>,
    leased: Mutex<Vec<RunId>>,
    completed: AtomicUsize,
}

async fn work<F: Fixture>(scene: &Scene<F>, ledger: &Ledger, claim: Claim) {
    let store = scene.store();
    while ledger.completed.load(Ordering::Relaxed) < TASKS.len() * ROUNDS {
        let lease = store.acquire(&claim).await.expect("runs can be leased");
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
        scene.renew(&lease, LEASE).await;
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
        let claim = Claim {
            worker: WorkerId::new(format!("worker-{number}")),
            ..claim()
        };
        work(&scene, &ledger, claim)
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

pub async fn accepts_one_of_parallel_completions<F: Fixture>() {
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
        .map(|text| store.append_log(lease.run, &lease.holder, lease.epoch, vec![line(text)]));
    for appended in join_all(appends).await {
        appended.expect("a live lease can log");
    }
    let page = store.read_log(lease.run, 0, 100).await;
    let page = page.expect("logs can be read").expect("the run is there");
    assert_eq!(page.lines.len(), texts.len());
    let kept: BTreeSet<_> = page.lines.into_iter().map(|line| line.text).collect();
    assert_eq!(kept, texts);
}

pub async fn elects_one_of_parallel_candidates<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let ids: Vec<_> = (0..WORKERS)
        .map(|number| format!("replica-{number}"))
        .collect();
    for round in 1..=3 {
        let answers = join_all(ids.iter().map(|id| scene.lead_as(id, None, LEASE))).await;
        let leaders: BTreeSet<_> = answers.iter().map(|answer| answer.leader.clone()).collect();
        assert_eq!(leaders.len(), 1, "{answers:?}");
        let mine = answers.iter().filter(|answer| answer.mine).count();
        assert_eq!(mine, 1, "{answers:?}");
        for answer in answers {
            assert_eq!(answer.epoch, LeaderEpoch::new(round));
        }
        scene.advance(LEASE);
    }
}

/// Every epoch is granted once, whatever the replicas do at the same time.
pub async fn no_epoch_is_granted_twice<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let lives = (0..WORKERS).map(async |_| {
        let mut granted = Vec::new();
        for _ in 0..ROUNDS {
            let leadership = scene.lead_as("a", None, LEASE).await;
            assert!(leadership.mine, "{leadership:?}");
            granted.push(leadership.epoch);
            scene.resign(&member("a")).await;
        }
        granted
    });
    let granted: Vec<_> = join_all(lives).await.concat();
    let distinct: BTreeSet<_> = granted.iter().collect();
    assert_eq!(distinct.len(), WORKERS * ROUNDS);
}

/// A leader that is deposed during the write has written before the takeover or not at all.
pub async fn a_deposed_leader_writes_nothing_after_the_takeover<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let store = scene.store();
    for round in 0..10 {
        let old = scene.leader();
        let request = scene.request("a", &round.to_string());
        let run = request.run;
        let write = store.enqueue(old, vec![request]);
        let takeover = async {
            scene.lead().await;
            scene.find_run(run).await.is_some()
        };
        let (written, seen) = join(write, takeover).await;
        match written {
            Ok(_) => assert!(seen, "written after the takeover"),
            Err(error) => {
                assert!(matches!(error, LeaderError::Deposed { .. }), "{error:?}");
                assert!(!seen);
                assert_eq!(scene.find_run(run).await, None);
            }
        }
        if seen {
            let lease = scene.lease().await;
            scene.applied(&lease).await;
        }
    }
}

pub async fn parallel_beats_are_one_worker<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let store = scene.store();
    let worker = worker_record("w");
    for heartbeat in join_all((0..WORKERS).map(|_| store.record_heartbeat(&worker, None))).await {
        let heartbeat = heartbeat.expect("a worker can be noted");
        assert_eq!(heartbeat, Heartbeat::Noted { drains: false });
    }
    let workers = store.workers(LEASE).await.expect("workers can be listed");
    assert_eq!(workers.len(), 1);
}

pub async fn parallel_stores_of_one_bundle_are_one<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let store = scene.store();
    let hash = Digest::of(b"bundle");
    for stored in join_all((0..WORKERS).map(|_| store.store_bundle(hash, b"bundle"))).await {
        stored.expect("bundles can be stored");
    }
    let bundle = store.bundle(hash).await.expect("bundles can be read");
    assert_eq!(bundle, Some(b"bundle".to_vec()));
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
        let answer = poll_times(scene.store().enqueue(scene.leader(), requests), polls).await;
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
