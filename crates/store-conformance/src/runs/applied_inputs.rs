//! The input that a task applied last.

use crate::Fixture;
use crate::scene::{Scene, input, seconds, spec, task, unretried};
use cts_store::Retention;

/// The text of the applied input of a task, which must be one of these.
async fn applied<F: Fixture>(scene: &Scene<F>, name: &str, of: &[&str]) -> Option<String> {
    let names = [task(name), task("unknown")];
    let inputs = scene.store().applied_inputs(&names).await;
    let inputs = inputs.expect("applied inputs can be read");
    assert!(inputs.len() < 2, "{inputs:?}");
    let (of_task, hash) = inputs.first()?;
    assert_eq!(*of_task, task(name));
    let text = of.iter().find(|text| input(text).hash == *hash);
    Some((*text.expect("it is one of these")).to_owned())
}

pub async fn an_applied_input_stays_while_a_newer_one_is_queued_or_failed<F: Fixture>() {
    let scene = Scene::<F>::configured(&[unretried("a"), spec("b")]).await;
    let now = async |scene: &Scene<F>| applied(scene, "a", &["1", "2", "3", "other"]).await;
    scene.apply("b", "other").await;
    assert_eq!(now(&scene).await, None, "it was never applied");
    let lease = scene.leased("a", "1").await;
    assert_eq!(
        now(&scene).await.as_deref(),
        Some("1"),
        "it is being applied"
    );
    scene.fail_thrice(lease).await;
    assert_eq!(now(&scene).await, None);
    scene.advance(seconds(1));
    scene.apply("a", "2").await;
    assert_eq!(now(&scene).await.as_deref(), Some("2"));
    scene.advance(seconds(1));
    scene.queue("a", "3").await;
    assert_eq!(now(&scene).await.as_deref(), Some("2"));
    let lease = scene.lease().await;
    assert_eq!(now(&scene).await.as_deref(), Some("3"));
    scene.failed(&lease, "broken").await;
    assert_eq!(now(&scene).await.as_deref(), Some("2"));
}

pub async fn a_plan_applies_nothing<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let now = async |scene: &Scene<F>| applied(scene, "a", &["1", "2"]).await;
    scene.apply("a", "1").await;
    scene.advance(seconds(1));
    scene.queue_plan("a", "2").await;
    let lease = scene.lease().await;
    assert_eq!(now(&scene).await.as_deref(), Some("1"));
    scene.planned(&lease, "the plan").await;
    assert_eq!(now(&scene).await.as_deref(), Some("1"));
}

pub async fn a_later_task_of_the_same_name_has_no_applied_input<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    scene.created("a").await;
    scene.apply("a", "1").await;
    scene.delete("a").await;
    scene.advance(seconds(1));
    scene.created("a").await;
    let seen = applied(&scene, "a", &["1"]).await;
    assert_eq!(seen, None);
}

pub async fn an_applied_input_outlives_a_new_definition_and_a_restart<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let mut changed = spec("a");
    changed.definition.description.push_str(" once more");
    scene.configure(&[changed]).await;
    scene.restart().await;
    assert_eq!(applied(&scene, "a", &["1"]).await.as_deref(), Some("1"));
}

pub async fn pruning_keeps_the_applied_input_however_many_runs_failed<F: Fixture>() {
    let scene = Scene::<F>::configured(&[unretried("a"), spec("gone")]).await;
    scene.apply("a", "0").await;
    scene.apply("gone", "0").await;
    scene.advance(seconds(1));
    scene.apply("a", "1").await;
    for round in 2..10 {
        scene.advance(seconds(1));
        let lease = scene.leased("a", &format!("{round}")).await;
        scene.fail_thrice(lease).await;
    }
    scene.configure(&[unretried("a")]).await;
    scene.advance(seconds(100));
    let retention = Retention {
        runs: 2,
        age: seconds(50),
    };
    let pruned = scene.store().prune(retention).await;
    assert!(pruned.expect("old runs can be forgotten") >= 6);
    assert_eq!(
        applied(&scene, "a", &["0", "1"]).await.as_deref(),
        Some("1")
    );
    let stored = scene.store().input(input("1").hash).await;
    assert!(stored.expect("inputs can be read").is_some());
    let stored = scene.store().input(input("0").hash).await;
    assert_eq!(stored.expect("inputs can be read"), None);
}
