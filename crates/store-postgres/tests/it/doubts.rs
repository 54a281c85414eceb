//! Trust in tasks on a new timeline. The switch is simulated: the stored identity is not that of the server.

mod scene;

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_core::{JournalEntry, JournalPart, WorkerId};
use cts_store::{
    Continuity as _, HeldLeases as _, Settlement, Store as _, Vouched, WorkerStore as _,
};
use cts_store_conformance::task;

use self::scene::{LIFE, NAMES, Scene, entry, first, lost, names, trusted};
use crate::fixture::{execute, number, settings};
use crate::outage::{applied, claim, request};

#[tokio::test]
async fn nothing_is_in_doubt_on_the_first_timeline() {
    let scene = Scene::start(&["w"]).await;
    assert_eq!(scene.store.timeline().await.unwrap().reported, None);
    assert_eq!(scene.settle().await, Settlement::Settled);
    assert_eq!(scene.run_again().await, Vec::<&str>::new());
}

#[tokio::test]
async fn nothing_runs_if_all_workers_vouch() {
    let mut scene = Scene::start(&["w", "idle"]).await;
    scene.switch().await;
    assert_eq!(
        scene.report(&["w"], scene.entries()).await,
        Vouched::default()
    );
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, Settlement::Open);
    scene.report(&["idle"], Vec::new()).await;
    assert_eq!(scene.settle().await, trusted(3, 0));
    assert_eq!(scene.settle().await, Settlement::Settled);
    assert_eq!(scene.run_again().await, Vec::<&str>::new());
}

#[tokio::test]
async fn reports_of_others_are_waited_for() {
    let mut scene = Scene::start(&["w"]).await;
    scene.switch().await;
    scene.report(&["w"], scene.entries()).await;
    assert_eq!(scene.settle().await, Settlement::Open);
    // A worker that the database has forgotten.
    let vouched = scene.report(&["new"], vec![lost("b")]).await;
    assert_eq!(names(&vouched.forgotten), ["b"]);
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, trusted(2, 1));
    assert_eq!(scene.run_again().await, ["b"]);
}

#[tokio::test]
async fn a_task_of_which_a_run_or_a_grant_is_forgotten_runs_once() {
    let mut scene = Scene::start(&["w"]).await;
    // Task "b" has a waiting run with the applied input, so that only its grant can be lost.
    let granted = scene.wait_for_grant("b").await;
    scene.switch().await;
    let entries = vec![lost("a"), granted.clone(), entry(&scene.leases[2])];
    let vouched = scene.report(&["w"], entries).await;
    assert_eq!(names(&vouched.forgotten), ["a", "b"]);
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, trusted(1, 2));
    let decided = scene
        .store
        .enqueue(scene.leader, NAMES.map(first).to_vec())
        .await
        .unwrap();
    let queued = decided.iter().map(|enqueued| enqueued.queued.is_some());
    assert_eq!(queued.collect::<Vec<_>>(), [true, true, false]);
}

#[tokio::test]
async fn a_worker_that_does_not_report_vouches_for_nothing() {
    let mut scene = Scene::start(&["w", "silent"]).await;
    scene.switch().await;
    scene.report(&["w"], scene.entries()).await;
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, Settlement::Open);
    scene.pass(LIFE / 2).await;
    let silent = vec![WorkerId::new("silent")];
    assert_eq!(scene.settle().await, Settlement::Distrusted { silent });
    assert_eq!(scene.run_again().await, NAMES);
}

#[tokio::test]
async fn without_a_worker_nothing_is_trusted() {
    let mut scene = Scene::start(&["w"]).await;
    scene
        .store
        .forget_worker(&WorkerId::new("w"))
        .await
        .unwrap();
    scene.switch().await;
    let silent = Vec::new();
    assert_eq!(scene.settle().await, Settlement::Distrusted { silent });
    assert_eq!(scene.run_again().await, NAMES);
}

#[tokio::test]
async fn a_worker_that_was_gone_long_before_is_not_waited_for() {
    let mut scene = Scene::start(&["w", "gone"]).await;
    execute(
        &scene.url,
        "UPDATE workers SET seen_at = seen_at - 31000000 WHERE id = 'gone'",
    )
    .await;
    scene.switch().await;
    scene.report(&["w"], scene.entries()).await;
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, trusted(3, 0));
}

#[tokio::test]
async fn the_next_life_of_a_worker_vouches_for_the_one_before() {
    let mut scene = Scene::start(&["w-1"]).await;
    scene.switch().await;
    scene.pass(LIFE / 2).await;
    scene.report(&["w-2"], Vec::new()).await;
    assert_eq!(scene.settle().await, Settlement::Open);
    scene.report(&["w-1", "w-2"], scene.entries()).await;
    assert_eq!(scene.settle().await, trusted(3, 0));
}

#[tokio::test]
async fn a_journal_in_parts_vouches_with_the_last_one() {
    let mut scene = Scene::start(&["w"]).await;
    scene.switch().await;
    scene.pass(LIFE / 2).await;
    let mut part = JournalPart {
        timeline: scene.store.timeline().await.unwrap().reported.unwrap(),
        lives: vec![WorkerId::new("w")],
        entries: vec![lost("a")],
        last: false,
    };
    scene.store.vouch(&part).await.unwrap();
    assert_eq!(scene.settle().await, Settlement::Open);
    part.entries = vec![entry(&scene.leases[1])];
    part.last = true;
    // Another timeline than this one.
    let other = JournalPart {
        timeline: "another".to_owned(),
        ..part.clone()
    };
    scene.store.vouch(&other).await.unwrap();
    assert_eq!(scene.settle().await, Settlement::Open);
    scene.store.vouch(&part).await.unwrap();
    assert_eq!(scene.settle().await, trusted(2, 1));
}

#[tokio::test]
async fn a_run_that_is_forgotten_and_reported_late_makes_its_task_run_once() {
    let mut scene = Scene::start(&["w"]).await;
    scene.switch().await;
    scene.report(&["w"], scene.entries()).await;
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, trusted(3, 0));
    let entries = vec![lost("a"), entry(&scene.leases[1])];
    let vouched = scene.report(&["late"], entries.clone()).await;
    assert_eq!(names(&vouched.forgotten), ["a"]);
    assert_eq!(names(&vouched.too_late), ["a"]);
    // Once.
    let vouched = scene.report(&["late"], entries.clone()).await;
    assert_eq!(names(&vouched.too_late), Vec::<&str>::new());
    assert_eq!(scene.run_again().await, ["a"]);
    scene.pass(Duration::from_mins(3)).await;
    let store = cts_store_postgres::connect(&settings(&scene.url))
        .await
        .unwrap();
    let lease = store.acquire(&claim("w")).await.unwrap().unwrap();
    store.complete(applied(&lease)).await.unwrap();
    let vouched = scene.report(&["late"], entries).await;
    assert_eq!(names(&vouched.too_late), Vec::<&str>::new());
    assert_eq!(scene.run_again().await, Vec::<&str>::new());
}

#[tokio::test]
async fn a_lease_whose_end_is_forgotten_is_shown() {
    let mut scene = Scene::start(&["w"]).await;
    let lease = scene.lease("a", "2", "w").await;
    scene.switch().await;
    let mut entries = vec![entry(&lease)];
    let ended = vec![(lease.run, WorkerId::new("w"), lease.epoch)];
    assert_eq!(scene.report(&["w"], entries.clone()).await.ended, ended);
    // At work still, or of another worker.
    assert_eq!(scene.report(&["x"], entries.clone()).await.ended, []);
    entries[0].outcome = None;
    assert_eq!(scene.report(&["w"], entries).await.ended, []);
    // No input counted as applied before, so none does after it.
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, trusted(3, 0));
    scene
        .store
        .renew(lease.run, &lease.holder, lease.epoch, LIFE, None)
        .await
        .unwrap();
    let completed = scene.store.complete(applied(&lease)).await.unwrap();
    assert_eq!(completed.status, RunStatus::Succeeded);
    assert_eq!(scene.run_again().await, ["a"]);
}

#[tokio::test]
async fn runs_of_an_earlier_version_are_not_trusted() {
    let mut scene = Scene::start(&["w"]).await;
    scene.switch().await;
    scene.report(&["w"], scene.entries()).await;
    // The earlier version ignores doubts, and leases once the life of its lease is over.
    execute(&scene.url, "UPDATE continuity SET doubts_of = NULL").await;
    scene.pass(Duration::from_mins(3)).await;
    let earlier = cts_store_postgres::connect(&settings(&scene.url))
        .await
        .unwrap();
    let mut failing = Vec::new();
    for name in ["a", "b"] {
        let queued = vec![request(name, "2")];
        earlier.enqueue(scene.leader, queued).await.unwrap();
        failing.push(earlier.acquire(&claim("w")).await.unwrap().unwrap());
    }
    for (lease, outcome) in failing.iter().zip([
        AttemptOutcome::Failed("no".to_owned()),
        AttemptOutcome::Interrupted,
    ]) {
        let mut completion = applied(lease);
        completion.outcome = outcome;
        earlier.complete(completion).await.unwrap();
    }
    execute(
        &scene.url,
        "UPDATE continuity SET doubts_of = identity, changed_at = changed_at + 155000000",
    )
    .await;
    assert_eq!(scene.settle().await, trusted(1, 0));
    let applied = "SELECT count(*) FROM tasks WHERE last_applied IS NOT NULL AND name = 'c'";
    assert_eq!(number(&scene.url, applied).await, 1);
}

#[tokio::test]
async fn open_doubts_of_a_switch_are_settled_after_the_next_switch() {
    let mut scene = Scene::start(&["w", "gone"]).await;
    scene.switch().await;
    scene.report(&["w"], scene.entries()).await;
    scene.switch_on("the next one").await;
    scene.report(&["w"], scene.entries()).await;
    scene.pass(LIFE / 2).await;
    assert_eq!(
        scene.settle().await,
        Settlement::Open,
        "not all that were alive before"
    );
    scene.report(&["gone"], Vec::new()).await;
    assert_eq!(scene.settle().await, trusted(3, 0));
    assert_eq!(scene.run_again().await, Vec::<&str>::new());
}

#[tokio::test]
async fn grants_forgotten_by_the_first_switch_are_missed_after_the_second() {
    let mut scene = Scene::start(&["w"]).await;
    // Task "a" has a waiting run whose grant the first switch forgets.
    let granted = scene.wait_for_grant("a").await;
    scene.switch().await;
    scene.switch_on("the next one").await;
    let entries = vec![granted, lost("b"), entry(&scene.leases[2])];
    let vouched = scene.report(&["w"], entries).await;
    assert_eq!(names(&vouched.forgotten), ["a", "b"]);
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, trusted(1, 2));
}

#[tokio::test]
async fn a_task_that_was_worked_on_between_two_switches_is_not_trusted() {
    let mut scene = Scene::start(&["w"]).await;
    let lease = scene.lease("a", "2", "w").await;
    scene.switch().await;
    let mut completion = applied(&lease);
    completion.outcome = AttemptOutcome::Failed("no".to_owned());
    scene.store.complete(completion).await.unwrap();
    scene.switch_on("the next one").await;
    scene.report(&["w"], scene.entries()).await;
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, trusted(2, 0));
}

#[tokio::test]
async fn doubts_of_an_earlier_timeline_are_no_doubts_of_this_one() {
    let mut scene = Scene::start(&["w"]).await;
    scene.switch().await;
    // An earlier version has noticed the next timeline, and keeps nothing.
    execute(
        &scene.url,
        "UPDATE continuity SET doubts_of = 'the one before'",
    )
    .await;
    assert_eq!(scene.store.timeline().await.unwrap().reported, None);
    assert_eq!(scene.settle().await, Settlement::Settled);
    assert_eq!(scene.run_again().await, NAMES);
}

#[tokio::test]
async fn nothing_is_leased_before_it_is_settled() {
    let mut scene = Scene::start(&["w", "silent"]).await;
    let waiting = vec![request("a", "2")];
    scene.store.enqueue(scene.leader, waiting).await.unwrap();
    scene.switch().await;
    let short = cts_store::Claim {
        time_to_live: Duration::ZERO,
        ..claim("w")
    };
    assert!(scene.store.acquire(&short).await.unwrap().is_none());
    scene.pass(Duration::from_secs(15)).await;
    let settled = scene.store.settle(scene.leader, Duration::ZERO).await;
    assert!(matches!(settled, Ok(Settlement::Distrusted { .. })));
    assert!(scene.store.acquire(&short).await.unwrap().is_some());
}

/// Otherwise nothing would be queued until the clock is where it was.
#[tokio::test]
async fn a_clock_that_is_set_back_after_the_switch_delays_the_end_of_doubts_no_longer_than_usual() {
    let mut scene = Scene::start(&["w", "silent"]).await;
    scene.switch().await;
    execute(
        &scene.url,
        "UPDATE continuity SET changed_at = changed_at + 3600000000",
    )
    .await;
    assert_eq!(scene.settle().await, Settlement::Open);
    let reaped = scene.store.reap(scene.leader, &[]).await;
    reaped.expect("the leader can reap");
    scene.pass(Duration::from_mins(5)).await;
    let settled = scene.settle().await;
    assert!(
        matches!(settled, Settlement::Distrusted { .. }),
        "{settled:?}"
    );
}

#[tokio::test]
async fn ten_thousand_tasks_that_are_trusted_do_not_run() {
    const TASKS: usize = 10_000;
    let mut scene = Scene::start(&["w"]).await;
    let names: Vec<String> = (0..TASKS).map(|number| format!("t{number}")).collect();
    let copied = execute(
        &scene.url,
        "INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed, requires_driver,
                            requires_bundle, spec, event_config, last_applied, created_at, updated_at)
         SELECT 't' || number, 100 + number, origin, enabled, skip_unchanged, retry_failed, requires_driver,
                requires_bundle, spec, event_config, last_applied, created_at, updated_at
         FROM tasks, generate_series(0, 9999) AS number WHERE name = 'a'",
    )
    .await;
    assert_eq!(copied, 10_000);
    scene.switch().await;
    let entries: Vec<_> = (0..TASKS)
        .map(|number| JournalEntry {
            task: task(&names[number]),
            ..entry(&scene.leases[number % NAMES.len()])
        })
        .collect();
    assert_eq!(scene.report(&["w"], entries).await, Vouched::default());
    scene.pass(LIFE / 2).await;
    assert_eq!(scene.settle().await, trusted(10_003, 0));
    for names in names.chunks(500) {
        let requests = names.iter().map(|name| first(name)).collect();
        let decided = scene.store.enqueue(scene.leader, requests).await.unwrap();
        assert!(decided.iter().all(|enqueued| enqueued.queued.is_none()));
    }
}
