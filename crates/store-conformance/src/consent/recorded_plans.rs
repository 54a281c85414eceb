//! Plans of runs as data.

use cts_core::RunId;
use cts_core::lease::PlanKey;
use cts_core::{LeaseEpoch, WorkerId};

use crate::Fixture;
use crate::scene::{Scene, noise, seconds};
use cts_store::{APPLY_PLANS_KEPT, INSPECTION_PLANS_KEPT, Lease, LeaseError, Removed};

/// More than the number of ended runs that have a plan.
const ALL_RUNS: u32 = 100;

pub(crate) async fn record<F: Fixture>(
    scene: &Scene<F>,
    lease: &Lease,
    content: &[u8],
) -> Result<(), LeaseError> {
    let (run, epoch) = (lease.run, lease.epoch);
    let store = scene.store();
    store.record_plan(run, &lease.holder, epoch, content).await
}

async fn recorded<F: Fixture>(scene: &Scene<F>, run: RunId) -> Option<Vec<u8>> {
    let plan = scene.store().recorded_plan(run).await;
    plan.expect("plans can be read")
}

async fn has_plan<F: Fixture>(scene: &Scene<F>, run: RunId) -> bool {
    recorded(scene, run).await.is_some()
}

/// Applies an input, with a plan of this many bytes.
async fn applied<F: Fixture>(scene: &Scene<F>, name: &str, text: &str, bytes: usize) -> RunId {
    scene.advance(seconds(1));
    let lease = scene.leased(name, text).await;
    let recorded = record(scene, &lease, &vec![7; bytes]).await;
    recorded.expect("a live lease can record");
    scene.applied(&lease).await;
    lease.run
}

async fn inspected<F: Fixture>(scene: &Scene<F>, name: &str) -> RunId {
    scene.advance(seconds(1));
    scene.queue_plan(name, "inspected").await;
    let lease = scene.lease().await;
    let recorded = record(scene, &lease, b"inspected").await;
    recorded.expect("a live lease can record");
    scene.planned(&lease, "").await;
    lease.run
}

async fn space<F: Fixture>(scene: &Scene<F>) -> u64 {
    let space = scene.store().plan_space().await;
    space.expect("plans can be measured")
}

async fn remove<F: Fixture>(scene: &Scene<F>, bytes: u64) -> Removed {
    let removed = scene.store().remove_plans(bytes).await;
    removed.expect("plans can be removed")
}

pub async fn the_first_key_of_plans_stays<F: Fixture>() {
    let mut scene = Scene::<F>::unled().await;
    for byte in [7, 8] {
        let key = scene.store().plan_key(&PlanKey::new([byte; 32])).await;
        assert_eq!(key.expect("a key"), PlanKey::new([7; 32]));
        scene.restart().await;
    }
}

pub async fn a_plan_is_replaced_by_the_holder_of_the_lease_alone<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    let first = scene.leased("a", "1").await;
    assert_eq!(recorded(&scene, first.run).await, None);
    let large = noise(1 << 20);
    for content in [&b""[..], &large] {
        for _ in 0..2 {
            let done = record(&scene, &first, content).await;
            done.expect("a live lease can record");
        }
        assert_eq!(recorded(&scene, first.run).await.as_deref(), Some(content));
    }
    scene.restart().await;
    assert_eq!(recorded(&scene, first.run).await.as_ref(), Some(&large));

    let other = Lease {
        holder: WorkerId::new("other"),
        ..first.clone()
    };
    let later = Lease {
        epoch: LeaseEpoch::new(first.epoch.get() + 1),
        ..first.clone()
    };
    scene.interrupted(&first).await;
    for lost in [&first, &other, &later] {
        let refused = record(&scene, lost, b"lost").await;
        assert!(matches!(refused, Err(LeaseError::Lost { .. })));
    }
    let second = scene.lease().await;
    assert_eq!(second.run, first.run);
    let refused = record(&scene, &first, b"lost").await;
    assert!(matches!(refused, Err(LeaseError::Lost { .. })));
    assert_eq!(recorded(&scene, first.run).await, Some(large));
    let replaced = record(&scene, &second, b"second").await;
    replaced.expect("a live lease can record");
    scene.applied(&second).await;
    let refused = record(&scene, &second, b"ended").await;
    assert!(matches!(refused, Err(LeaseError::Lost { .. })));
    assert_eq!(
        recorded(&scene, first.run).await.as_deref(),
        Some(&b"second"[..])
    );
}

pub async fn the_newest_plans_of_a_task_stay<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let mut applies = vec![applied(&scene, "b", "1", 1).await];
    let mut inspections = vec![inspected(&scene, "b").await];
    for number in 0..APPLY_PLANS_KEPT + 2 {
        applies.push(applied(&scene, "a", &number.to_string(), 1).await);
    }
    for _ in 0..INSPECTION_PLANS_KEPT + 2 {
        inspections.push(inspected(&scene, "a").await);
    }
    let running = scene.leased("a", "running").await;
    let recorded = record(&scene, &running, b"running").await;
    recorded.expect("a live lease can record");
    scene.prune(ALL_RUNS).await;
    for runs in [&applies, &inspections] {
        for (place, run) in runs.iter().enumerate() {
            let is_surplus = (1..3).contains(&place);
            assert_eq!(has_plan(&scene, *run).await, !is_surplus, "{place}");
            assert!(scene.find_run(*run).await.is_some());
        }
    }
    assert!(has_plan(&scene, running.run).await);
}

pub async fn plans_go_with_their_runs_and_tasks<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.created("gone").await;
    let kept = applied(&scene, "a", "1", 1).await;
    let of_task = applied(&scene, "gone", "1", 1).await;
    scene.delete("gone").await;
    scene.created("gone").await;
    let of_next = applied(&scene, "gone", "2", 1).await;
    scene.prune(ALL_RUNS).await;
    assert!(scene.find_run(of_task).await.is_some());
    assert!(!has_plan(&scene, of_task).await);
    assert!(has_plan(&scene, kept).await && has_plan(&scene, of_next).await);
    scene.prune(0).await;
    assert!(!has_plan(&scene, kept).await);
    assert_eq!(space(&scene).await, 0);
}

pub async fn the_oldest_plans_of_ended_runs_go_first<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    assert_eq!(space(&scene).await, 0);
    let running = scene.leased("c", "1").await;
    let recorded = record(&scene, &running, &[7; 500]).await;
    recorded.expect("a live lease can record");
    let mut runs = Vec::new();
    for number in 0..4 {
        let name = ["a", "b"][number % 2];
        runs.push(applied(&scene, name, &number.to_string(), 1000).await);
    }
    assert_eq!(space(&scene).await, 4500);
    assert_eq!(remove(&scene, 0).await, Removed::default());
    let removed = |runs, bytes| Removed { runs, bytes };
    assert_eq!(remove(&scene, 1).await, removed(1, 1000));
    assert_eq!(remove(&scene, 1001).await, removed(2, 2000));
    for (run, stays) in runs.iter().zip([false, false, false, true]) {
        assert_eq!(has_plan(&scene, *run).await, stays);
    }
    assert_eq!(remove(&scene, u64::MAX).await, removed(1, 1000));
    assert_eq!(space(&scene).await, 500, "its run is running");
    assert!(has_plan(&scene, running.run).await);
    scene.applied(&running).await;
    assert_eq!(remove(&scene, 1).await, removed(1, 500));
}
