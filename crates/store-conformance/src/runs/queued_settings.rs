//! Behaviours of the settings that a queued run needs, however it was queued.

use cts_core::RunId;
use cts_core::runs::RunKind;
use cts_core::settings::{SettingsGeneration, SettingsScope};

use crate::Fixture;
use crate::scene::{Scene, destroyed, task};
use crate::settings::{acquire, change, generation, having, needing, queue_for};
use cts_store::{Assignment, Deletion, SettingsChange, UnsettledRun};

/// The settings 1 in force, a worker `one` that has them, a worker `two` that has the settings that follow,
/// and a task `a` whose infrastructure is destroyed when it is deleted.
pub(crate) async fn scene<F: Fixture>() -> Scene<F> {
    let scene = Scene::<F>::new(&[]).await;
    begin_again(&scene).await;
    scene
}

/// Makes everything as it was at the beginning of the scene.
pub(crate) async fn begin_again<F: Fixture>(scene: &Scene<F>) {
    assert!(scene.reset().await.deleting.is_empty());
    scene.configure(&[destroyed("a")]).await;
    let first = SettingsChange {
        generations: vec![generation(2, false), generation(1, true)],
        ..SettingsChange::default()
    };
    change(scene, first).await;
    register(scene).await;
}

pub(crate) async fn register<F: Fixture>(scene: &Scene<F>) {
    having(scene, "one", &[1]).await;
    having(scene, "two", &[2]).await;
}

/// Puts the settings 2 in force, as a leader does.
pub(crate) async fn replace<F: Fixture>(scene: &Scene<F>) {
    let replaced = SettingsChange {
        generations: vec![generation(1, false), generation(2, true)],
        moved: vec![(1, 2)],
        ..SettingsChange::default()
    };
    change(scene, replaced).await;
}

pub(crate) async fn applied<F: Fixture>(scene: &Scene<F>) {
    queue_for(scene, "a", "applied", 1).await;
    let lease = acquire(scene, "one").await.expect("it has the settings");
    scene.applied(&lease).await;
}

pub(crate) async fn delete<F: Fixture>(scene: &Scene<F>) -> RunId {
    let run = scene.run_id();
    assert!(!scene.delete_as("a", Deletion::AsTaskSays { run }).await);
    run
}

pub(crate) async fn plan_destruction<F: Fixture>(scene: &Scene<F>) -> RunId {
    let run = scene.run_id();
    let planned = scene.store().plan_destruction(&task("a"), run, None).await;
    assert!(planned.expect("a destruction can be planned"));
    run
}

pub(crate) async fn unsettled<F: Fixture>(scene: &Scene<F>) -> Vec<UnsettledRun> {
    let unsettled = scene.store().unsettled_runs().await;
    unsettled.expect("runs without settings can be found")
}

async fn assign<F: Fixture>(scene: &Scene<F>, assignment: Assignment) {
    let assigned = SettingsChange {
        assigned: vec![assignment],
        ..SettingsChange::default()
    };
    change(scene, assigned).await;
}

/// Assigns the settings in force, here 2, to queued runs without them, as a leader does whenever it looks at
/// the settings.
pub(crate) async fn settle<F: Fixture>(scene: &Scene<F>) {
    for lacking in unsettled(scene).await {
        let assignment = Assignment {
            run: lacking.run,
            from: lacking.settings,
            to: 2,
        };
        assign(scene, assignment).await;
    }
    assert_eq!(unsettled(scene).await, []);
}

pub async fn a_plan_of_a_destruction_has_the_settings_in_force<F: Fixture>() {
    let scene = scene::<F>().await;
    applied(&scene).await;
    let run = plan_destruction(&scene).await;
    assert_eq!(acquire(&scene, "two").await, None);
    let lease = acquire(&scene, "one").await.expect("it has the settings");
    scene.planned(&lease, "to destroy").await;
    assert_eq!((lease.run, lease.kind), (run, RunKind::DestroyPlan));
    replace(&scene).await;
    let run = plan_destruction(&scene).await;
    assert_eq!(acquire(&scene, "one").await, None);
    let lease = acquire(&scene, "two").await.expect("it has the settings");
    assert_eq!(lease.run, run);
}

/// An earlier scheduler queues the run without settings. Workers of versions before settings take any run.
pub async fn without_settings_no_worker_that_reports_its_own_destroys<F: Fixture>() {
    let scene = scene::<F>().await;
    scene.apply("a", "applied").await;
    let plan = plan_destruction(&scene).await;
    assert_eq!(acquire(&scene, "one").await, None);
    let lease = scene.lease().await;
    assert_eq!(lease.run, plan);
    scene.planned(&lease, "to destroy").await;
    let run = delete(&scene).await;
    assert_eq!(acquire(&scene, "one").await, None);
    let lacking = UnsettledRun {
        run,
        task: task("a"),
        input: lease.input,
        settings: None,
        destroys: true,
    };
    assert_eq!(unsettled(&scene).await, [lacking]);
    let assignment = Assignment {
        run,
        from: None,
        to: 1,
    };
    assign(&scene, assignment).await;
    assert_eq!(unsettled(&scene).await, []);
    let lease = acquire(&scene, "one").await.expect("it has the settings");
    assert_eq!(lease.run, run);
}

/// A task that was declared with other providers and has not applied since is destroyed with the providers of
/// its last apply.
pub async fn a_destruction_has_the_settings_of_its_input_and_not_of_its_task<F: Fixture>() {
    let scene = scene::<F>().await;
    applied(&scene).await;
    let scope: SettingsScope = serde_json::from_str(r#"["backend"]"#).expect("it is a scope");
    let other = SettingsGeneration {
        scope,
        ..generation(3, true)
    };
    let more = SettingsChange {
        generations: vec![other],
        ..SettingsChange::default()
    };
    change(&scene, more).await;
    queue_for(&scene, "a", "never leased", 3).await;
    let run = delete(&scene).await;
    having(&scene, "three", &[3]).await;
    assert_eq!(acquire(&scene, "three").await, None);
    let lease = acquire(&scene, "one").await.expect("it has the settings");
    assert_eq!(lease.run, run);
}

pub async fn a_run_without_settings_is_given_those_that_a_leader_says<F: Fixture>() {
    let mut scene = scene::<F>().await;
    let run = scene.queue("a", "1").await;
    scene.restart().await;
    let found = unsettled(&scene).await;
    assert_eq!((found.len(), found[0].run), (1, run));
    settle(&scene).await;
    assert_eq!(acquire(&scene, "one").await, None);
    assert!(acquire(&scene, "two").await.is_some());
}

pub async fn a_run_that_is_not_as_it_was_is_given_no_settings<F: Fixture>() {
    let scene = scene::<F>().await;
    let run = scene.queue("a", "1").await;
    let assignment = Assignment {
        run,
        from: None,
        to: 2,
    };
    assert_eq!(queue_for(&scene, "a", "2", 1).await, run);
    assign(&scene, assignment).await;
    let lease = acquire(&scene, "one").await.expect("it has the settings");
    // While it runs it stays as it is.
    let leased = Assignment {
        from: Some(1),
        ..assignment
    };
    assign(&scene, leased).await;
    scene.interrupted(&lease).await;
    assert_eq!(acquire(&scene, "two").await, None);
    assert!(acquire(&scene, "one").await.is_some());
}

/// A leader reads a change after it was stored, so it may queue a run for settings that are not in force any
/// more.
pub async fn finds_runs_queued_for_settings_no_longer_in_force<F: Fixture>() {
    let scene = scene::<F>().await;
    replace(&scene).await;
    queue_for(&scene, "a", "1", 1).await;
    assert_eq!(unsettled(&scene).await, [], "its change replaces it");
    let plan = needing(scene.plan_request("a", "1"), 1);
    let (plan, input) = (scene.queue_new(plan.clone()).await, plan.input.hash);
    let lacking = UnsettledRun {
        run: plan,
        task: task("a"),
        input,
        settings: Some(1),
        destroys: false,
    };
    assert_eq!(unsettled(&scene).await, [lacking]);
    settle(&scene).await;
    let lease = acquire(&scene, "two").await.expect("it has the settings");
    assert_eq!(lease.run, plan);
}
