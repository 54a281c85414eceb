//! Inputs that the shrink limit blocks.

use std::sync::Arc;

use cts_core::runs::EnqueueDecision::{Block, Enqueue, Skip, Supersede};
use cts_core::runs::{EnqueueDecision, RunKind};
use cts_core::{
    CompleteInput, Digest, FrozenInput, HealthStatus, Labels, Loss, ServiceInstance, TaskSpec,
    ViewItems, ViewSnapshot,
};

use crate::Fixture;
use crate::scene::{Scene, guarded, spec, task};
use cts_store::{EnqueueRequest, Enqueued, TaskError};

/// A request of a task that may lose half of its instances, with an input of this many instances.
pub(crate) fn with<F: Fixture>(scene: &Scene<F>, instances: u32) -> EnqueueRequest {
    EnqueueRequest {
        guarded: Some(guarded("50%", &[("web", instances)])),
        ..scene.request("a", &instances.to_string())
    }
}

async fn enqueue<F: Fixture>(scene: &Scene<F>, instances: u32) -> Enqueued {
    scene
        .request_all(vec![with(scene, instances)])
        .await
        .remove(0)
}

pub(crate) async fn decide<F: Fixture>(scene: &Scene<F>, instances: u32) -> EnqueueDecision {
    let decision = enqueue(scene, instances).await.decision;
    decision.expect("the task is there")
}

pub(crate) async fn apply<F: Fixture>(scene: &Scene<F>, instances: u32) {
    assert_eq!(decide(scene, instances).await, Enqueue);
    let lease = scene.lease().await;
    scene.applied(&lease).await;
}

/// The losses that block the task, as pairs of instances before and now; asserts that its mark agrees.
pub(crate) async fn held<F: Fixture>(scene: &Scene<F>) -> Vec<(u32, u32)> {
    let marks = scene.store().task_marks().await;
    let mark = marks.expect("tasks can be listed").remove(0);
    let state = scene.state("a").await;
    assert_eq!(mark.held, state.held.is_some());
    let losses = state.held.map_or_else(Vec::new, |blocked| blocked.losses);
    losses
        .into_iter()
        .map(|loss| (loss.applied, loss.now))
        .collect()
}

pub async fn large_loss_is_blocked_until_the_instances_are_back<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    let answer = enqueue(&scene, 4).await;
    assert_eq!((answer.decision, answer.queued), (Some(Block), None));
    assert_eq!(answer.losses.len(), 1);
    assert_eq!(held(&scene).await, [(10, 4)]);
    let since = scene.state("a").await.held.map(|blocked| blocked.since);
    scene.advance(crate::scene::seconds(60));
    assert_eq!(decide(&scene, 3).await, Block);
    assert_eq!(held(&scene).await, [(10, 3)]);
    let state = scene.state("a").await;
    assert_eq!(state.held.map(|blocked| blocked.since), since);
    let version = scene.version().await;
    assert_eq!(
        decide(&scene, 10).await,
        Skip {
            cancel_queued: false
        }
    );
    assert_eq!(held(&scene).await, []);
    assert_ne!(scene.version().await, version);
    assert_eq!(decide(&scene, 5).await, Enqueue);
}

pub async fn released_losses_count_as_applied<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let name = task("a");
    let store = scene.store();
    assert_eq!(store.release_task(&name, None).await.expect("a task"), None);
    apply(&scene, 10).await;
    assert_eq!(decide(&scene, 4).await, Block);
    let released = store.release_task(&name, None).await.expect("a task");
    assert_eq!(released.map(|blocked| blocked.losses[0].now), Some(4));
    assert_eq!(held(&scene).await, []);
    assert_eq!(store.release_task(&name, None).await.expect("a task"), None);
    // More is lost before the leader evaluates the task again.
    assert_eq!(decide(&scene, 1).await, Block);
    assert_eq!(held(&scene).await, [(4, 1)]);
    apply(&scene, 4).await;
    assert_eq!(held(&scene).await, []);
    let unknown = store.release_task(&task("b"), None).await;
    assert!(matches!(unknown, Err(TaskError::Unknown)), "{unknown:?}");
}

pub async fn requested_run_passes_the_limit_and_reports_its_losses<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    // An earlier change waits.
    assert_eq!(decide(&scene, 9).await, Enqueue);
    assert_eq!(decide(&scene, 2).await, Block);
    let queued = scene.state("a").await.held;
    assert!(queued.is_some());
    let run = scene.ask("a", RunKind::Apply).await;
    let request = EnqueueRequest {
        run,
        ..with(&scene, 2)
    };
    let answer = scene.request_all(vec![request]).await.remove(0);
    assert_eq!(
        (answer.decision, answer.queued),
        (Some(Supersede), Some(run))
    );
    assert_eq!(answer.losses.len(), 1);
    assert_eq!(held(&scene).await, []);
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    assert_eq!(decide(&scene, 1).await, Enqueue, "2 are applied now");
}

/// A task that may lose half of its instances.
fn limited() -> TaskSpec {
    let guard = guarded("50%", &[]).guard;
    let mut limited = spec("a");
    limited.file_settings.guard = guard;
    limited
}

pub async fn small_losses_while_applies_fail_are_one_large_one<F: Fixture>() {
    let scene = Scene::<F>::configured(&[limited()]).await;
    apply(&scene, 8).await;
    assert_eq!(decide(&scene, 7).await, Enqueue);
    let lease = scene.lease().await;
    assert_eq!(decide(&scene, 4).await, Enqueue);
    scene.failed(&lease, "no").await;
    let mut lease = scene.lease().await;
    // Each is half of what runs.
    for (now, attempt) in [(2, 1), (1, 2)] {
        assert_eq!(lease.attempt, attempt);
        assert_eq!(decide(&scene, now).await, Block);
        let completed = scene.failed(&lease, "no").await;
        assert_eq!(held(&scene).await, [(8, now)]);
        scene.advance(completed.next_due.expect("it is tried again"));
        lease = scene.lease().await;
    }
    scene.applied(&lease).await;
    assert_eq!(held(&scene).await, [(4, 1)]);
    assert_eq!(scene.acquire().await, None);
    assert_eq!(decide(&scene, 2).await, Enqueue);
}

pub async fn a_release_is_for_what_its_caller_has_seen<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    assert_eq!(decide(&scene, 3).await, Block);
    let release = async |seen: &[Loss]| {
        let released = scene.store().release_task(&task("a"), Some(seen)).await;
        released.map(|blocked| blocked.is_some())
    };
    let seen = |now| Loss {
        service: "web".to_owned(),
        applied: 0,
        now,
    };
    let losses = match release(&[seen(4)]).await {
        Err(TaskError::LostMore { losses }) => Some(losses),
        _ => None,
    };
    let losses = losses.expect("it has lost more than was seen");
    assert_eq!((losses[0].applied, losses[0].now), (10, 3));
    assert_eq!(held(&scene).await, [(10, 3)]);
    assert!(release(&[seen(3)]).await.is_ok_and(|released| released));
    assert!(release(&[]).await.is_ok_and(|released| !released));
    let unknown = scene.store().release_task(&task("b"), Some(&[])).await;
    assert!(matches!(unknown, Err(TaskError::Unknown)), "{unknown:?}");
}

/// An input that was frozen from data, with this many instances of `web`.
fn frozen(instances: u32) -> FrozenInput {
    let instance = |number: u32| ServiceInstance {
        id: format!("web-{number}"),
        name: "web".to_owned(),
        kind: String::new(),
        address: String::new(),
        port: 1,
        meta: Labels::default(),
        tags: Vec::new(),
        namespace: String::new(),
        status: HealthStatus::Passing,
        node: String::new(),
        node_id: String::new(),
        node_address: String::new(),
        node_datacenter: String::new(),
        node_tagged_addresses: Labels::default(),
        node_meta: Labels::default(),
        ports: Vec::new(),
    };
    let snapshot = ViewSnapshot::new(1, (0..instances).map(instance));
    let shown = Arc::new(ViewItems::of(&snapshot));
    let definition = Arc::new(spec("a").definition);
    let input = CompleteInput::new(definition, |_| Some(Arc::clone(&shown)), None);
    let input = input.expect("all views are read").freeze(Digest::of(b"s"));
    input.expect("it can be frozen")
}

pub async fn a_limit_that_is_added_counts_from_what_is_applied<F: Fixture>() {
    for runs in [false, true] {
        let scene = Scene::<F>::new(&["a"]).await;
        let unlimited = EnqueueRequest {
            input: frozen(8),
            ..scene.request("a", "")
        };
        scene.request_all(vec![unlimited]).await;
        let lease = scene.lease().await;
        if !runs {
            scene.applied(&lease).await;
        }
        let lost = EnqueueRequest {
            input: frozen(3),
            ..with(&scene, 3)
        };
        let answer = scene.request_all(vec![lost]).await.remove(0);
        assert_eq!(answer.decision, Some(Block), "{runs}");
        assert_eq!(held(&scene).await, [(8, 3)]);
        if runs {
            scene.applied(&lease).await;
            assert_eq!(decide(&scene, 3).await, Block);
        }
    }
}
