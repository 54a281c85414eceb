//! Tasks that are changed over the API.

use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};
use futures::future::join_all;

use super::Fixture;
use super::scene::{LEASE, Scene, seconds, spec, withdrawn};
use cts_store::{TaskChange, TaskError};

fn idle_only() -> TaskChange {
    TaskChange {
        idle_only: true,
        ..TaskChange::default()
    }
}

/// Whether a call that needs the task idle is refused; others never are.
async fn is_busy<F: Fixture>(scene: &Scene<F>, name: &str) -> bool {
    let anyway = scene.change(name, TaskChange::default()).await;
    anyway.expect("the task can be changed");
    let refused = scene.change(name, idle_only()).await.err();
    let busy = matches!(refused, Some(TaskError::Busy));
    assert!(busy || refused.is_none(), "{refused:?}");
    busy
}

pub async fn every_change_has_its_revision<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    let mut expected = scene.stored("a").await.expect("the task is there");
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

pub async fn a_change_of_another_revision_is_refused<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let stored = scene.enable("a", false).await;
    assert_eq!(stored.revision, 2);
    for revision in [0, 1, 3, u64::MAX] {
        let change = TaskChange {
            enabled: Some(true),
            revision: Some(revision),
            request: Some((scene.run_id(), RunKind::Apply)),
            ..TaskChange::default()
        };
        let refused = scene.change("a", change).await;
        let is_revision = matches!(refused, Err(TaskError::Revision { current: 2 }));
        assert!(is_revision, "{refused:?}");
    }
    assert_eq!(scene.stored("a").await, Some(stored));
    assert_eq!(scene.open_requests().await, []);
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

pub async fn a_task_is_busy_while_something_of_it_goes_on<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    assert!(!is_busy(&scene, "a").await);
    for kind in RunKind::ENQUEUED {
        let run = scene.ask("a", kind).await;
        assert!(is_busy(&scene, "a").await, "requested");
        scene.carry_out(run, "1").await;
        assert!(is_busy(&scene, "a").await, "queued");
        let lease = scene.lease().await;
        assert!(is_busy(&scene, "a").await, "running");
        scene.succeeded(&lease).await;
        assert!(!is_busy(&scene, "a").await, "ended");
    }
    let refused = scene.ask("a", RunKind::Plan).await;
    scene.refuse(refused, "no").await;
    assert!(!is_busy(&scene, "a").await, "refused");
    scene.queue("a", "2").await;
    assert!(is_busy(&scene, "a").await, "triggered");
    scene.lease().await;
    scene.advance(LEASE);
    assert!(is_busy(&scene, "a").await, "its lease was not taken back");
}

pub async fn a_task_is_busy_between_its_attempts_and_idle_before_a_slow_retry<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let failed = scene.failed(&lease, "no").await;
    assert_eq!(failed.status, RunStatus::Queued);
    assert!(is_busy(&scene, "a").await);
    scene.advance(failed.next_due.expect("there is another attempt"));
    let failed = scene.fail_thrice(scene.lease().await).await;
    let wait = failed.next_due.expect("it is tried afresh");
    assert!(!is_busy(&scene, "a").await);
    scene.advance(wait);
    assert!(is_busy(&scene, "a").await);
}

pub async fn disabling_cancels_what_would_be_applied<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let running = scene.leased("a", "1").await;
    let queued = scene.queue("a", "2").await;
    let plan = scene.queue_plan("a", "2").await;
    let apply = scene.ask("a", RunKind::Apply).await;
    let check = scene.ask("a", RunKind::Check).await;

    assert!(!scene.enable("a", false).await.spec.enabled);
    assert_eq!(scene.run(queued).await.status, RunStatus::Cancelled);
    assert_eq!(scene.run(plan).await.status, RunStatus::Queued);
    assert_eq!(scene.open_requests().await, [check]);
    let refused = scene.find_request(apply).await.and_then(|it| it.refused);
    assert_eq!(refused, Some(withdrawn("the task was disabled")));
    assert_eq!(scene.enqueue("a", "3").await.decision, None);

    let completed = scene.applied(&running).await;
    assert_eq!(completed.status, RunStatus::Succeeded);
    assert_eq!(scene.lease().await.run, plan);
    scene.enable("a", true).await;
    let skip = EnqueueDecision::Skip {
        cancel_queued: false,
    };
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(skip));
    scene.queue("a", "2").await;
}

pub async fn another_definition_has_nothing_queued<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let change = |spec| TaskChange {
        spec: Some(spec),
        ..TaskChange::default()
    };
    scene.apply("a", "1").await;
    let mut other = spec("a");
    other.file_settings.skip_unchanged = false;
    other.file_settings.retry_failed = false;
    let changed = scene.change("a", change(other.clone())).await;
    changed.expect("the task can be changed");
    let queued = scene.queue("a", "2").await;
    other.file_settings.skip_unchanged = true;
    let changed = scene.change("a", change(other.clone())).await;
    changed.expect("the task can be changed");
    assert_eq!(scene.run(queued).await.status, RunStatus::Queued);
    let skip = EnqueueDecision::Skip {
        cancel_queued: true,
    };
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(skip));

    let queued = scene.queue("a", "2").await;
    let plan = scene.queue_plan("a", "2").await;
    other.definition.version = "2".into();
    let changed = scene.change("a", change(other)).await;
    changed.expect("the task can be changed");
    assert_eq!(scene.run(queued).await.status, RunStatus::Cancelled);
    assert_eq!(scene.run(plan).await.status, RunStatus::Queued);
    // The input of a change that was on its way: it names the task definition it was made for, and is applied
    // already.
    let skip = EnqueueDecision::Skip {
        cancel_queued: false,
    };
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(skip));
    assert_eq!(scene.state("a").await.events.len(), 1);
}

pub async fn what_is_not_there_is_not_changed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let change = || TaskChange {
        request: Some((scene.run_id(), RunKind::Plan)),
        ..idle_only()
    };
    let unknown = scene.change("b", change()).await;
    assert!(matches!(unknown, Err(TaskError::Unknown)), "{unknown:?}");
    scene.leased("a", "1").await;
    scene.delete("a").await;
    let busy = scene.change("a", change()).await;
    assert!(matches!(busy, Err(TaskError::Busy)), "{busy:?}");
    let deleting = scene.change("a", TaskChange::default()).await;
    assert!(matches!(deleting, Err(TaskError::Deleting)), "{deleting:?}");
    assert_eq!(scene.open_requests().await, []);
}

pub async fn a_slow_retry_gives_way_to_a_request<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let failed = scene.fail_thrice(lease).await;
    assert!(failed.next_due.expect("it is tried afresh") >= seconds(60));
    let run = scene.ask("a", RunKind::Apply).await;
    let lease = scene.carried_out(run, "1").await;
    let applied = scene.applied(&lease).await;
    assert_eq!(
        (applied.status, applied.next_due),
        (RunStatus::Succeeded, None)
    );
}

pub async fn of_parallel_changes_of_one_revision_one_is_made<F: Fixture>() {
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
    let name = super::task("a");
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
pub async fn of_parallel_requests_of_an_idle_task_one_is_accepted<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let store = scene.store();
    let changes: Vec<_> = (0..8)
        .map(|_| TaskChange {
            request: Some((scene.run_id(), RunKind::Apply)),
            ..idle_only()
        })
        .collect();
    let name = super::task("a");
    let answers = join_all(changes.iter().map(|it| store.change_task(&name, it))).await;
    let accepted = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(accepted, 1, "{answers:?}");
    assert_eq!(scene.open_requests().await.len(), 1);
}
