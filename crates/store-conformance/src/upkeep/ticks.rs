//! Behaviours of ticks of schedules that find nothing new.

use cts_core::RunId;
use cts_core::TaskStatus::Successful;
use cts_core::runs::EnqueueDecision;

use crate::Fixture;
use crate::scene::{Scene, seconds, spec};
use cts_store::{EnqueueRequest, Event};

async fn events<F: Fixture>(scene: &Scene<F>, name: &str) -> Vec<Event> {
    scene.state(name).await.events
}

/// Runs of the shown events, newest first; a tick has none.
async fn shown<F: Fixture>(scene: &Scene<F>, name: &str) -> Vec<Option<RunId>> {
    let events = events(scene, name).await;
    let states = scene.states(None).await;
    let listed = states.iter().find(|state| state.task.as_str() == name);
    assert_eq!(listed.map(|state| &state.events), Some(&events));
    events.iter().map(|event| event.run_id).collect()
}

pub async fn a_tick_that_finds_what_is_applied_is_an_event_without_a_run<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b"]).await;
    let run = scene.apply("a", "1").await;
    scene.advance(seconds(60));
    let ticked = scene.tick("a", "1").await;
    let skip = EnqueueDecision::Skip {
        cancel_queued: false,
    };
    assert_eq!((ticked.decision, ticked.queued), (Some(skip), None));
    scene.restart().await;
    let events = events(&scene, "a").await;
    assert_eq!(events.len(), 2, "a run and a tick");
    let (tick, applied) = (&events[0], &events[1]);
    assert_eq!((tick.run_id, applied.run_id), (None, Some(run)));
    assert_eq!(tick.task_name, applied.task_name);
    assert_eq!((tick.success, &tick.error), (true, &None));
    assert_eq!(tick.config, applied.config);
    assert_eq!(tick.start_time, tick.end_time);
    assert!(tick.start_time >= applied.end_time + seconds(60));
    assert_eq!(scene.state("a").await.status, Successful);
    assert_eq!(shown(&scene, "b").await, []);
}

pub async fn a_tick_that_runs_something_or_comes_while_it_runs_is_no_event<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.tick("a", "1").await;
    assert_eq!(shown(&scene, "a").await, []);
    let lease = scene.lease().await;
    scene.tick("a", "1").await;
    assert_eq!(shown(&scene, "a").await, []);
    scene.applied(&lease).await;
    assert_eq!(shown(&scene, "a").await, [Some(lease.run)]);
    let mut always = spec("a");
    always.file_settings.skip_unchanged = false;
    scene.configure(&[always]).await;
    let ticked = scene.tick("a", "1").await;
    assert_eq!(ticked.decision, Some(EnqueueDecision::Enqueue));
    assert_eq!(shown(&scene, "a").await, [Some(lease.run)]);
}

pub async fn the_newest_five_of_runs_and_ticks_are_shown_in_their_order<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let first = scene.apply("a", "1").await;
    scene.tick("a", "1").await;
    let second = scene.apply("a", "2").await;
    scene.tick("a", "2").await;
    let expected = [None, Some(second), None, Some(first)];
    assert_eq!(shown(&scene, "a").await, expected);
    scene.tick("a", "2").await;
    let expected = [None, None, Some(second), None, Some(first)];
    assert_eq!(shown(&scene, "a").await, expected);
    for _ in 0..6 {
        scene.tick("a", "2").await;
    }
    assert_eq!(shown(&scene, "a").await, [None; 5]);
    let events = events(&scene, "a").await;
    let mut times: Vec<_> = events.iter().map(|event| event.start_time).collect();
    times.reverse();
    assert!(times.is_sorted());
    let third = scene.apply("a", "3").await;
    let expected = [Some(third), None, None, None, None];
    assert_eq!(shown(&scene, "a").await, expected);
}

pub async fn a_tick_that_is_reported_twice_is_one_event<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let request = EnqueueRequest {
        tick: Some(scene.event_id()),
        ..scene.request("a", "1")
    };
    for _ in 0..2 {
        scene.request_all(vec![request.clone()]).await;
    }
    assert_eq!(shown(&scene, "a").await.len(), 2);
}

pub async fn ticks_go_with_their_task<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    scene.tick("a", "1").await;
    scene.delete("a").await;
    scene.created("a").await;
    assert_eq!(shown(&scene, "a").await, []);
    scene.apply("a", "1").await;
    scene.tick("a", "1").await;
    let lease = scene.leased("a", "2").await;
    scene.reset().await;
    assert_eq!(shown(&scene, "a").await, []);
    scene.applied(&lease).await;
}

pub async fn the_version_changes_with_every_tick<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let mut versions = Vec::new();
    for _ in 0..7 {
        let version = scene.store().version().await;
        versions.push(version.expect("the version can be read"));
        scene.tick("a", "1").await;
    }
    let count = versions.len();
    versions.sort();
    versions.dedup();
    assert_eq!(versions.len(), count);
}
