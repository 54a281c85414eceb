//! Tasks that are changed over the API.

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{RequestKey, RunId};
use futures::future::join_all;
use uuid::Uuid;

use crate::Fixture;
use crate::scene::{Scene, enqueue_request, spec};
use cts_store::{TaskChange, TaskError};

fn idle_only() -> TaskChange {
    TaskChange {
        idle_only: true,
        ..TaskChange::default()
    }
}

pub async fn every_change_has_its_revision<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    let mut expected = scene.there("a").await;
    assert_eq!(scene.enable("a", true).await, expected, "nothing is new");
    let mut other = spec("a");
    other.definition.description = "other".into();
    other.file_settings.skip_unchanged = false;
    other.requirement.driver = "tofu".into();
    let changes = [
        (Some(false), None),
        (Some(true), None),
        (None, Some(other.clone())),
        (Some(false), Some(other.clone())),
        (None, Some(other)),
    ];
    for (enabled, wanted) in changes {
        let change = TaskChange {
            enabled,
            spec: wanted.clone(),
            revision: Some(expected.revision),
            ..TaskChange::default()
        };
        expected.revision += 1;
        expected.spec = wanted.unwrap_or(expected.spec);
        expected.spec.enabled = enabled.unwrap_or(expected.spec.enabled);
        let changed = scene.change("a", change).await;
        assert_eq!(changed.expect("the revision is right"), expected);
        scene.restart().await;
        assert_eq!(scene.stored("a").await, Some(expected.clone()));
        assert_eq!(scene.state("a").await.enabled, expected.spec.enabled);
    }
    scene.queue("a", "1").await;
    assert_eq!(scene.acquire().await, None, "its driver is another now");
}

pub async fn a_change_of_the_name_is_refused<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let change = TaskChange {
        spec: Some(spec("b")),
        ..TaskChange::default()
    };
    let refused = scene.change("a", change).await;
    assert!(matches!(refused, Err(TaskError::Store(_))), "{refused:?}");
    assert_eq!(scene.names().await, ["a"]);
}

pub async fn makes_one_of_parallel_changes_of_a_revision<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let store = scene.store();
    let changes: Vec<_> = (0..8)
        .map(|number: u32| {
            let mut wanted = spec("a");
            wanted.definition.version = number.to_string();
            TaskChange {
                spec: Some(wanted),
                revision: Some(1),
                ..TaskChange::default()
            }
        })
        .collect();
    let name = crate::task("a");
    let answers = join_all(changes.iter().map(|it| store.change_task(&name, it))).await;
    let made: Vec<_> = answers.iter().flatten().collect();
    assert_eq!(made.len(), 1, "{answers:?}");
    assert_eq!(scene.stored("a").await.as_ref(), Some(made[0]));
    for answer in answers.iter().filter_map(|answer| answer.as_ref().err()) {
        let is_revision = matches!(answer, TaskError::Revision { current: 2 });
        assert!(is_revision, "{answer:?}");
    }
}

/// Lets several callers request a run of an idle task at the same time; exactly one is accepted.
pub async fn accepts_one_of_parallel_requests_of_an_idle_task<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let store = scene.store();
    let changes: Vec<_> = (0..8)
        .map(|_| TaskChange {
            request: Some((scene.run_id(), RunKind::Apply)),
            ..idle_only()
        })
        .collect();
    let name = crate::task("a");
    let answers = join_all(changes.iter().map(|it| store.change_task(&name, it))).await;
    let accepted = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(accepted, 1, "{answers:?}");
    assert_eq!(scene.open_requests().await.len(), 1);
}

const KEY: &str = "01a22daf-6aa5-4201-a13a-d57732635ac3";

/// The id of a run that was requested at this time.
fn id_at(time: u128) -> RunId {
    RunId::from_uuid(Uuid::from_u128(time << 80))
}

/// Lets several callers repeat a request with one key; all but the first are refused, until the run is forgotten, and for
/// its task only.
pub async fn a_key_is_of_one_request_of_its_task<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let (store, key) = (scene.store(), KEY.parse::<RequestKey>());
    let key = key.expect("it is of version 4");
    let (a, b) = (crate::task("a"), crate::task("b"));
    let id = |time| id_at(time).with_key(key, &a);
    let change = |time| TaskChange {
        request: Some((id(time), RunKind::Apply)),
        key: Some(key),
        ..idle_only()
    };
    let changes: Vec<_> = (1..=4).map(change).collect();
    let answers = join_all(changes.iter().map(|it| store.change_task(&a, it))).await;
    let refused = answers
        .iter()
        .filter(|it| matches!(it, Err(TaskError::Requested)));
    assert_eq!(refused.count(), 3, "{answers:?}");
    let known = async |task| store.requested(task, key).await.expect("it can be read");
    let (run, kind) = known(&a).await.expect("one of them is there");
    assert!(
        run.has_key(key, &a) && kind == RunKind::Apply,
        "{run} {kind:?}"
    );
    assert_eq!(known(&b).await, None);
    // Also as a run, while it runs and after its end.
    scene.enqueue_requested(run, "1").await;
    assert_eq!(known(&a).await, Some((run, kind)));
    let lease = scene.lease().await;
    for time in [5, 6] {
        let again = store.change_task(&a, &change(time)).await;
        assert!(matches!(again, Err(TaskError::Requested)), "{again:?}");
        let plan = store.plan_destruction(&a, id(time), Some(key)).await;
        assert!(matches!(plan, Err(TaskError::Requested)), "{plan:?}");
        if scene.run(run).await.status == RunStatus::Running {
            scene.succeeded(&lease).await;
        }
    }
    let other = store.change_task(&b, &change(7)).await;
    other.expect("the key is of another task");
    let plan = store.plan_destruction(&a, id(8), None).await;
    assert!(plan.expect("it has no key"));
}

/// A key counts while its run is one of the newest 256 of its task, and while that is kept.
pub async fn a_key_is_forgotten_with_its_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let key = KEY.parse::<RequestKey>().expect("it is of version 4");
    let mut ids = (1..).map(id_at);
    let mut id = || ids.next().expect("there is no last id");
    let request = async |name: &str, id: RunId| {
        let run = id.with_key(key, &crate::task(name));
        let change = TaskChange {
            request: Some((run, RunKind::Apply)),
            key: Some(key),
            ..idle_only()
        };
        scene.change(name, change).await.expect("the key is new");
        scene.enqueue_requested(run, &format!("{run}")).await;
        scene.succeeded(&scene.lease().await).await;
    };
    let apply = async |name: &str, run: RunId| {
        let applied = enqueue_request(name, &format!("{run}"), run);
        scene.request_all(vec![applied]).await;
        scene.applied(&scene.lease().await).await;
    };
    let known = async |name: &str| {
        let found = scene.store().requested(&crate::task(name), key).await;
        found.expect("it can be read").is_some()
    };
    request("a", id()).await;
    request("b", id()).await;
    for _ in 1..256 {
        apply("a", id()).await;
    }
    assert!(known("a").await);
    apply("a", id()).await;
    assert!(!known("a").await && known("b").await);
    request("a", id()).await;
    apply("b", id()).await;
    scene.prune(1).await;
    assert!(known("a").await && !known("b").await);
}
