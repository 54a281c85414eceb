//! Behaviours of the stored knowledge about Terraform states of tasks.

use cts_core::runs::{AttemptOutcome, RunKind, RunStatus};
use cts_core::state::{
    Keep, KnownState, StateAt, StateConflict, StateDecision, StateRecord, StateReport,
    TerraformState,
};

use crate::Fixture;
use crate::scene::{Scene, claim, destroyed, seconds, task};
use cts_store::{Claim, Completion, Deletion, Lease, TaskChange, TaskError};

fn terraform_state(lineage: &str, serial: u64) -> TerraformState {
    TerraformState::new(lineage, serial).expect("a lineage")
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is compared with what a task keeps"
)]
fn known(lineage: &str, serial: u64, moved: Option<u64>) -> Option<KnownState> {
    Some(KnownState {
        lineage: lineage.to_owned(),
        serial,
        moved,
    })
}

/// A conflict with texts that are not easy to keep.
pub(crate) fn conflict() -> StateConflict {
    StateConflict {
        reason: "both, \"'`;\\ \u{1F600}\nwere changed".to_owned(),
        old: Some(StateAt {
            backend: "local".to_owned(),
            workspace: "été".to_owned(),
            state: Some(TerraformState {
                resources: Some(3),
                ..terraform_state("a", 7)
            }),
        }),
        new: Some(StateAt {
            backend: "consul".to_owned(),
            workspace: "été".to_owned(),
            state: None,
        }),
    }
}

impl<F: Fixture> Scene<F> {
    async fn terraform_state(&self, name: &str) -> StateRecord {
        let record = self.store().terraform_state(&task(name)).await;
        record.expect("states can be read").expect("a task")
    }

    /// The conflict that waits for a decision, as the state of the task alone and in the list has it.
    async fn undecided(&self, name: &str) -> Option<StateConflict> {
        let one = self.state(name).await.conflict;
        let all = self.states(None).await;
        let listed = all.into_iter().find(|state| state.task == task(name));
        assert_eq!(listed.expect("a task").conflict, one);
        one.map(|(conflict, _at)| conflict)
    }

    fn with_state(&self, lease: &Lease, outcome: AttemptOutcome, serial: u64) -> Completion {
        Completion {
            state: Some(terraform_state("a", serial)),
            ..self.completion(lease, outcome)
        }
    }

    async fn record(&self, lease: &Lease, report: &StateReport) -> u32 {
        let (store, holder) = (self.store(), &lease.holder);
        let recorded = store.record_state(lease.run, holder, lease.epoch, report);
        recorded.await.expect("a live lease can report")
    }

    async fn decide(&self, name: &str, decision: &StateDecision) -> Result<StateRecord, TaskError> {
        let (store, name) = (self.store(), task(name));
        let decided = store.decide_terraform_state(&name, decision, self.run_id());
        decided.await
    }

    /// Applies an input, and reports a state of the lineage `a`.
    async fn apply_state(&self, name: &str, text: &str, serial: u64) {
        let lease = self.leased(name, text).await;
        let completion = self.with_state(&lease, AttemptOutcome::Applied, serial);
        self.complete(completion).await;
    }
}

pub async fn reported_state_is_kept_and_comes_with_the_next_lease<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b"]).await;
    assert_eq!(scene.terraform_state("a").await, StateRecord::default());
    let lease = scene.leased("a", "1").await;
    assert_eq!(lease.state, StateRecord::default());
    scene
        .complete(scene.with_state(&lease, AttemptOutcome::Applied, 4))
        .await;
    let record = scene.terraform_state("a").await;
    assert_eq!(record.known, known("a", 4, None));
    let recorded_at = record.recorded_at.expect("a time");
    scene.restart().await;
    scene.advance(seconds(10));
    // A failed attempt may have changed the state, and an attempt without a report has not changed the
    // record.
    let lease = scene.leased("a", "2").await;
    assert_eq!(lease.state.known, known("a", 4, None));
    let failed = AttemptOutcome::Failed("no".to_owned());
    let completed = scene.complete(scene.with_state(&lease, failed, 6)).await;
    let record = scene.terraform_state("a").await;
    assert_eq!(record.known, known("a", 6, None));
    assert_eq!(
        record.recorded_at.expect("a time") - recorded_at,
        chrono::TimeDelta::seconds(10)
    );
    scene.advance(completed.next_due.expect("another attempt"));
    let lease = scene.lease().await;
    assert_eq!(lease.state.known, known("a", 6, None));
    scene.applied(&lease).await;
    assert_eq!(scene.terraform_state("a").await, record);
    // Within one lineage the serial never goes back.
    for (kind, serial) in [("3", 5), ("4", 9)] {
        scene.apply_state("a", kind, serial).await;
    }
    assert_eq!(scene.terraform_state("a").await.known, known("a", 9, None));
    let lease = scene.leased("a", "5").await;
    let interrupted = scene.with_state(&lease, AttemptOutcome::Interrupted, 7);
    scene.complete(interrupted).await;
    assert_eq!(scene.terraform_state("a").await.known, known("a", 9, None));
    let lease = scene.lease().await;
    let mut other = scene.with_state(&lease, AttemptOutcome::Applied, 0);
    other.state = Some(terraform_state("another", 1));
    scene.complete(other).await;
    assert_eq!(
        scene.terraform_state("a").await.known,
        known("another", 1, None)
    );
    assert_eq!(scene.terraform_state("b").await, StateRecord::default());
}

pub async fn a_move_is_counted_once_however_often_it_is_recorded<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply_state("a", "1", 4).await;
    let lease = scene.leased("a", "2").await;
    assert_eq!(lease.state.moves, 0);
    let accepted = StateReport::Accepted(Some(terraform_state("a", 5)));
    for _ in 0..2 {
        assert_eq!(scene.record(&lease, &accepted).await, 0);
    }
    let moved = StateReport::Moved(terraform_state("a", 5));
    for _ in 0..3 {
        assert_eq!(scene.record(&lease, &moved).await, 1);
    }
    let record = scene.terraform_state("a").await;
    assert_eq!((record.moves, record.known), (1, known("a", 5, Some(5))));
    scene
        .complete(scene.with_state(&lease, AttemptOutcome::Applied, 7))
        .await;
    let lease = scene.leased("a", "3").await;
    assert_eq!(lease.state.known, known("a", 7, Some(5)));
    assert_eq!(lease.state.moves, 1);
    // The state moves back, and the same record again: another lease moves it again.
    let moved = StateReport::Moved(terraform_state("a", 7));
    assert_eq!(scene.record(&lease, &moved).await, 2);
    scene.interrupted(&lease).await;
    let lease = scene.lease().await;
    assert_eq!(scene.record(&lease, &moved).await, 3);
    // A state of another lineage has moved, whatever the report says; without a state nothing is recorded.
    let other = StateReport::Accepted(Some(terraform_state("another", 1)));
    assert_eq!(scene.record(&lease, &other).await, 4);
    let record = scene.terraform_state("a").await;
    assert_eq!(record.known, known("another", 1, None));
    scene.interrupted(&lease).await;
    let lease = scene.lease().await;
    assert_eq!(scene.record(&lease, &StateReport::Accepted(None)).await, 5);
    let record = scene.terraform_state("a").await;
    assert_eq!((record.moves, record.known), (5, None));
}

pub async fn a_conflict_waits_for_a_decision_and_that_for_the_next_apply<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    scene.apply_state("a", "1", 4).await;
    let keep = StateDecision::Keep(Keep::Old);
    let refused = scene.decide("a", &keep).await;
    assert!(matches!(refused, Err(TaskError::NoConflict)), "{refused:?}");

    let lease = scene.leased("a", "2").await;
    let report = StateReport::Refused(conflict());
    for _ in 0..2 {
        assert_eq!(
            scene.record(&lease, &report).await,
            1,
            "directories are verified again"
        );
    }
    let failed = scene.failed(&lease, "refused").await;
    assert_eq!((failed.status, failed.next_due), (RunStatus::Failed, None));
    let record = scene.terraform_state("a").await;
    let (kept, at) = record.conflict.clone().expect("a conflict");
    assert_eq!(kept, conflict());
    assert!(at >= record.recorded_at.expect("a time"));
    assert_eq!(record.known, known("a", 4, None));
    assert_eq!(scene.undecided("a").await, Some(conflict()));

    scene.advance(seconds(100_000));
    assert_eq!(scene.acquire().await, None, "it is not tried again");
    let decided = scene.decide("a", &keep).await.expect("there is a conflict");
    assert_eq!(decided.keep, Some(Keep::Old));
    let keep = StateDecision::Keep(Keep::New);
    scene.decide("a", &keep).await.expect("another decision");
    assert_eq!(scene.undecided("a").await, None);
    let requests = scene.open_requests().await;
    assert_eq!(requests.len(), 1);
    let run = requests.first().expect("a decision requests one run");
    scene.enqueue_requested(*run, "2").await;
    scene.restart().await;
    let lease = scene.lease().await;
    assert_eq!(lease.state.keep, Some(Keep::New));
    assert_eq!(lease.state.conflict, None);
    scene.interrupted(&lease).await;
    let lease = scene.lease().await;
    assert_eq!(lease.state.keep, Some(Keep::New), "it is not carried out");
    let taken = StateReport::Accepted(Some(terraform_state("another", 2)));
    assert_eq!(scene.record(&lease, &taken).await, 2);
    assert_eq!(scene.record(&lease, &taken).await, 2);
    let record = scene.terraform_state("a").await;
    assert_eq!((record.keep, record.conflict), (None, None));
    assert_eq!(record.known, known("another", 2, None));
}

/// A refused state keeps every run that changes something waiting, at every worker: changes, requests and retries.
/// Runs that change nothing go on.
pub async fn a_refused_state_keeps_whatever_changes_something_waiting<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b"]).await;
    scene.apply_state("a", "1", 4).await;
    let lease = scene.leased("a", "2").await;
    let report = StateReport::Refused(conflict());
    scene.record(&lease, &report).await;
    // Its worker dies right after the report, or is stopped.
    scene.interrupted(&lease).await;
    let other = Claim {
        worker: cts_core::WorkerId::new("another"),
        ..claim()
    };
    let named = Claim {
        names_previous_backend: true,
        ends_remote_runs: false,
        asks_permission: true,
        ..other.clone()
    };
    for claim in [&claim(), &other, &named] {
        assert_eq!(scene.acquire_as(claim).await, None, "{claim:?}");
    }
    assert_eq!(scene.next_due().await, None);
    scene.advance(seconds(60));
    let waiting = scene.waiting_runs(seconds(30)).await;
    assert_eq!(waiting, []);
    let depth = scene.store().queue_depth().await;
    let depth = depth.expect("the queue can be read");
    assert_eq!((depth.queued, depth.ready), (1, 0));
    scene.apply("b", "1").await;

    // A newer input and a restart change nothing about that, and a requested run is refused.
    scene.enqueue("a", "3").await;
    scene.restart().await;
    assert_eq!(scene.acquire().await, None);
    let request = |kind| TaskChange {
        request: Some((scene.run_id(), kind)),
        ..TaskChange::default()
    };
    let store = scene.store();
    let refused = store
        .change_task(&task("a"), &request(RunKind::Apply))
        .await;
    assert!(
        matches!(&refused, Err(TaskError::StateRefused { reason }) if *reason == conflict().reason),
        "{refused:?}"
    );
    assert_eq!(scene.open_requests().await, []);
    let planned = request(RunKind::Plan);
    let (plan, _) = planned.request.expect("a request");
    let asked = store.change_task(&task("a"), &planned).await;
    asked.expect("a plan changes nothing");
    scene.enqueue_requested(plan, "3").await;
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.kind), (plan, RunKind::Plan));
    scene.interrupted(&lease).await;
    let lease = scene.lease().await;
    assert_eq!(lease.run, plan);
    scene.failed(&lease, "the state is not there").await;

    let keep = StateDecision::Keep(Keep::New);
    scene.decide("a", &keep).await.expect("there is a conflict");
    let lease = scene.lease().await;
    assert_eq!(
        (lease.kind, lease.state.keep),
        (RunKind::Apply, Some(Keep::New))
    );
    // A refusal of what was decided takes another decision.
    let told = scene.record(&lease, &report).await;
    assert_eq!(told, 2);
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.undecided("a").await, Some(conflict()));
}

/// Where no other place of the state is known, a worker that names one may look there.
pub async fn a_worker_that_names_another_place_may_look_there<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply_state("a", "1", 4).await;
    let lease = scene.leased("a", "2").await;
    let nowhere = StateConflict {
        old: None,
        ..conflict()
    };
    let report = StateReport::Refused(nowhere);
    scene.record(&lease, &report).await;
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
    let named = Claim {
        names_previous_backend: true,
        ends_remote_runs: false,
        asks_permission: true,
        ..claim()
    };
    let lease = scene.acquire_as(&named).await.expect("it may look");
    // It did, and the state is not there either.
    let report = StateReport::Refused(conflict());
    scene.record(&lease, &report).await;
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire_as(&named).await, None);
}

/// A conflict ends when an attempt reports that it went on with the known state.
pub async fn a_conflict_is_over_with_the_next_state<F: Fixture>() {
    for outcome in [
        AttemptOutcome::Applied,
        AttemptOutcome::Failed("no".to_owned()),
    ] {
        let scene = Scene::<F>::new(&["a"]).await;
        let lease = scene.leased("a", "1").await;
        let nowhere = StateConflict {
            old: None,
            ..conflict()
        };
        scene.record(&lease, &StateReport::Refused(nowhere)).await;
        scene.interrupted(&lease).await;
        assert!(scene.terraform_state("a").await.conflict.is_some());
        let named = Claim {
            names_previous_backend: true,
            ends_remote_runs: false,
            asks_permission: true,
            ..claim()
        };
        let lease = scene.acquire_as(&named).await.expect("it may look");
        scene.complete(scene.with_state(&lease, outcome, 1)).await;
        assert_eq!(scene.terraform_state("a").await.conflict, None);
    }
}

pub async fn a_decision_requests_a_run_where_none_is_queued<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "off"]).await;
    scene.enable("off", false).await;
    for name in ["a", "off"] {
        let from = StateDecision::From(task("earlier"));
        let decided = scene.decide(name, &from).await.expect("the name is free");
        assert_eq!(decided.from, Some(task("earlier")));
        scene.decide(name, &from).await.expect("safe to repeat");
    }
    let requests = scene.open_requests().await;
    assert_eq!(requests.len(), 1, "{requests:?}");
    let run = requests[0];
    let request = scene.find_request(run).await.expect("it is open");
    assert_eq!((request.task, request.kind), (task("a"), RunKind::Apply));
    scene.enqueue_requested(run, "1").await;
    let lease = scene.lease().await;
    assert_eq!(lease.state.from, Some(task("earlier")));
    let moved = StateReport::Moved(terraform_state("a", 3));
    assert_eq!(scene.record(&lease, &moved).await, 1);
    scene.applied(&lease).await;
    assert_eq!(scene.terraform_state("a").await.from, None);
    let off = scene.terraform_state("off").await;
    assert_eq!(off.from, Some(task("earlier")));
}

pub async fn the_state_of_a_task_that_is_there_is_its_own<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.created("b").await;
    let drafted = scene.draft("c", RunKind::Check).await;
    for other in ["a", "b", "c"] {
        let refused = scene.decide("a", &StateDecision::From(task(other))).await;
        let named = match refused {
            Err(TaskError::StillThere(named)) => Some(named),
            _ => None,
        };
        assert_eq!(named, Some(task(other)));
    }
    assert_eq!(
        scene.find_request(drafted).await.map(|it| it.run),
        Some(drafted)
    );
    let unknown = scene
        .decide("none", &StateDecision::From(task("earlier")))
        .await;
    assert!(matches!(unknown, Err(TaskError::Unknown)), "{unknown:?}");
    let store = scene.store();
    let unknown = store.terraform_state(&task("none")).await;
    assert_eq!(unknown.expect("states can be read"), None);
    assert!(scene.delete("b").await);
    scene
        .decide("a", &StateDecision::From(task("b")))
        .await
        .expect("it is gone");
}

pub async fn a_task_under_an_old_name_is_another_one<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    scene.created("a").await;
    scene.apply_state("a", "1", 4).await;
    assert!(scene.delete("a").await);
    scene.created("a").await;
    assert_eq!(scene.terraform_state("a").await, StateRecord::default());
    let lease = scene.leased("a", "1").await;
    assert_eq!(lease.state, StateRecord::default());
}

/// A destruction that was refused because of the state is tried again at once after the decision.
pub async fn a_decision_makes_a_destruction_due<F: Fixture>() {
    let scene = Scene::<F>::configured(&[destroyed("a")]).await;
    scene.apply_state("a", "1", 4).await;
    let run = scene.run_id();
    assert!(!scene.delete_as("a", Deletion::AsTaskSays { run }).await);
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.kind), (run, RunKind::Destroy));
    assert_eq!(lease.state.known, known("a", 4, None));
    scene
        .record(&lease, &StateReport::Refused(conflict()))
        .await;
    scene.failed(&lease, "no state").await;
    scene.advance(seconds(100_000));
    assert_eq!(scene.acquire().await, None, "it waits");
    let keep = StateDecision::Keep(Keep::New);
    scene.decide("a", &keep).await.expect("there is a conflict");
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.state.keep), (run, Some(Keep::New)));
    assert_eq!(scene.run(run).await.status, RunStatus::Running);

    // A suspended one waits until the task is deleted once more.
    scene.cancel(run, false).await;
    scene
        .record(&lease, &StateReport::Refused(conflict()))
        .await;
    scene.interrupted(&lease).await;
    let keep = StateDecision::Keep(Keep::Old);
    scene.decide("a", &keep).await.expect("there is a conflict");
    assert_eq!(scene.acquire().await, None, "it is suspended");
    let again = Deletion::AsTaskSays {
        run: scene.run_id(),
    };
    assert!(!scene.delete_as("a", again).await);
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.state.keep), (run, Some(Keep::Old)));
}
