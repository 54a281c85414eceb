//! Rules of consent that programs from before consent leave in force.

use cts_core::ApprovalRule;

use super::asking::{begin, ruled};
use super::rules_of_approval::{declare, file_rules};
use crate::Fixture;
use crate::scene::{Scene, spec};

/// A scene whose task `a` has a rule of its file, and a stricter one of the API.
pub async fn ruled_by_both<F: Fixture>() -> Scene<F> {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    declare(&scene, ruled("a"), Some(ApprovalRule::Always)).await;
    scene
}

/// The statement by which programs before consent change the task of [`ruled_by_both`]: without what they do not know.
pub const EARLIER_CHANGE: &str = r#"UPDATE tasks SET enabled = FALSE, spec = replace(replace(replace(
    spec, ',"approval":"destroy"', ''), ',"api_approval":"always"', ''), '"enabled":true,"buffer_setting"',
    '"enabled":false,"buffer_setting"')"#;

/// The statement by which programs before consent note that the API deletes a configured task.
pub const EARLIER_DELETION: &str = "INSERT INTO deleted_tasks (name, configured, deleted_at)
    SELECT name, configured, 0 FROM tasks";

/// Asserts that both rules are in force after [`EARLIER_CHANGE`], and end with the declarations of this version.
pub async fn keeps_its_rules<F: Fixture>(scene: &Scene<F>) {
    let mut changed = ruled("a");
    changed.enabled = false;
    changed.api_approval = Some(ApprovalRule::Always);
    assert_eq!(scene.there("a").await.spec, changed);
    scene.enable("a", true).await;
    let lease = begin(scene, "a", "one").await;
    assert!(lease.asks_permission);
    scene.interrupted(&lease).await;
    declare(scene, ruled("a"), None).await;
    assert_eq!(scene.there("a").await.spec, ruled("a"));
    scene.configure(&[spec("a")]).await;
    assert_eq!(scene.there("a").await.spec, spec("a"));
}

/// Asserts that the rule of the file is known after [`EARLIER_DELETION`].
pub async fn keeps_its_deleted_rule<F: Fixture>(scene: &Scene<F>) {
    let rules = file_rules(scene, Some("a")).await;
    assert_eq!(rules.of(&spec("a")).rule, ApprovalRule::Destroy);
}
