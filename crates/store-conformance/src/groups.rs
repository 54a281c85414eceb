//! Concurrency groups: at most one task of a group applies at a time.

use std::time::Duration;

use cts_core::{TaskSpec, WorkerId};
use futures::future::join_all;

use super::Fixture;
use super::scene::{Scene, claim, spec, task};
use cts_store::Claim;

const GROUP: &str = "firewall of 'edge'";

fn grouped(name: &str) -> TaskSpec {
    TaskSpec {
        file_settings: cts_core::FileSettings {
            concurrency_group: Some(GROUP.to_owned()),
            ..cts_core::FileSettings::default()
        },
        ..spec(name)
    }
}

/// Tasks `a` and `b` of a group, and `c` of none, each with a queued run.
async fn three<F: Fixture>() -> Scene<F> {
    let scene = Scene::<F>::configured(&[grouped("a"), grouped("b"), spec("c")]).await;
    for name in ["a", "b", "c"] {
        scene.queue(name, "1").await;
    }
    scene
}

async fn applying<F: Fixture>(scene: &Scene<F>) -> Option<String> {
    let applying = scene.store().applying_of_group(GROUP).await;
    let applying = applying.expect("the running apply of a group can be read");
    applying.map(|name| name.to_string())
}

async fn assert_nothing_is_ready<F: Fixture>(scene: &Scene<F>) {
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.queue_depth().await.ready, 0);
    let next = scene.store().next_due().await;
    assert_eq!(next.expect("the next due run can be read"), None);
    let waiting = scene.store().waiting_runs(Duration::ZERO).await;
    assert_eq!(waiting.expect("waiting runs can be read"), []);
}

pub async fn of_a_group_one_applies_at_a_time<F: Fixture>() {
    let scene = three::<F>().await;
    assert_eq!(applying(&scene).await, None);
    let first = scene.lease().await;
    assert_eq!(first.task, task("a"));
    assert_eq!(applying(&scene).await.as_deref(), Some("a"));
    assert_eq!(scene.queue_depth().await.ready, 1);
    let other = scene.lease().await;
    assert_eq!(other.task, task("c"));
    assert_nothing_is_ready(&scene).await;

    scene.applied(&first).await;
    assert_eq!(applying(&scene).await, None);
    let second = scene.lease().await;
    assert_eq!(second.task, task("b"));
    assert_eq!(applying(&scene).await.as_deref(), Some("b"));
}

pub async fn parallel_calls_lease_one_apply_of_a_group<F: Fixture>() {
    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let scene = Scene::<F>::configured(&NAMES.map(grouped)).await;
    for name in NAMES {
        scene.queue(name, "1").await;
    }
    for _ in NAMES {
        let calls = (0..8).map(|number| {
            let claim = Claim {
                worker: WorkerId::new(format!("worker-{number}")),
                ..claim()
            };
            let store = scene.store();
            async move { store.acquire(&claim).await }
        });
        let leases: Vec<_> = join_all(calls)
            .await
            .into_iter()
            .filter_map(|lease| lease.expect("runs can be leased"))
            .collect();
        assert_eq!(leases.len(), 1, "so many applies of a group were leased");
        scene.applied(&leases[0]).await;
    }
    assert_eq!(scene.queue_depth().await.queued, 0);
}
