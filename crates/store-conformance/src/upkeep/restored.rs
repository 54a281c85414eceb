//! A database that is older than the work of Terraform.

use std::slice::from_ref;

use cts_core::runs::{AttemptOutcome, Occasion, RunKind, RunStatus};
use cts_core::{Digest, EPOCH_STEP, JournalEntry, LeaseEpoch, RunId};
use cts_store::{LeaderError, LeaseError, Restoration, Retention};

use crate::Fixture;
use crate::scene::{LEASE, Scene, disabled, input, seconds, spec, task};

/// An attempt at a run, as a journal has it.
fn attempt(name: &str, run: RunId, epoch: u64) -> JournalEntry {
    JournalEntry {
        task: task(name),
        run,
        epoch: LeaseEpoch::new(epoch),
        input: Digest::of(b"input"),
        began_at: None,
        outcome: Some("applied".to_owned()),
    }
}

/// Compares attempts; returns the names of the tasks whose input was voided.
async fn compare<F: Fixture>(scene: &Scene<F>, attempts: &[JournalEntry]) -> Vec<String> {
    let attempts = attempts.iter().map(|it| (it.clone(), scene.run_id()));
    let attempts: Vec<_> = attempts.collect();
    let voided = scene.store().compare_attempts(&attempts).await;
    let voided = voided.expect("attempts can be compared");
    voided.iter().map(ToString::to_string).collect()
}

async fn has_applied<F: Fixture>(scene: &Scene<F>, name: &str) -> bool {
    let asked = scene.enqueue(name, "1").await;
    asked.queued.is_none()
}

/// The open requests, with their tasks and kinds.
async fn requested<F: Fixture>(scene: &Scene<F>) -> Vec<(String, RunId, RunKind)> {
    let requests = scene.store().requests().await;
    let requests = requests.expect("requests can be read").into_iter();
    let told = requests.map(|it| (it.task.to_string(), it.run, it.kind));
    told.collect()
}

pub async fn a_forgotten_attempt_voids_the_input_of_its_task_once<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    scene.apply("a", "1").await;
    scene.apply("b", "1").await;
    // The backup is from before this run.
    let forgotten = attempt("a", scene.run_id(), 1);
    assert_eq!(compare(&scene, from_ref(&forgotten)).await, ["a"]);
    let asked = requested(&scene).await;
    assert!(
        matches!(&asked[..], [(task, _, RunKind::Apply)] if task == "a"),
        "{asked:?}"
    );
    assert_eq!(scene.state("a").await.owes_run, Some(Occasion::Journal));
    assert!(has_applied(&scene, "b").await);

    // The worker registers with the next leader, before the run is queued and after it has ended.
    assert!(compare(&scene, from_ref(&forgotten)).await.is_empty());
    assert_eq!(requested(&scene).await, asked);
    let run = asked[0].1;
    scene.enqueue_requested(run, "1").await;
    assert!(compare(&scene, from_ref(&forgotten)).await.is_empty());
    let lease = scene.lease().await;
    assert_eq!(lease.run, run);
    scene.applied(&lease).await;
    assert!(compare(&scene, &[forgotten]).await.is_empty());
    assert!(requested(&scene).await.is_empty());
    assert!(has_applied(&scene, "a").await);
}

pub async fn a_forgotten_grant_of_a_known_run_voids_the_input<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    // The backup has the run in its queue; it was applied afterwards.
    let run = scene.queue("a", "2").await;
    assert_eq!(compare(&scene, &[attempt("a", run, 1)]).await, ["a"]);
    let asked = requested(&scene).await;
    assert_eq!(asked.len(), 1);
    // Consul is back at the former input, which is applied nevertheless.
    scene.enqueue_requested(asked[0].1, "1").await;
    let lease = scene.lease().await;
    assert_eq!(lease.input, input("1").hash);
}

pub async fn attempts_that_are_known_or_older_than_what_is_known_void_nothing<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let older = scene.run_id();
    let first = scene.apply("a", "1").await;
    let unknown = scene.run_id();
    let newest = scene.apply("a", "2").await;
    scene.apply("b", "1").await;
    for run in [older, first, unknown, newest] {
        assert!(compare(&scene, &[attempt("a", run, 1)]).await.is_empty());
    }
    // A newer run that waits, or works, is one that follows.
    let forgotten = scene.run_id();
    scene.queue("a", "3").await;
    assert!(
        compare(&scene, &[attempt("a", forgotten, 1)])
            .await
            .is_empty()
    );
    let lease = scene.lease().await;
    assert!(
        compare(&scene, &[attempt("a", forgotten, 1)])
            .await
            .is_empty()
    );
    scene.applied(&lease).await;
    // A plan changes nothing, so it settles nothing.
    let forgotten = scene.run_id();
    scene.queue_plan("a", "3").await;
    let lease = scene.lease().await;
    scene.planned(&lease, "nothing").await;
    assert_eq!(compare(&scene, &[attempt("a", forgotten, 1)]).await, ["a"]);
}

pub async fn pruned_runs_are_not_forgotten<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut runs = Vec::new();
    for round in 1..6 {
        scene.advance(seconds(1));
        runs.push(scene.apply("a", &format!("{round}")).await);
    }
    scene.advance(seconds(1));
    let cancelled = scene.queue("a", "6").await;
    scene.cancel(cancelled, false).await;
    scene.advance(seconds(100));
    let retention = Retention {
        runs: 1,
        age: seconds(1),
    };
    scene.store().prune(retention).await.expect("runs go");
    for run in runs {
        assert!(compare(&scene, &[attempt("a", run, 1)]).await.is_empty());
    }
}

pub async fn attempts_at_tasks_that_are_not_there_are_ignored<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "new"]).await;
    scene.apply("a", "1").await;
    scene.apply("b", "1").await;
    let run = scene.run_id();
    scene.configure(&[spec("a"), spec("new")]).await;
    let attempts = ["b", "new", "unknown"].map(|name| attempt(name, run, 1));
    assert!(compare(&scene, &attempts).await.is_empty());
    assert!(requested(&scene).await.is_empty());
    assert!(compare(&scene, &[]).await.is_empty());
    // A later task of the same name has applied nothing that could be forgotten.
    scene.configure(&[spec("a"), spec("b"), spec("new")]).await;
    assert!(compare(&scene, &[attempt("b", run, 1)]).await.is_empty());
    assert!(requested(&scene).await.is_empty());
}

pub async fn a_forgotten_attempt_at_a_disabled_task_requests_no_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    scene.configure(&[disabled("a")]).await;
    let forgotten = attempt("a", scene.run_id(), 1);
    assert_eq!(compare(&scene, from_ref(&forgotten)).await, ["a"]);
    assert!(requested(&scene).await.is_empty());
    assert!(compare(&scene, &[forgotten]).await.is_empty());
    scene.configure(&[spec("a")]).await;
    assert!(!has_applied(&scene, "a").await);
}

pub async fn each_leader_that_begins_has_a_name_of_its_own<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let start = async || {
        let start = scene.store().leader_start().await;
        start.expect("the leadership can be read")
    };
    assert_eq!(start().await, None);
    let first = scene.lead_as("a", None, seconds(10)).await;
    let name = start().await;
    assert!(name.is_some());
    scene.lead_as("a", Some(first.epoch), seconds(10)).await;
    assert_eq!(start().await, name, "the same leader goes on");
    scene.lead_as("a", None, seconds(10)).await;
    let again = start().await;
    assert_ne!(again, name, "the same process leads once more");
    scene.advance(seconds(11));
    scene.lead_as("b", None, seconds(10)).await;
    assert!(![name, again].contains(&start().await));
}

pub async fn a_restored_database_counts_nothing_as_applied_and_knows_no_lease<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    scene.apply("a", "1").await;
    scene.apply("b", "1").await;
    let lease = scene.leased("b", "2").await;
    let queued = scene.queue("c", "1").await;
    let old = scene.leader();
    let expected = Restoration {
        // The task with the running run has tried an input.
        inputs: 2,
        runs: 2,
        leader_epoch: old.get(),
    };
    let told = scene.store().restoration().await;
    assert_eq!(told.expect("it can be told"), expected);
    let marked = async || {
        let marked = scene.store().mark_restored().await;
        marked.expect("the database can be marked")
    };
    let mut epoch = old.get() + EPOCH_STEP;
    let expected = Restoration {
        leader_epoch: epoch,
        ..expected
    };
    assert_eq!(marked().await, expected);
    // A repeated mark finds nothing to void.
    epoch += EPOCH_STEP;
    let expected = Restoration {
        inputs: 0,
        leader_epoch: epoch,
        ..expected
    };
    assert_eq!(marked().await, expected);

    // Neither the leader nor the worker from before can do anything.
    let write = scene.store().enqueue(old, Vec::new()).await;
    assert!(matches!(write, Err(LeaderError::Deposed { .. })));
    let completion = scene.completion(&lease, AttemptOutcome::Applied);
    let completed = scene.store().complete(completion).await;
    assert!(matches!(completed, Err(LeaseError::Lost { .. })));
    let store = scene.store();
    let renewed = store.renew(lease.run, &lease.holder, lease.epoch, LEASE, None);
    assert!(matches!(renewed.await, Err(LeaseError::Lost { .. })));

    // Another leader takes the lease back, and every task runs once.
    scene.lead().await;
    assert!(scene.leader().get() > epoch);
    assert!(!has_applied(&scene, "a").await);
    scene.advance(LEASE);
    scene.reap().await;
    assert_eq!(scene.run(lease.run).await.status, RunStatus::Queued);
    assert_eq!(scene.run(queued).await.status, RunStatus::Queued);
    let mut ran = Vec::new();
    for _ in 0..3 {
        scene.advance(seconds(60));
        let lease = scene.lease().await;
        scene.applied(&lease).await;
        ran.push(lease.task.to_string());
    }
    ran.sort();
    assert_eq!(ran, ["a", "b", "c"]);
}
