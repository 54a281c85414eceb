//! Packed modules.

use std::sync::Arc;

use cts_core::{BundleReference, CompleteInput, Condition, Digest, TaskDefinition};

use crate::Fixture;
use crate::scene::{MICROSECOND, Scene, input, noise, seconds, spec};
use cts_store::EnqueueRequest;

const WEEK: u64 = 7 * 24 * 3600;

async fn store<F: Fixture>(scene: &Scene<F>, bytes: &[u8]) -> Digest {
    let hash = Digest::of(bytes);
    store_under(scene, hash, bytes).await;
    hash
}

async fn store_under<F: Fixture>(scene: &Scene<F>, hash: Digest, bytes: &[u8]) {
    let stored = scene.store().store_bundle(hash, bytes).await;
    stored.expect("bundles can be stored");
}

async fn bundle<F: Fixture>(scene: &Scene<F>, hash: Digest) -> Option<Vec<u8>> {
    let bundle = scene.store().bundle(hash).await;
    bundle.expect("bundles can be read")
}

async fn keep<F: Fixture>(scene: &Scene<F>, hashes: &[Digest]) -> Vec<Digest> {
    let missing = scene.store().keep_bundles(hashes).await;
    missing.expect("bundles can be kept")
}

async fn prune<F: Fixture>(scene: &Scene<F>) {
    assert_eq!(scene.prune(100).await, 0);
}

pub async fn bundles_come_back_byte_for_byte<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    for bytes in [
        vec![],
        vec![0],
        every_byte,
        vec![7; 3 << 20],
        noise(3 << 20),
    ] {
        let hash = store(&scene, &bytes).await;
        assert!(bundle(&scene, hash).await == Some(bytes), "{hash} changed");
    }
}

pub async fn an_unknown_bundle_is_not_there<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    store(&scene, b"bundle").await;
    scene.queue("a", "input").await;
    assert_eq!(bundle(&scene, Digest::of(b"unknown")).await, None);
    assert_eq!(bundle(&scene, input("input").hash).await, None);
    let input = scene.store().input(Digest::of(b"bundle")).await;
    assert_eq!(input.expect("inputs can be read"), None);
}

/// Two replicas may pack one module at the same time.
pub async fn a_bundle_is_stored_once<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let hash = store(&scene, b"first").await;
    store_under(&scene, hash, b"first").await;
    store_under(&scene, hash, b"other").await;
    assert_eq!(bundle(&scene, hash).await, Some(b"first".to_vec()));
}

pub async fn keeping_tells_which_bundles_are_missing<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    assert_eq!(keep(&scene, &[]).await, []);
    let there = store(&scene, b"there").await;
    let missing: Vec<_> = (0..5).map(|number| Digest::of(&[number])).collect();
    for order in [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1]] {
        let mut asked: Vec<_> = order.iter().map(|place| missing[*place]).collect();
        let expected = asked.clone();
        asked.insert(2, there);
        asked.push(asked[0]);
        assert_eq!(keep(&scene, &asked).await, expected);
    }
    assert_eq!(keep(&scene, &[there, there]).await, []);
    assert_eq!(bundle(&scene, missing[0]).await, None);
    store(&scene, &[0]).await;
    assert_eq!(keep(&scene, &missing).await, missing[1..]);
}

pub async fn bundles_are_forgotten_after_a_week_out_of_use<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let [unused, kept, stored_again] = [
        store(&scene, b"unused").await,
        store(&scene, b"kept").await,
        store(&scene, b"stored again").await,
    ];
    scene.advance(MICROSECOND);
    assert_eq!(keep(&scene, &[kept]).await, []);
    store(&scene, b"stored again").await;
    let almost = seconds(WEEK).checked_sub(MICROSECOND * 2);
    scene.advance(almost.expect("a week is longer"));
    prune(&scene).await;
    assert!(bundle(&scene, unused).await.is_some());
    scene.advance(MICROSECOND);
    prune(&scene).await;
    assert_eq!(bundle(&scene, unused).await, None);
    assert!(bundle(&scene, kept).await.is_some());
    assert!(bundle(&scene, stored_again).await.is_some());
    assert_eq!(keep(&scene, &[unused, kept]).await, [unused]);
    scene.advance(MICROSECOND);
    prune(&scene).await;
    assert!(bundle(&scene, kept).await.is_some());
    assert_eq!(bundle(&scene, stored_again).await, None);
    // An unused bundle can be stored again after it was removed.
    store(&scene, b"unused").await;
    prune(&scene).await;
    assert_eq!(bundle(&scene, unused).await, Some(b"unused".to_vec()));
}

/// A request to apply an input that names this bundle.
fn naming<F: Fixture>(scene: &Scene<F>, name: &str, bundle: Digest) -> EnqueueRequest {
    let definition = TaskDefinition {
        bundle: Some(BundleReference {
            hash: bundle,
            module: "module".into(),
        }),
        condition: Condition::NoCondition,
        ..spec(name).definition
    };
    let complete = CompleteInput::new(Arc::new(definition), |_view| None, None);
    let complete = complete.expect("it has no views");
    let input = complete.freeze(Digest::of(b"settings"));
    EnqueueRequest {
        input: input.expect("the suite uses valid inputs"),
        ..scene.request(name, "")
    }
}

pub async fn bundles_that_runs_and_destructions_need_stay<F: Fixture>() {
    let names = ["applied", "cancelled", "gone", "running", "queued"];
    let scene = Scene::<F>::new(&names).await;
    let (mut needed, mut unused) = (Vec::new(), Vec::new());
    for name in names {
        let earlier = store(&scene, format!("earlier of {name}").as_bytes()).await;
        scene.queue_new(naming(&scene, name, earlier)).await;
        let lease = scene.lease().await;
        scene.applied(&lease).await;
        scene.advance(seconds(1));
        let bundle = store(&scene, name.as_bytes()).await;
        scene.queue_new(naming(&scene, name, bundle)).await;
        match name {
            "gone" => unused.extend([earlier, bundle]),
            "applied" => {
                unused.push(earlier);
                needed.push(bundle);
            }
            _ => needed.push(bundle),
        }
        if name == "queued" {
            continue;
        }
        let lease = scene.lease().await;
        match name {
            "cancelled" => {
                scene.queue(name, "never leased").await;
                scene.interrupted(&lease).await;
                scene.enable(name, false).await;
            }
            "running" => {}
            _ => drop(scene.applied(&lease).await),
        }
    }
    assert!(scene.delete("gone").await);
    for _ in 0..3 {
        scene.advance(seconds(WEEK + 1));
        prune(&scene).await;
        for bundle_needed in &needed {
            assert!(bundle(&scene, *bundle_needed).await.is_some());
        }
        for bundle_unused in &unused {
            assert_eq!(bundle(&scene, *bundle_unused).await, None);
        }
    }
}

pub async fn bundles_outlive_a_restart<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[]).await;
    let hash = store(&scene, b"bundle").await;
    scene.restart().await;
    scene.release_all().await;
    assert_eq!(bundle(&scene, hash).await, Some(b"bundle".to_vec()));
    assert_eq!(keep(&scene, &[hash]).await, []);
}
