//! Behaviours of settings: which are in force, which workers have them, and which runs need them.

use cts_core::lease::LeaseKey;
use cts_core::settings::{
    BlockDigests, ClusterKey, SettingsBlocks, SettingsGeneration, SettingsScope,
};
use cts_core::{FrozenInput, LeaderEpoch, RunId, WorkerId, WorkerRecord};

use crate::Fixture;
use crate::scene::{Scene, claim, seconds, worker_record};
use cts_store::{Claim, EnqueueRequest, LeaderError, Lease, SettingsChange};

pub(crate) fn digests(text: &str) -> BlockDigests {
    let mut blocks = SettingsBlocks::default();
    for name in ["backend", "provider a \"quoted\" ☃"] {
        blocks.insert(name.to_owned(), vec![text.to_owned()]);
    }
    blocks.digests(&[1, 2].map(|byte| ClusterKey::new([byte; 32])))
}

pub(crate) fn generation(number: u64, in_force: bool) -> SettingsGeneration {
    let scope = r#"["backend","provider a \"quoted\" ☃"]"#;
    let scope: SettingsScope = serde_json::from_str(scope).expect("it is a scope");
    SettingsGeneration {
        number,
        scope,
        digests: digests(&number.to_string()),
        in_force,
    }
}

pub(crate) async fn change<F: Fixture>(scene: &Scene<F>, change: SettingsChange) {
    let changed = scene.store().change_settings(scene.leader(), &change).await;
    changed.expect("a leader can change settings");
}

async fn stored<F: Fixture>(scene: &Scene<F>) -> Vec<SettingsGeneration> {
    let settings = scene.store().settings().await;
    settings.expect("settings can be read")
}

/// A registered worker that has these generations.
pub(crate) async fn having<F: Fixture>(scene: &Scene<F>, id: &str, numbers: &[u64]) {
    let worker = WorkerRecord {
        settings: Some(digests("1")),
        ..worker_record(id)
    };
    scene.heartbeat(&worker).await;
    let workers = vec![(worker.id, numbers.to_vec())];
    let has = SettingsChange {
        workers,
        ..SettingsChange::default()
    };
    change(scene, has).await;
}

pub(crate) fn needing(request: EnqueueRequest, number: u64) -> EnqueueRequest {
    EnqueueRequest {
        input: FrozenInput::for_settings(request.input, number),
        ..request
    }
}

pub(crate) async fn queue_for<F: Fixture>(
    scene: &Scene<F>,
    name: &str,
    text: &str,
    number: u64,
) -> RunId {
    let request = needing(scene.request(name, text), number);
    let enqueued = scene.store().enqueue(scene.leader(), vec![request]).await;
    let enqueued = enqueued.expect("an input can be queued");
    enqueued[0].queued.expect("a run is queued")
}

pub(crate) async fn acquire<F: Fixture>(scene: &Scene<F>, id: &str) -> Option<Lease> {
    let claim = Claim {
        worker: WorkerId::new(id),
        checks_settings: true,
        names_previous_backend: false,
        ends_remote_runs: false,
        asks_permission: true,
        ..claim()
    };
    scene.acquire_as(&claim).await
}

pub async fn the_first_keys_of_a_cluster_and_of_leases_stay<F: Fixture>() {
    let mut scene = Scene::<F>::unled().await;
    for byte in [7, 8] {
        let (cluster, leases) = (ClusterKey::new([byte; 32]), LeaseKey::new([byte + 2; 32]));
        let cluster = scene.store().cluster_key(&cluster).await;
        assert_eq!(cluster.expect("a key"), ClusterKey::new([7; 32]));
        let leases = scene.store().lease_key(&leases).await;
        assert_eq!(leases.expect("a key"), LeaseKey::new([9; 32]));
        scene.restart().await;
    }
}

pub async fn settings_are_read_as_they_were_stored<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[]).await;
    assert_eq!(stored(&scene).await, []);
    let first = SettingsChange {
        generations: vec![generation(1, true)],
        ..SettingsChange::default()
    };
    change(&scene, first).await;
    assert_eq!(stored(&scene).await, [generation(1, true)]);
    let other = SettingsGeneration {
        digests: digests("other"),
        ..generation(2, true)
    };
    let replaced = SettingsChange {
        generations: vec![other.clone(), generation(1, false)],
        ..SettingsChange::default()
    };
    for _ in 0..2 {
        change(&scene, replaced.clone()).await;
        assert_eq!(stored(&scene).await, [generation(1, false), other.clone()]);
        scene.restart().await;
    }
    let back = SettingsChange {
        generations: vec![
            generation(1, true),
            SettingsGeneration {
                in_force: false,
                ..other.clone()
            },
        ],
        ..SettingsChange::default()
    };
    change(&scene, back).await;
    let in_force: Vec<_> = stored(&scene).await.iter().map(|it| it.in_force).collect();
    assert_eq!(in_force, [true, false]);
}

pub async fn only_the_leader_changes_settings<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let late = LeaderEpoch::new(scene.leader().get() + 1);
    let first = SettingsChange {
        generations: vec![generation(1, true)],
        ..SettingsChange::default()
    };
    let changed = scene.store().change_settings(late, &first).await;
    assert!(
        matches!(changed, Err(LeaderError::Deposed { .. })),
        "{changed:?}"
    );
    assert_eq!(stored(&scene).await, []);
}

pub async fn workers_are_listed_with_their_reported_and_matching_settings<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[]).await;
    having(&scene, "w", &[3, 1]).await;
    scene.restart().await;
    let listed = scene.workers(seconds(1_000_000)).await;
    assert_eq!(listed[0].worker.settings, Some(digests("1")));
    assert_eq!(listed[0].settings, [1, 3]);
    having(&scene, "w", &[3, 4]).await;
    assert_eq!(scene.workers(seconds(1_000_000)).await[0].settings, [3, 4]);
    // A worker that is not known is left out.
    let unknown = SettingsChange {
        workers: vec![(WorkerId::new("unknown"), vec![1])],
        ..SettingsChange::default()
    };
    change(&scene, unknown).await;
    assert_eq!(scene.workers(seconds(1_000_000)).await.len(), 1);
    let worker = worker_record("w");
    scene.heartbeat(&worker).await;
    assert_eq!(
        scene.workers(seconds(1_000_000)).await[0].worker.settings,
        None
    );
    let forgotten = scene.store().forget_worker(&WorkerId::new("w")).await;
    forgotten.expect("a worker can be forgotten");
    having(&scene, "w", &[]).await;
    assert_eq!(
        scene.workers(seconds(1_000_000)).await[0].settings,
        [0_u64; 0]
    );
}

pub async fn a_run_goes_to_a_worker_that_has_its_settings<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    having(&scene, "old", &[1]).await;
    having(&scene, "new", &[2]).await;
    let run = queue_for(&scene, "a", "1", 2).await;
    for without in ["old", "unknown"] {
        assert_eq!(acquire(&scene, without).await, None);
    }
    // The run waits, and does not count as one that no worker could take.
    assert_eq!(scene.next_due().await, Some(seconds(0)));
    let waiting = scene.waiting_runs(seconds(0)).await;
    assert_eq!(waiting[0].settings, Some(2));
    let any = scene.queue("b", "1").await;
    let lease = acquire(&scene, "old").await.expect("it needs no settings");
    assert_eq!(lease.run, any);
    let lease = acquire(&scene, "new").await.expect("it has the settings");
    assert_eq!(lease.run, run);
}

pub async fn a_worker_that_reports_no_settings_gets_any_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = queue_for(&scene, "a", "1", 2).await;
    assert_eq!(scene.lease().await.run, run);
}

pub async fn plans_go_to_workers_with_the_settings_that_follow<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    having(&scene, "new", &[2]).await;
    let apply = queue_for(&scene, "a", "1", 1).await;
    let plan = needing(scene.plan_request("b", "1"), 1);
    let id = plan.run;
    let queued = scene.store().enqueue(scene.leader(), vec![plan]).await;
    queued.expect("a plan can be queued");
    assert_eq!(acquire(&scene, "new").await, None);
    let moved = SettingsChange {
        moved: vec![(1, 2)],
        ..SettingsChange::default()
    };
    change(&scene, moved).await;
    let lease = acquire(&scene, "new").await.expect("the plan has moved");
    assert_eq!(lease.run, id);
    // A change that is queued is not moved: the planner queues it again.
    assert_eq!(acquire(&scene, "new").await, None);
    assert_eq!(scene.lease().await.run, apply);
}
