//! The states of tasks.

use cts_core::EventConfig;
use cts_core::TaskStatus::{Critical, Errored, Successful, Unknown};

use crate::Fixture;
use crate::scene::{Scene, seconds, spec, task, unretried};
use cts_store::{Deletion, TaskChange};

/// Ends one run of a task, with nothing following.
async fn end<F: Fixture>(scene: &Scene<F>, name: &str, text: &str, success: bool) {
    let lease = scene.leased(name, text).await;
    if success {
        scene.applied(&lease).await;
    } else {
        scene.fail_thrice(lease).await;
    }
}

pub async fn states_are_filtered_by_status<F: Fixture>() {
    let scene =
        Scene::<F>::configured(&["critical", "errored", "fine", "new", "other"].map(unretried))
            .await;
    end(&scene, "critical", "1", false).await;
    end(&scene, "critical", "2", false).await;
    end(&scene, "errored", "1", false).await;
    end(&scene, "fine", "1", false).await;
    end(&scene, "fine", "2", true).await;
    let expected: [(_, &[&str]); 4] = [
        (Critical, &["critical"]),
        (Errored, &["errored"]),
        (Successful, &["fine"]),
        (Unknown, &["new", "other"]),
    ];
    for (status, names) in expected {
        let states = scene.states(Some(status)).await;
        assert!(states.iter().all(|state| state.status == status));
        let seen: Vec<_> = states.iter().map(|state| state.task.as_str()).collect();
        assert_eq!(seen, names);
    }
    assert_eq!(scene.states(None).await.len(), 5);
}

pub async fn events_tell_the_whole_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let started = scene.leased("a", "1").await;
    scene.advance(seconds(90));
    scene.applied(&started).await;
    let record = scene.run(started.run).await;
    let state = scene.state("a").await;
    let config = EventConfig {
        providers: vec!["local".to_owned(), "f5.west".to_owned()],
        services: Vec::new(),
        source: "/modules/module".to_owned(),
    };
    assert_eq!(state.task, task("a"));
    assert!(state.enabled);
    assert_eq!(state.providers, config.providers);
    let event = &state.events[0];
    assert_eq!(
        (&event.task_name, event.run_id),
        (&task("a"), Some(started.run))
    );
    assert_eq!(Some(event.start_time), record.started_at);
    assert_eq!(Some(event.end_time), record.finished_at);
    assert_eq!((event.success, &event.error), (true, &None));
    assert_eq!(event.config, config);
    assert_eq!(scene.state("b").await.events, []);

    // The event keeps the settings of its time.
    let mut changed = spec("a");
    changed.definition.module_source = "/modules/other".into();
    changed.definition.providers.clear();
    changed.definition.services = vec!["web".to_owned()];
    scene.configure(&[changed, spec("b")]).await;
    let state = scene.state("a").await;
    assert_eq!(state.events[0].config, config);
    assert_eq!(state.providers, Vec::<String>::new());
    assert_eq!(state.services, ["web"]);
}

pub async fn the_version_changes_with_every_change_of_a_state<F: Fixture>() {
    let scene = Scene::<F>::configured(&[unretried("a")]).await;
    let version = async || scene.version().await;
    let mut seen = vec![version().await];
    let lease = scene.leased("a", "one").await;
    scene.applied(&lease).await;
    seen.push(version().await);
    let change = TaskChange {
        enabled: Some(false),
        ..TaskChange::default()
    };
    let changed = scene.store().change_task(&task("a"), &change).await;
    changed.expect("the task is there");
    seen.push(version().await);
    let deleted = scene
        .store()
        .delete_task(&task("a"), Deletion::Retain)
        .await;
    deleted.expect("the task is there");
    seen.push(version().await);
    let before = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), before, "{seen:?}");
}
