//! Workers: their heartbeats and drains.

use std::time::Duration;

use cts_core::{Digest, KnownRegistration, WorkerProblem};

use crate::Fixture;
use crate::scene::{Scene, capabilities, seconds, worker_record};
use cts_store::{Heartbeat, WorkerRecord, WorkerState};

/// Longer than anything here takes.
const EVER: Duration = Duration::from_hours(365 * 24);

/// The only worker.
async fn only<F: Fixture>(scene: &Scene<F>) -> WorkerState {
    let mut workers = scene.workers(EVER).await;
    assert_eq!(workers.len(), 1, "{workers:?}");
    workers.remove(0)
}

async fn heartbeat<F: Fixture>(scene: &Scene<F>, worker: &WorkerRecord) -> bool {
    let heartbeat = beat(scene, worker, None).await;
    assert_ne!(heartbeat, Heartbeat::Foreign);
    heartbeat == Heartbeat::Noted { drains: true }
}

async fn beat<F: Fixture>(
    scene: &Scene<F>,
    worker: &WorkerRecord,
    registration: Option<Digest>,
) -> Heartbeat {
    let heartbeat = scene.store().record_heartbeat(worker, registration).await;
    heartbeat.expect("a worker can be noted")
}

async fn known<F: Fixture>(scene: &Scene<F>, worker: &WorkerRecord) -> KnownRegistration {
    let known = scene.store().registration(&worker.id).await;
    known.expect("a registration can be read")
}

pub async fn a_beat_makes_a_worker_known<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    assert_eq!(scene.workers(EVER).await, []);
    let run = scene.queue("a", "1").await;
    let worker = worker_record("w");
    assert!(!heartbeat(&scene, &worker).await);
    scene.advance(seconds(3));
    let expected = WorkerState {
        worker,
        since: scene.run(run).await.created_at,
        silent_for: seconds(3),
        replaced: false,
        running: 0,
        settings: Vec::new(),
    };
    assert_eq!(only(&scene).await, expected);
}

pub async fn a_beat_updates_what_a_worker_says<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let first = worker_record("w");
    heartbeat(&scene, &first).await;
    let since = only(&scene).await.since;
    scene.advance(seconds(10));
    let odd = "quotes \" ' ` \\ [{}], ünïcödé ☃ \n";
    let changed = WorkerRecord {
        host: odd.to_owned(),
        version: odd.to_owned(),
        slots: u32::MAX,
        capabilities: capabilities(&[("tofu", "1"), (odd, odd), ("a", "2"), ("a", "1")], true),
        problem: Some(WorkerProblem {
            reason: odd.to_owned(),
            takes_runs: true,
        }),
        ..first.clone()
    };
    let nothing = WorkerRecord {
        host: String::new(),
        version: String::new(),
        slots: 0,
        capabilities: capabilities(&[], false),
        ..first.clone()
    };
    for record in [changed, nothing, first] {
        heartbeat(&scene, &record).await;
        let state = only(&scene).await;
        assert_eq!((state.worker, state.since), (record, since));
        assert_eq!(state.silent_for, Duration::ZERO);
    }
}

pub async fn workers_are_listed_by_host_and_id_with_their_silence<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    // In the order of bytes, not of a language.
    let heartbeats = [
        ("b", "1"),
        ("a", "b"),
        ("a", "B"),
        ("é", "0"),
        ("B", "z"),
        ("a-b", "a"),
    ];
    for (host, id) in heartbeats {
        let worker = WorkerRecord {
            host: host.to_owned(),
            ..worker_record(id)
        };
        heartbeat(&scene, &worker).await;
        scene.advance(seconds(1));
    }
    let expected = [
        ("B", "z", 2),
        ("a", "B", 4),
        ("a", "b", 5),
        ("a-b", "a", 1),
        ("b", "1", 6),
        ("é", "0", 3),
    ];
    for within in 0..7 {
        let listed = scene.workers(seconds(within)).await;
        let listed: Vec<_> = listed
            .iter()
            .map(|state| {
                let worker = &state.worker;
                let silence = state.silent_for.as_secs();
                (worker.host.as_str(), worker.id.as_str(), silence)
            })
            .collect();
        let lately = expected.iter().filter(|(.., silence)| *silence <= within);
        assert_eq!(listed, lately.copied().collect::<Vec<_>>());
    }
}

pub async fn an_id_belongs_to_its_first_registration<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let worker = worker_record("w");
    let (own, other) = (Digest::of(b"own"), Digest::of(b"other"));
    let noted = Heartbeat::Noted { drains: false };
    assert_eq!(known(&scene, &worker).await, KnownRegistration::Absent);
    // Without a registration, and then with one.
    assert_eq!(beat(&scene, &worker, None).await, noted);
    assert_eq!(known(&scene, &worker).await, KnownRegistration::Unproven);
    for _ in 0..2 {
        assert_eq!(beat(&scene, &worker, Some(own)).await, noted);
        assert_eq!(known(&scene, &worker).await, KnownRegistration::Of(own));
    }
    scene.advance(seconds(3600));
    let changed = WorkerRecord {
        slots: 77,
        draining: true,
        ..worker.clone()
    };
    for foreign in [Some(other), None] {
        assert!(!known(&scene, &worker).await.admits(foreign));
        let answer = beat(&scene, &changed, foreign).await;
        assert_eq!(answer, Heartbeat::Foreign);
    }
    let state = only(&scene).await;
    assert_eq!((state.worker, state.silent_for), (worker, seconds(3600)));
    assert_eq!(known(&scene, &changed).await, KnownRegistration::Of(own));
    // A registration that comes first is as good, and another id is free.
    let next = worker_record("v");
    assert_eq!(beat(&scene, &next, Some(own)).await, noted);
    assert_eq!(known(&scene, &next).await, KnownRegistration::Of(own));
}

pub async fn an_id_that_is_forgotten_is_free<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let worker = worker_record("w");
    let (own, other) = (Digest::of(b"own"), Digest::of(b"other"));
    beat(&scene, &worker, Some(own)).await;
    let forgotten = scene.store().forget_worker(&worker.id).await;
    forgotten.expect("a worker can be forgotten");
    assert_eq!(known(&scene, &worker).await, KnownRegistration::Absent);
    let noted = Heartbeat::Noted { drains: false };
    assert_eq!(beat(&scene, &worker, Some(other)).await, noted);
    assert_eq!(known(&scene, &worker).await, KnownRegistration::Of(other));
}

pub async fn a_life_is_replaced_once_and_a_heartbeat_refutes_that_for_good<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let [copied, dead, stranger] = ["copied", "dead", "stranger"].map(worker_record);
    for worker in [&copied, &dead, &stranger] {
        heartbeat(&scene, worker).await;
    }
    let replace = async || {
        let lives = [&dead, &copied, &worker_record("unknown")].map(|it| it.id.clone());
        let replaced = scene.store().replace_lives(&lives).await;
        replaced.expect("lives can be replaced");
    };
    let replaced = async || -> Vec<String> {
        let listed = scene.workers(EVER).await;
        let replaced = listed.into_iter().filter(|state| state.replaced);
        replaced.map(|state| state.worker.id.to_string()).collect()
    };
    assert_eq!(replaced().await, Vec::<String>::new());
    for _again in 0..2 {
        replace().await;
        assert_eq!(replaced().await, ["copied", "dead"]);
    }
    heartbeat(&scene, &copied).await;
    for _again in 0..2 {
        assert_eq!(replaced().await, ["dead"]);
        replace().await;
    }
}
