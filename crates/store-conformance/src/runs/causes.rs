//! Causes, the runs that they led to, and the states of their tasks.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::EnqueueDecision::{Block, Replace, Skip};
use cts_core::runs::{self, RunStatus};
use cts_core::{CauseId, RunId, TaskName, ViewId};
use cts_proto::run::v1::{Cause, CauseState};
use cts_store::{EnqueueRequest, RunFilter};
use uuid::Uuid;

use crate::Fixture;
use crate::declarations::guards;
use crate::scene::{Scene, all_runs, seconds, spec, task, unretried};

fn id(number: u128) -> CauseId {
    CauseId::from_uuid(Uuid::from_u128(number))
}

fn removed(cause: &runs::Cause, service: &str, instances: u32) {
    let view = ViewId::new(format!("health.service({service})"));
    cause.add(&view, [(service.to_owned(), [0, instances, 0])].into());
}

/// The request with these causes, which have arrived at this time.
fn caused(request: EnqueueRequest, numbers: &[u128], at: DateTime<Utc>) -> EnqueueRequest {
    let causes = numbers.iter().map(|number| {
        let cause = runs::Cause::new(id(*number), at);
        removed(&cause, "web", 40);
        Arc::new(cause)
    });
    EnqueueRequest {
        causes: causes.collect(),
        ..request
    }
}

fn early(request: EnqueueRequest, numbers: &[u128]) -> EnqueueRequest {
    caused(request, numbers, DateTime::UNIX_EPOCH)
}

impl<F: Fixture> Scene<F> {
    pub(crate) async fn queue_caused(&self, name: &str, text: &str, numbers: &[u128]) -> RunId {
        self.queue_new(early(self.request(name, text), numbers))
            .await
    }

    async fn listed_causes(&self, from: Option<u128>, tasks: Option<&[TaskName]>) -> Vec<Cause> {
        let causes = self.store().causes(from.map(id), tasks, 100).await;
        causes.expect("causes can be listed")
    }

    async fn cause(&self, number: u128) -> Option<Cause> {
        let causes = self.listed_causes(Some(number), None).await;
        let mut causes = causes.into_iter();
        causes.find(|cause| cause.id == id(number).to_string())
    }

    /// The states of the tasks of a cause: state, number and names.
    async fn states_of_cause(&self, number: u128) -> Vec<(CauseState, u32, String)> {
        let cause = self.cause(number).await.expect("the cause is stored");
        let states = cause.tasks.into_iter();
        let mut states: Vec<_> = states
            .map(|tasks| (tasks.state(), tasks.count, tasks.names.join(" ")))
            .collect();
        states.sort_by_key(|(state, ..)| i32::from(*state));
        states
    }

    pub(crate) async fn causes_of(&self, run: RunId) -> Vec<u128> {
        let cause = self.run(run).await.cause.unwrap_or_default();
        let causes = cause.causes.into_iter();
        causes.map(|cause| cause.as_uuid().as_u128()).collect()
    }

    async fn runs_of_cause(&self, number: u128) -> Vec<RunId> {
        let filter = RunFilter {
            cause: Some(id(number)),
            ..all_runs()
        };
        let runs = self.listed(&filter).await.into_iter();
        runs.map(|run| run.id).collect()
    }
}

fn one(state: CauseState, names: &str) -> (CauseState, u32, String) {
    let count = u32::try_from(names.split(' ').count());
    (state, count.expect("they are few"), names.to_owned())
}

pub async fn a_cause_is_stored_with_its_runs_and_lists_their_tasks<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let a = scene.queue_caused("a", "1", &[1]).await;
    let later = early(scene.request("b", "1"), &[1]);
    let b = later.run;
    let mut c = early(scene.request("c", "1"), &[1, 2]);
    let joined = Arc::clone(&later.causes[0]);
    c.causes[0] = Arc::clone(&joined);
    removed(&joined, "api", 12);
    let c_run = c.run;
    scene.request_all(vec![later, c]).await;
    let cause = scene.cause(1).await.expect("it is stored");
    assert_eq!(cause.lines, ["web −40", "api −12"]);
    assert_eq!(cause.at.map(|at| at.seconds), Some(0));
    assert_eq!(
        scene.states_of_cause(1).await,
        [one(CauseState::Queued, "a b c")]
    );
    assert_eq!(scene.runs_of_cause(1).await, [c_run, b, a]);
    assert_eq!(scene.runs_of_cause(2).await, [c_run]);
    let first = scene.lease().await;
    scene.applied(&first).await;
    let second = scene.lease().await;
    scene.suspend(&second, "a lock").await;
    let states = [
        one(CauseState::Applied, "a"),
        one(CauseState::Waiting, "b"),
        one(CauseState::Queued, "c"),
    ];
    assert_eq!(scene.states_of_cause(1).await, states);
    let some = [task("c"), task("none")];
    let listed = scene.listed_causes(None, Some(&some)).await;
    let ids: Vec<_> = listed.iter().map(|cause| cause.id.clone()).collect();
    assert_eq!(
        ids,
        [id(2).to_string(), id(1).to_string()],
        "the newest first"
    );
    assert_eq!(listed[1].tasks.len(), 1);
    assert_eq!(listed[1].tasks[0].names, ["c"]);
    assert_eq!(scene.listed_causes(Some(1), None).await.len(), 1);
}

pub async fn a_cause_without_a_run_is_not_stored<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let same = early(scene.request("a", "1"), &[1]);
    let skipped = scene.request_all(vec![same]).await.remove(0);
    assert!(matches!(skipped.decision, Some(Skip { .. })));
    assert_eq!(scene.cause(1).await, None);
    assert_eq!(scene.listed_causes(None, None).await, []);
}

pub async fn a_queued_run_collects_the_newest_causes<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_caused("a", "0", &[1]).await;
    for number in 2..=20 {
        let request = early(scene.request("a", &number.to_string()), &[number]);
        let answer = scene.request_all(vec![request]).await.remove(0);
        assert_eq!(answer.decision, Some(Replace));
    }
    assert_eq!(scene.causes_of(run).await, (5..=20).collect::<Vec<u128>>());
    assert_eq!(scene.runs_of_cause(20).await, [run]);
    scene.applied(&scene.lease().await).await;
    let event = scene.state("a").await.events.remove(0);
    assert_eq!(event.cause.map_or(0, |cause| cause.causes.len()), 16);
    let next = scene.queue_caused("a", "next", &[21]).await;
    assert_eq!(scene.causes_of(next).await, [21], "the others are applied");
}

pub async fn retries_and_newer_runs_take_causes_over<F: Fixture>() {
    let scene = Scene::<F>::configured(&[spec("a"), unretried("b")]).await;
    scene.queue_caused("a", "1", &[1]).await;
    scene.fail_thrice(scene.lease().await).await;
    let runs = scene.runs_of_cause(1).await;
    assert_eq!(runs.len(), 2, "the failed run and its retry");
    assert_eq!(scene.run(runs[0]).await.status, RunStatus::Queued);
    assert_eq!(scene.causes_of(runs[0]).await, [1]);
    assert_eq!(
        scene.states_of_cause(1).await,
        [one(CauseState::Failed, "a")]
    );
    let newer = early(scene.request("a", "2"), &[2]);
    scene.request_all(vec![newer]).await;
    assert_eq!(scene.causes_of(runs[0]).await, [1, 2]);
    assert_eq!(
        scene.states_of_cause(1).await,
        [one(CauseState::Queued, "a")]
    );
    scene.applied(&scene.lease().await).await;
    assert_eq!(
        scene.states_of_cause(1).await,
        [one(CauseState::Applied, "a")]
    );

    // A run that fails for good, and one that fails while a newer one is queued.
    scene.queue_caused("b", "1", &[3]).await;
    scene.fail_thrice(scene.lease().await).await;
    assert_eq!(
        scene.states_of_cause(3).await,
        [one(CauseState::Failed, "b")]
    );
    let next = scene.queue_caused("b", "2", &[4]).await;
    assert_eq!(scene.causes_of(next).await, [3, 4]);
    let lease = scene.lease().await;
    let newer = scene.queue_caused("b", "3", &[5]).await;
    assert_eq!(scene.causes_of(newer).await, [5]);
    scene.failed(&lease, "no").await;
    assert_eq!(scene.causes_of(newer).await, [3, 4, 5]);
    assert_eq!(scene.runs_of_cause(3).await.len(), 3);
    scene.applied(&scene.lease().await).await;
    for number in 3..=5 {
        assert_eq!(
            scene.states_of_cause(number).await,
            [one(CauseState::Applied, "b")]
        );
    }
}

pub async fn a_cancelled_run_leaves_its_causes_to_the_next<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "0").await;
    let cancelled = scene.queue_caused("a", "1", &[1]).await;
    scene.cancel(cancelled, false).await;
    assert_eq!(
        scene.states_of_cause(1).await,
        [one(CauseState::Cancelled, "a")]
    );
    let next = scene.queue_caused("a", "2", &[2]).await;
    assert_eq!(scene.causes_of(next).await, [1, 2]);
    scene.applied(&scene.lease().await).await;
    assert_eq!(
        scene.states_of_cause(1).await,
        [one(CauseState::Applied, "a")]
    );
}

pub async fn a_blocked_task_is_among_those_of_a_stored_cause<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    guards::apply(&scene, 10).await;
    let blocked = early(guards::with(&scene, 4), &[1]);
    let answer = scene.request_all(vec![blocked]).await.remove(0);
    assert_eq!(answer.decision, Some(Block));
    assert_eq!(scene.cause(1).await, None, "it has led to no run");
    scene.queue_caused("b", "1", &[1]).await;
    let states = [one(CauseState::Blocked, "a"), one(CauseState::Queued, "b")];
    assert_eq!(scene.states_of_cause(1).await, states);
    let released = scene.store().release_task(&task("a"), None).await;
    assert!(released.expect("the task is there").is_some());
    scene.queue_new(early(guards::with(&scene, 4), &[1])).await;
    assert_eq!(
        scene.states_of_cause(1).await,
        [one(CauseState::Queued, "a b")]
    );
}

pub async fn a_run_after_a_block_has_the_causes_of_the_block<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    guards::apply(&scene, 10).await;
    for (instances, numbers) in [(4, [1]), (3, [2])] {
        let blocked = early(guards::with(&scene, instances), &numbers);
        let answer = scene.request_all(vec![blocked]).await.remove(0);
        assert_eq!(answer.decision, Some(Block));
    }
    let held = scene.state("a").await.held.map(|held| held.causes);
    assert_eq!(held, Some(vec![id(1), id(2)]));
    // A new leader knows neither of them.
    let run = scene.queue_new(early(guards::with(&scene, 9), &[3])).await;
    assert_eq!(scene.causes_of(run).await, [1, 2, 3]);
}

pub async fn causes_are_forgotten_after_a_week_and_their_runs_earlier<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let now = async || {
        let run = scene.queue_plan("a", "now").await;
        scene.run(run).await.created_at
    };
    let begun = now().await;
    let queue = async |text: &str, number, at| {
        let run = scene
            .queue_new(caused(scene.request("a", text), &[number], at))
            .await;
        loop {
            let lease = scene.lease().await;
            if lease.run == run {
                scene.applied(&lease).await;
                break;
            }
            scene.planned(&lease, "").await;
        }
        run
    };
    let old = queue("1", 1, begun).await;
    scene.advance(Duration::from_hours(6 * 24));
    let new = queue("2", 2, now().await).await;
    assert!(scene.prune(1).await > 0);
    assert_eq!(scene.find_run(old).await, None);
    assert_eq!(scene.runs_of_cause(1).await, []);
    assert_eq!(scene.states_of_cause(1).await, []);
    assert_eq!(scene.runs_of_cause(2).await, [new]);
    scene.advance(Duration::from_hours(24) + seconds(1));
    scene.prune(100).await;
    assert_eq!(scene.cause(1).await, None);
    assert!(scene.cause(2).await.is_some());
    scene.advance(Duration::from_hours(6 * 24));
    scene.prune(100).await;
    assert_eq!(scene.cause(2).await, None);
    assert_eq!(scene.causes_of(new).await, [2], "the run keeps the id");
    assert_eq!(scene.runs_of_cause(2).await, []);
}
