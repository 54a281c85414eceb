//! Runs that the brake of the fleet holds.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::brake::{FleetMaxShrink, NotedFleet, NotedPair, Pair};
use cts_core::runs::EnqueueDecision::{Block, Enqueue, Keep, Replace, Supersede};
use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};
use cts_core::{InstanceCounts, LeaderEpoch, RemoteRun, ViewId};
use cts_store::{
    BrakeError, BrakeNote, EnqueueRequest, Enqueued, FirstApply, Guarded, LeaderError, RefusedCode,
    SeenBrake, StoredBrake,
};

use crate::Fixture;
use crate::remote_runs::remote_run;
use crate::scene::{Scene, seconds, task};

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000 + second, 0).expect("a time")
}

fn view() -> ViewId {
    ViewId::new("health.service(web)")
}

pub(super) fn counts(instances: u32) -> InstanceCounts {
    let services = [("web".to_owned(), instances)];
    [(view(), services.into_iter().collect())]
        .into_iter()
        .collect()
}

/// A fleet whose only service had ten instances.
pub(crate) fn fleet(now: u32, is_set: bool) -> NotedFleet {
    NotedFleet {
        setting: Some(FleetMaxShrink {
            share: 20,
            within: Duration::from_mins(10),
            at_least: 1,
        }),
        set_at: is_set.then(|| at(0)),
        lost: u64::from(10 - now),
        of: 10,
        pairs: vec![NotedPair {
            view: view(),
            datacenter: "dc2".to_owned(),
            service: "web".to_owned(),
            pair: Pair {
                now,
                past: vec![(10, at(0))],
            },
        }],
        leased: Vec::new(),
    }
}

pub(super) async fn note<F: Fixture>(scene: &Scene<F>, fleet: &NotedFleet) -> BrakeNote {
    let releases = stored(scene).await.releases;
    let store = scene.store();
    let noted = store.note_brake(scene.leader(), releases, fleet).await;
    noted.expect("the leader can note")
}

/// Sets the brake; returns the tasks that it holds, and those of leased runs.
pub(crate) async fn set<F: Fixture>(scene: &Scene<F>, now: u32) -> (Vec<String>, Vec<String>) {
    let noted = note(scene, &fleet(now, true)).await;
    let BrakeNote::Noted { held, leased } = noted else {
        return (Vec::new(), Vec::new());
    };
    (
        held.iter().map(ToString::to_string).collect(),
        leased.iter().map(|run| run.task.to_string()).collect(),
    )
}

pub(super) async fn stored<F: Fixture>(scene: &Scene<F>) -> StoredBrake {
    scene.store().brake().await.expect("the brake can be read")
}

/// An input with this many instances, compared with the brake if that `is_set`.
pub(crate) fn input<F: Fixture>(
    scene: &Scene<F>,
    name: &str,
    instances: u32,
    is_set: bool,
) -> EnqueueRequest {
    EnqueueRequest {
        guarded: Some(Guarded {
            counts: counts(instances),
            brake: Some(counts(10)).filter(|_| is_set && instances < 10),
            ..Guarded::default()
        }),
        ..scene.request(name, &instances.to_string())
    }
}

pub(crate) async fn enqueue<F: Fixture>(scene: &Scene<F>, request: EnqueueRequest) -> Enqueued {
    scene.request_all(vec![request]).await.remove(0)
}

pub(super) async fn decide<F: Fixture>(
    scene: &Scene<F>,
    name: &str,
    instances: u32,
) -> EnqueueDecision {
    let request = input(scene, name, instances, true);
    let decision = enqueue(scene, request).await.decision;
    decision.expect("the task is there")
}

pub(super) async fn apply<F: Fixture>(scene: &Scene<F>, name: &str, instances: u32) {
    enqueue(scene, input(scene, name, instances, false)).await;
    let lease = scene.lease().await;
    scene.applied(&lease).await;
}

pub(crate) async fn is_held<F: Fixture>(scene: &Scene<F>, name: &str) -> bool {
    let held = scene.state(name).await.held;
    held.is_some_and(|blocked| blocked.brake.is_some())
}

pub(crate) async fn release<F: Fixture>(scene: &Scene<F>) -> StoredBrake {
    let released = scene.store().release_brake(None).await;
    released.expect("it can be released").expect("it was set")
}

pub async fn setting_the_brake_holds_queued_losses_and_names_leased_ones<F: Fixture>() {
    let names = ["gone", "going", "whole", "off"];
    let scene = Scene::<F>::new(&names).await;
    assert_eq!(stored(&scene).await, StoredBrake::default());
    for name in names {
        apply(&scene, name, 10).await;
    }
    enqueue(&scene, input(&scene, "going", 4, false)).await;
    let lease = scene.lease().await;
    enqueue(&scene, input(&scene, "gone", 4, false)).await;
    enqueue(&scene, input(&scene, "whole", 11, false)).await;
    let (held, leased) = set(&scene, 4).await;
    assert_eq!(
        (held, leased),
        (vec!["gone".to_owned()], vec!["going".to_owned()])
    );
    let brake = stored(&scene).await;
    assert_eq!((brake.held, brake.fleet.lost, brake.fleet.of), (1, 6, 10));
    assert_eq!(brake.fleet.leased[0].run, lease.run);
    // The leader notes the same again if the answer is lost.
    let again = set(&scene, 4).await;
    assert_eq!(again, (vec![], vec!["going".to_owned()]));
    assert_eq!(stored(&scene).await, brake);
    assert!(is_held(&scene, "gone").await);
    let other = scene.lease().await;
    assert_eq!(other.task, task("whole"), "it loses nothing");
    scene.applied(&other).await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(
        scene
            .store()
            .next_due()
            .await
            .expect("a time")
            .map(|it| it > seconds(1_000_000)),
        Some(true)
    );
    // Held runs never come due by time alone.
    scene.advance(seconds(24 * 3600));
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_leased_run_that_the_brake_names_is_not_leased_again<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, "a", 10).await;
    enqueue(&scene, input(&scene, "a", 4, false)).await;
    let lease = scene.lease().await;
    set(&scene, 4).await;
    assert!(!is_held(&scene, "a").await);
    scene.failed(&lease, "no").await;
    scene.advance(seconds(3600));
    assert_eq!(scene.acquire().await, None, "a retry does not pass");
    assert!(is_held(&scene, "a").await);
    release(&scene).await;
    assert!(!is_held(&scene, "a").await);
    let lease = scene.lease().await;
    assert_eq!(lease.attempt, 2);
    scene.applied(&lease).await;
}

pub async fn remote_runs_that_wait_are_named_first_with_their_address<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    for name in ["a", "b"] {
        apply(&scene, name, 10).await;
    }
    for name in ["a", "b"] {
        enqueue(&scene, input(&scene, name, 4, false)).await;
    }
    let (first, second) = (scene.lease().await, scene.lease().await);
    let remote = RemoteRun {
        abandoned: false,
        ..remote_run(1)
    };
    scene.record_remote(&second, &remote).await;
    scene.suspend(&second, "a confirmation").await;
    set(&scene, 4).await;
    let leased = stored(&scene).await.fleet.leased;
    let named = leased
        .iter()
        .map(|run| (run.run, run.to_confirm, run.address.clone()));
    let expected = [(second.run, true, remote.url), (first.run, false, None)];
    assert_eq!(named.collect::<Vec<_>>(), expected);
}

pub async fn a_lost_lease_and_a_failed_run_stay_behind_the_brake<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    for name in ["a", "b"] {
        apply(&scene, name, 10).await;
    }
    for name in ["a", "b"] {
        enqueue(&scene, input(&scene, name, 4, false)).await;
    }
    let (first, second) = (scene.lease().await, scene.lease().await);
    set(&scene, 4).await;
    let mut last = scene.completion(
        &second,
        cts_core::runs::AttemptOutcome::Failed("no".to_owned()),
    );
    last.is_final = true;
    scene
        .store()
        .complete(last)
        .await
        .expect("it can fail for good");
    scene.advance(seconds(3600));
    let back = scene.reap().await;
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].run, first.run);
    scene.advance(seconds(24 * 3600));
    assert_eq!(scene.acquire().await, None, "nor does the slow retry");
    scene.release_all().await;
    assert_eq!(scene.acquire().await, None, "nor does a start");
}

pub async fn new_inputs_are_held_if_they_take_instances_away<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "new"]).await;
    apply(&scene, "a", 10).await;
    apply(&scene, "b", 4).await;
    set(&scene, 4).await;
    let answer = enqueue(&scene, input(&scene, "a", 4, true)).await;
    assert_eq!((answer.decision, answer.by_brake), (Some(Block), true));
    assert_eq!((answer.losses[0].applied, answer.losses[0].now), (10, 4));
    assert!(is_held(&scene, "a").await);
    assert_eq!(decide(&scene, "b", 5).await, Enqueue, "4 are applied");
    assert_eq!(decide(&scene, "b", 3).await, Block);
    assert_eq!(
        decide(&scene, "new", 1).await,
        Enqueue,
        "nothing is applied"
    );
    // The instances are back, and the brake is still set.
    assert_eq!(decide(&scene, "a", 11).await, Enqueue);
    assert!(!is_held(&scene, "a").await);
}

pub async fn a_held_run_is_replaced_by_an_input_that_loses_nothing<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, "a", 10).await;
    enqueue(&scene, input(&scene, "a", 4, false)).await;
    set(&scene, 4).await;
    assert_eq!(decide(&scene, "a", 4).await, Keep);
    assert_eq!(scene.acquire().await, None);
    assert_eq!(decide(&scene, "a", 3).await, Block);
    assert_eq!(decide(&scene, "a", 12).await, Replace);
    let lease = scene.lease().await;
    scene.applied(&lease).await;
}

pub async fn a_persons_request_passes_the_brake_and_a_pass_does_not<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    for name in ["a", "b"] {
        apply(&scene, name, 10).await;
    }
    enqueue(&scene, input(&scene, "a", 5, false)).await;
    set(&scene, 4).await;
    let run = scene.ask("a", RunKind::Apply).await;
    let request = EnqueueRequest {
        run,
        ..input(&scene, "a", 4, true)
    };
    let answer = enqueue(&scene, request).await;
    assert_eq!(
        (answer.decision, answer.queued),
        (Some(Supersede), Some(run))
    );
    let lease = scene.lease().await;
    assert_eq!(lease.run, run);
    scene.applied(&lease).await;
    assert_eq!(
        decide(&scene, "a", 4).await,
        EnqueueDecision::Skip {
            cancel_queued: false
        }
    );

    let run = scene.ask("b", RunKind::Apply).await;
    let mut request = EnqueueRequest {
        run,
        ..input(&scene, "b", 4, true)
    };
    if let Some(guarded) = &mut request.guarded {
        guarded.is_of_pass = true;
    }
    let answer = enqueue(&scene, request).await;
    assert_eq!(answer.decision, Some(Block));
    let refused = answer.refused.expect("its caller waits");
    assert_eq!(refused.code, RefusedCode::Held);
}

pub async fn a_released_task_runs_while_the_brake_holds_the_others<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    for name in ["a", "b"] {
        apply(&scene, name, 10).await;
    }
    for name in ["a", "b"] {
        enqueue(&scene, input(&scene, name, 4, false)).await;
    }
    set(&scene, 4).await;
    let store = scene.store();
    let released = store.release_task(&task("a"), None).await.expect("a task");
    assert!(released.is_some_and(|blocked| blocked.brake.is_some()));
    let lease = scene.lease().await;
    assert_eq!(lease.task, task("a"));
    assert!(matches!(
        decide(&scene, "a", 4).await,
        EnqueueDecision::Skip { .. }
    ));
    scene.applied(&lease).await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(decide(&scene, "a", 3).await, Block, "more is lost");
}

pub async fn a_brake_that_ends_or_is_released_lets_everything_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    for name in ["a", "b"] {
        apply(&scene, name, 10).await;
    }
    enqueue(&scene, input(&scene, "a", 4, false)).await;
    set(&scene, 4).await;
    assert_eq!(decide(&scene, "b", 4).await, Block);
    note(&scene, &fleet(9, false)).await;
    assert!(!is_held(&scene, "a").await && !is_held(&scene, "b").await);
    let lease = scene.lease().await;
    assert_eq!(lease.task, task("a"));
    scene.interrupted(&lease).await;

    set(&scene, 3).await;
    let store = scene.store();
    let seen = |lost| Some(SeenBrake { lost, of: 10 });
    let more = store.release_brake(seen(6)).await;
    let is_refused = matches!(more, Err(BrakeError::LostMore { lost: 7, of: 10 }));
    assert!(is_refused, "{more:?}");
    let released = store
        .release_brake(seen(7))
        .await
        .expect("it can be released");
    assert_eq!(released.map(|brake| brake.fleet.lost), Some(7));
    let again = store
        .release_brake(None)
        .await
        .expect("it can be asked for");
    assert_eq!(again, None);
    let brake = stored(&scene).await;
    assert_eq!(
        (brake.releases, brake.fleet.is_set(), brake.fleet.lost),
        (1, false, 0)
    );
    assert_eq!(
        brake.fleet.pairs[0].pair.past[0].0, 3,
        "the present number is the reference"
    );
    assert_eq!(scene.lease().await.task, task("a"));
}

pub async fn a_leader_that_does_not_know_of_a_release_notes_nothing<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    set(&scene, 4).await;
    let released = release(&scene).await;
    let store = scene.store();
    let lost = fleet(2, true);
    let late = store.note_brake(scene.leader(), released.releases, &lost);
    let late = late.await.expect("the leader can note");
    assert_eq!(late, BrakeNote::Released(stored(&scene).await));
    assert!(!stored(&scene).await.fleet.is_set());
    let deposed = LeaderEpoch::new(scene.leader().get() + 1);
    let refused = store.note_brake(deposed, 1, &fleet(2, true)).await;
    assert!(
        matches!(refused, Err(LeaderError::Deposed { .. })),
        "{refused:?}"
    );
}

pub async fn applied_instances_are_those_of_enabled_tasks<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    apply(&scene, "a", 10).await;
    apply(&scene, "b", 7).await;
    scene.enable("b", false).await;
    let names = ["a", "b", "c"].map(task);
    let applied = scene.store().applied_instances(&names).await;
    assert_eq!(
        applied.expect("they can be read"),
        [(task("a"), counts(10))]
    );
}

pub async fn first_applies_since_a_time_are_found<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    apply(&scene, "a", 10).await;
    let before = scene.run(scene.apply("a", "before").await).await;
    scene.advance(seconds(10));
    let first = scene.run(scene.apply("a", "first").await).await;
    scene.advance(seconds(10));
    scene.apply("a", "second").await;
    scene.queue("b", "waits").await;
    let since = before.finished_at.expect("it has ended") + Duration::from_secs(1);
    let asked = ["a", "b", "c"].map(|name| (task(name), since));
    let mut found = scene
        .store()
        .first_applies(&asked)
        .await
        .expect("they can be found");
    found.sort_by_key(|(task, ..)| task.clone());
    let ended = FirstApply::Ended {
        started: first.started_at.expect("it was leased"),
        ended: first.finished_at.expect("it has ended"),
    };
    assert_eq!(
        found,
        [
            (task("a"), since, ended),
            (task("b"), since, FirstApply::Open)
        ]
    );
    assert_eq!(first.status, RunStatus::Succeeded);
}
