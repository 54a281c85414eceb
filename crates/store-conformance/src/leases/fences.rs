//! Behaviours of fencing: calls of a replica that does not lead change nothing.

use cts_core::LeaderEpoch;
use cts_core::runs::RunStatus;

use crate::Fixture;
use crate::scene::{
    LEASE, MICROSECOND, Scene, incomplete, input, member, seconds, spec, task, worker_record,
};
use cts_store::{LeaderError, Lease};

/// A leader with something to write of each kind: a lease of task `a` that has expired, and a
/// worker that has been silent for a day.
async fn with_duties<F: Fixture>() -> (Scene<F>, Lease) {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.heartbeat(&worker_record("silent")).await;
    let lease = scene.leased("a", "1").await;
    scene.advance(seconds(24 * 3600).max(LEASE));
    (scene, lease)
}

/// Everything that calls of a leader can change, as text.
async fn seen<F: Fixture>(scene: &Scene<F>, lease: &Lease) -> [String; 6] {
    let store = scene.store();
    let tasks = store.tasks().await.expect("tasks can be read");
    let workers = scene.workers(seconds(1_000_000)).await;
    let depth = store.queue_depth().await;
    let late = store.input(input("late").hash).await;
    [
        format!("{tasks:?}"),
        format!("{:?}", scene.run(lease.run).await),
        format!("{:?}", depth.expect("the depth of the queue can be read")),
        format!("{:?}", late.expect("inputs can be read")),
        format!("{:?}", scene.next_due().await),
        format!("{}", workers.len()),
    ]
}

async fn assert_deposed<F: Fixture>(scene: &Scene<F>, lease: &Lease, epoch: LeaderEpoch) {
    let store = scene.store();
    let before = seen(scene, lease).await;
    let deposed = |answer: Result<(), LeaderError>| {
        let named = match &answer {
            Err(LeaderError::Deposed { epoch }) => Some(*epoch),
            _ => None,
        };
        assert_eq!(named, Some(epoch), "{answer:?}");
    };
    let mut changed = spec("a");
    changed.enabled = false;
    for specs in [vec![], vec![spec("a"), spec("b")], vec![spec("c"), changed]] {
        deposed(store.replace_config_tasks(epoch, &specs).await.map(drop));
    }
    let requests = ["a", "b", "unknown"].map(|name| scene.request(name, "late"));
    deposed(store.enqueue(epoch, requests.into()).await.map(drop));
    deposed(store.enqueue(epoch, Vec::new()).await.map(drop));
    deposed(store.reap(epoch, &scene.expired_leases(4)).await.map(drop));
    deposed(store.refuse(epoch, lease.run, &incomplete("late")).await);
    deposed(
        store
            .explain(epoch, &[(task("a"), "late".to_owned())])
            .await,
    );
    deposed(store.explain(epoch, &[]).await);
    deposed(store.reset_tasks(epoch, scene.archive_id()).await.map(drop));
    assert_eq!(seen(scene, lease).await, before);
}

/// The writes that were refused wait for the next leader.
async fn assert_accepted<F: Fixture>(scene: &Scene<F>, lease: &Lease, epoch: LeaderEpoch) {
    let store = scene.store();
    let reaped = store
        .reap(epoch, &scene.expired_leases(4))
        .await
        .expect("the leader can reap");
    assert_eq!(reaped.len(), 1);
    assert_eq!(scene.run(lease.run).await.status, RunStatus::Queued);
    let workers = store.workers(seconds(1_000_000)).await;
    assert_eq!(workers.expect("workers can be listed"), []);
    let request = scene.request("b", "2");
    let run = request.run;
    let enqueued = store.enqueue(epoch, vec![request]).await;
    assert_eq!(
        enqueued.expect("the leader can enqueue")[0].queued,
        Some(run)
    );
    let replaced = store.replace_config_tasks(epoch, &[spec("b")]).await;
    replaced.expect("the leader can configure");
    assert_eq!(scene.run(lease.run).await.status, RunStatus::Cancelled);
}

pub async fn refuses_every_epoch_before_the_first_leader<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let store = scene.store();
    for epoch in [0, 1, u64::MAX] {
        let epoch = LeaderEpoch::new(epoch);
        let configured = store.replace_config_tasks(epoch, &[spec("a")]).await;
        assert!(
            matches!(configured, Err(LeaderError::Deposed { .. })),
            "{configured:?}"
        );
        let reaped = store.reap(epoch, &scene.expired_leases(4)).await;
        assert!(
            matches!(reaped, Err(LeaderError::Deposed { .. })),
            "{reaped:?}"
        );
    }
    assert_eq!(store.tasks().await.expect("tasks can be read"), []);
}

/// Another replica, another life of the same one, or so far none has taken over.
pub async fn an_earlier_leader_is_not_obeyed<F: Fixture>() {
    for how in 0..3 {
        let (scene, lease) = with_duties::<F>().await;
        let old = scene.leader();
        if how != 1 {
            scene.resign(&member("leader")).await;
        }
        if how == 2 {
            assert_deposed(&scene, &lease, old).await;
        }
        let new = if how == 0 {
            scene.lead_as("other", None, seconds(15)).await.epoch
        } else {
            scene.lead().await;
            scene.leader()
        };
        assert_deposed(&scene, &lease, old).await;
        assert_accepted(&scene, &lease, new).await;
    }
}

pub async fn an_epoch_that_was_never_granted_is_not_obeyed<F: Fixture>() {
    let (scene, lease) = with_duties::<F>().await;
    let next = scene.leader().get() + 1;
    for epoch in [0, next, u64::MAX] {
        assert_deposed(&scene, &lease, LeaderEpoch::new(epoch)).await;
    }
    assert_accepted(&scene, &lease, scene.leader()).await;
}

pub async fn an_expired_leader_is_not_obeyed_though_nobody_took_over<F: Fixture>() {
    let (scene, lease) = with_duties::<F>().await;
    let epoch = scene.leader();
    scene.lead_as("leader", Some(epoch), seconds(15)).await;
    scene.advance(seconds(15).checked_sub(MICROSECOND).expect("it is shorter"));
    let enqueued = scene.store().enqueue(epoch, Vec::new()).await;
    assert_eq!(enqueued.expect("the lease has not expired"), []);
    scene.advance(MICROSECOND);
    assert_deposed(&scene, &lease, epoch).await;
    let back = scene.lead_as("leader", Some(epoch), seconds(15)).await;
    assert_deposed(&scene, &lease, epoch).await;
    assert_accepted(&scene, &lease, back.epoch).await;
}

pub async fn a_fence_holds_over_a_restart<F: Fixture>() {
    let (mut scene, lease) = with_duties::<F>().await;
    let old = scene.leader();
    scene.lead().await;
    scene.restart().await;
    assert_deposed(&scene, &lease, old).await;
    assert_accepted(&scene, &lease, scene.leader()).await;
}
