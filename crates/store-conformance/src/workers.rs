//! Workers: their heartbeats and drains.

use std::time::Duration;

use cts_core::WorkerId;
use cts_core::runs::RunStatus;

use super::Fixture;
use super::scene::{LEASE, MICROSECOND, Scene, capabilities, claim, seconds, worker_record};
use cts_store::{Claim, WorkerRecord, WorkerState};

/// Longer than anything here takes.
const EVER: Duration = Duration::from_hours(365 * 24);

async fn workers<F: Fixture>(scene: &Scene<F>, within: Duration) -> Vec<WorkerState> {
    let workers = scene.store().workers(within).await;
    workers.expect("workers can be listed")
}

/// The only worker.
async fn only<F: Fixture>(scene: &Scene<F>) -> WorkerState {
    let mut workers = workers(scene, EVER).await;
    assert_eq!(workers.len(), 1, "{workers:?}");
    workers.remove(0)
}

async fn heartbeat<F: Fixture>(scene: &Scene<F>, worker: &WorkerRecord) -> bool {
    let heartbeat = scene.store().record_heartbeat(worker).await;
    heartbeat.expect("a worker can be noted")
}

async fn drain<F: Fixture>(scene: &Scene<F>, id: &str) -> bool {
    let drain = scene.store().drain_worker(&WorkerId::new(id)).await;
    drain.expect("a worker can be told")
}

async fn forget<F: Fixture>(scene: &Scene<F>, id: &str) {
    let forgotten = scene.store().forget_worker(&WorkerId::new(id)).await;
    forgotten.expect("a worker can be forgotten");
}

fn claim_of(id: &str) -> Claim {
    Claim {
        worker: WorkerId::new(id),
        ..claim()
    }
}

pub async fn a_beat_makes_a_worker_known<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    assert_eq!(workers(&scene, EVER).await, []);
    let run = scene.queue("a", "1").await;
    let worker = worker_record("w");
    assert!(!heartbeat(&scene, &worker).await);
    scene.advance(seconds(3));
    let expected = WorkerState {
        worker,
        since: scene.run(run).await.created_at,
        silent_for: seconds(3),
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

pub async fn a_worker_learns_with_its_next_beat_that_it_is_to_drain<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[]).await;
    let (worker, other) = (worker_record("w"), worker_record("x"));
    heartbeat(&scene, &worker).await;
    heartbeat(&scene, &other).await;
    for _ in 0..2 {
        assert!(drain(&scene, "w").await);
        let listed = workers(&scene, EVER).await;
        let draining: Vec<_> = listed.iter().map(|state| state.worker.draining).collect();
        assert_eq!(draining, [true, false]);
    }
    for _ in 0..3 {
        assert!(heartbeat(&scene, &worker).await);
        assert!(!heartbeat(&scene, &other).await);
        scene.restart().await;
    }
    assert!(workers(&scene, EVER).await[0].worker.draining);
}

pub async fn a_worker_may_drain_by_its_own_word<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let mut worker = worker_record("w");
    worker.draining = true;
    assert!(heartbeat(&scene, &worker).await);
    assert!(only(&scene).await.worker.draining);
    worker.draining = false;
    assert!(!heartbeat(&scene, &worker).await);
    assert!(!only(&scene).await.worker.draining);
}

pub async fn an_unknown_worker_cannot_be_drained<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    assert!(!drain(&scene, "w").await);
    assert_eq!(workers(&scene, EVER).await, []);
    assert!(!heartbeat(&scene, &worker_record("w")).await);
    forget(&scene, "w").await;
    assert!(!drain(&scene, "w").await);
}

pub async fn a_forgotten_worker_has_no_past<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    forget(&scene, "w").await;
    heartbeat(&scene, &worker_record("w")).await;
    drain(&scene, "w").await;
    let since = only(&scene).await.since;
    for _ in 0..2 {
        forget(&scene, "w").await;
        assert_eq!(workers(&scene, EVER).await, []);
    }
    scene.advance(seconds(1));
    assert!(!heartbeat(&scene, &worker_record("w")).await);
    assert_eq!(only(&scene).await.since, since + seconds(1));
}

pub async fn a_forgotten_worker_keeps_its_leases<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    heartbeat(&scene, &worker_record("w")).await;
    scene.queue("a", "1").await;
    let lease = scene
        .acquire_as(&claim_of("w"))
        .await
        .expect("a run is due");
    forget(&scene, "w").await;
    let renewed = scene
        .store()
        .renew(lease.run, &lease.holder, lease.epoch, LEASE)
        .await;
    renewed.expect("a live lease can be renewed");
    assert_eq!(scene.applied(&lease).await.status, RunStatus::Succeeded);
}

pub async fn the_leases_of_each_worker_are_counted<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c", "d"]).await;
    for id in ["w", "x", "y"] {
        heartbeat(&scene, &worker_record(id)).await;
    }
    let running = async || {
        let workers = workers(&scene, EVER).await;
        workers
            .iter()
            .map(|state| state.running)
            .collect::<Vec<_>>()
    };
    for name in ["a", "b", "c", "d"] {
        scene.queue(name, "1").await;
    }
    assert_eq!(running().await, [0, 0, 0]);
    let mut leases = Vec::new();
    for id in ["w", "w", "x", "unknown"] {
        leases.extend(scene.acquire_as(&claim_of(id)).await);
    }
    assert_eq!(leases.len(), 4);
    assert_eq!(running().await, [2, 1, 0]);
    scene.applied(&leases[0]).await;
    scene.failed(&leases[2], "no").await;
    assert_eq!(running().await, [1, 0, 0]);
    // An expired lease stays in force until it is taken back.
    scene.advance(LEASE);
    assert_eq!(running().await, [1, 0, 0]);
    scene.reap().await;
    assert_eq!(running().await, [0, 0, 0]);
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
        let listed = workers(&scene, seconds(within)).await;
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

pub async fn a_draining_worker_gets_no_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let mut by_itself = worker_record("by itself");
    by_itself.draining = true;
    heartbeat(&scene, &by_itself).await;
    heartbeat(&scene, &worker_record("told")).await;
    scene.queue("a", "1").await;
    let lease = scene.acquire_as(&claim_of("told")).await;
    let lease = lease.expect("it is not told yet");
    assert!(drain(&scene, "told").await);
    let run = scene.queue("b", "1").await;
    for id in ["told", "by itself"] {
        assert_eq!(scene.acquire_as(&claim_of(id)).await, None);
    }
    // A draining worker keeps the run that it has.
    let renewed = scene
        .store()
        .renew(lease.run, &lease.holder, lease.epoch, LEASE)
        .await;
    renewed.expect("a live lease can be renewed");
    assert_eq!(scene.applied(&lease).await.status, RunStatus::Succeeded);
    heartbeat(&scene, &worker_record("told")).await;
    assert_eq!(scene.acquire_as(&claim_of("told")).await, None);

    assert_eq!(scene.next_due().await, Some(Duration::ZERO));
    let other = scene.acquire_as(&claim_of("other")).await;
    assert_eq!(other.map(|lease| lease.run), Some(run));
}

pub async fn a_worker_that_goes_on_gets_runs_again<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.queue("a", "1").await;
    scene.queue("b", "1").await;
    let mut worker = worker_record("w");
    worker.draining = true;
    heartbeat(&scene, &worker).await;
    assert_eq!(scene.acquire_as(&claim_of("w")).await, None);
    worker.draining = false;
    heartbeat(&scene, &worker).await;
    assert!(scene.acquire_as(&claim_of("w")).await.is_some());
    drain(&scene, "w").await;
    assert_eq!(scene.acquire_as(&claim_of("w")).await, None);
    forget(&scene, "w").await;
    assert!(scene.acquire_as(&claim_of("w")).await.is_some());
}

pub async fn reaping_forgets_workers_that_were_silent_for_a_day<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    heartbeat(&scene, &worker_record("gone")).await;
    scene.advance(MICROSECOND);
    heartbeat(&scene, &worker_record("stays")).await;
    let almost = seconds(24 * 3600).checked_sub(MICROSECOND);
    scene.advance(almost.expect("a day is longer"));
    assert_eq!(workers(&scene, EVER).await.len(), 2);
    scene.reap().await;
    assert_eq!(only(&scene).await.worker.id.as_str(), "stays");
    scene.advance(MICROSECOND);
    scene.reap().await;
    assert_eq!(workers(&scene, EVER).await, []);
}

pub async fn workers_outlive_a_restart<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    scene.queue("a", "1").await;
    for id in ["w", "x"] {
        heartbeat(&scene, &worker_record(id)).await;
    }
    scene.acquire_as(&claim_of("x")).await;
    drain(&scene, "w").await;
    scene.advance(seconds(2));
    let before = workers(&scene, EVER).await;
    scene.restart().await;
    assert_eq!(workers(&scene, EVER).await, before);
    assert_eq!((before[0].worker.draining, before[1].running), (true, 1));
}

pub async fn releasing_everything_forgets_workers<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.queue("a", "1").await;
    heartbeat(&scene, &worker_record("w")).await;
    drain(&scene, "w").await;
    scene.release_all().await;
    assert_eq!(workers(&scene, EVER).await, []);
    assert!(scene.acquire_as(&claim_of("w")).await.is_some());
}
