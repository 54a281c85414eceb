//! Scenes with a queued run that the brake of the fleet holds.

use cts_core::{RunId, TaskSpec};

use super::brake::{apply, enqueue, input, is_held, set};
use crate::Fixture;
use crate::scene::{Scene, spec};

/// A scene with these tasks, each with ten instances applied.
pub(crate) async fn applied<F: Fixture>(specs: &[TaskSpec]) -> Scene<F> {
    let scene = Scene::<F>::configured(specs).await;
    for spec in specs {
        apply(&scene, spec.name().as_str(), 10).await;
    }
    scene
}

/// Sets the brake while a run of the task is queued that leaves four instances. Returns the run.
pub(super) async fn hold<F: Fixture>(scene: &Scene<F>, name: &str) -> RunId {
    let queued = enqueue(scene, input(scene, name, 4, false)).await.queued;
    let (held, leased) = set(scene, 4).await;
    assert_eq!((held, leased), (vec![name.to_owned()], vec![]));
    assert!(is_held(scene, name).await);
    queued.expect("it is queued")
}

/// A scene whose only task has a queued run that the brake holds.
pub async fn held<F: Fixture>() -> Scene<F> {
    let scene = applied::<F>(&[spec("a")]).await;
    hold(&scene, "a").await;
    scene
}

/// Statements of programs before the brake about queued runs: another input, and retries.
pub const EARLIER_STATEMENTS: [&str; 2] = [
    "UPDATE runs SET no_retry = FALSE, attempts = 0, due_at = 0 WHERE status = 'queued'",
    "UPDATE runs SET due_at = 0 WHERE status = 'queued' AND kind = 'apply'",
];
