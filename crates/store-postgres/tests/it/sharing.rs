//! Several stores on one database, as replicas are.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use cts_core::TaskName;
use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_store::{
    FactStore as _, HeldLeases as _, Hint, LeaderError, LogLine, LogStream, Retention, Store as _,
    TaskChange,
};
use cts_store_conformance::{Fixture as _, bytes_of, input, spec, stored_input, task};
use cts_store_postgres::PostgresStore;
use futures::StreamExt as _;
use futures::future::join_all;
use tokio::time::timeout;

use crate::fixture::{PostgresFixture, execute, migrated, number, settings};
use crate::outage::{applied, claim, expired_leases, lead, member, request};

const DEADLINE: Duration = Duration::from_secs(20);

async fn stores() -> (String, PostgresStore, PostgresStore) {
    let url = migrated().await;
    let one = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    let other = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    (url, one, other)
}

#[tokio::test]
async fn hints_of_one_arrive_at_all() {
    let (_url, one, other) = stores().await;
    let mut hints = [
        one.listen().await.unwrap().unwrap(),
        other.listen().await.unwrap().unwrap(),
    ];
    let run = Hint::Run {
        kind: cts_core::runs::RunKind::Apply,
        run: request("a", "1").run,
        task: task("a"),
        status: RunStatus::Queued,
        at: chrono::DateTime::UNIX_EPOCH,
    };
    let many: Vec<_> = std::iter::repeat_n(run, 200).chain([Hint::Queue]).collect();
    other.publish(&many).await.unwrap();
    other.publish(&[]).await.unwrap();
    for heard in &mut hints {
        // Postgres sends equal payloads of one transaction once.
        let told = async {
            loop {
                match heard.next().await {
                    Some(Hint::Queue) => return,
                    hint => assert_eq!(hint.as_ref(), Some(&many[0])),
                }
            }
        };
        timeout(DEADLINE, told).await.unwrap();
    }
}

#[tokio::test]
async fn parallel_workers_of_two_stores_never_have_a_task_twice() {
    const TASKS: usize = 50;
    const ROUNDS: usize = 3;
    let (url, one, other) = stores().await;
    let leader = lead(&one, "one").await;
    let specs: Vec<_> = (0..TASKS).map(|n| spec(&format!("task-{n}"))).collect();
    one.replace_config_tasks(leader, &specs).await.unwrap();
    let queue = async |round: usize| {
        let requests = specs.iter();
        let requests = requests.map(|spec| request(spec.name().as_str(), &round.to_string()));
        one.enqueue(leader, requests.collect()).await.unwrap();
    };
    queue(0).await;
    let running: Mutex<BTreeSet<TaskName>> = Mutex::default();
    let leases = Mutex::new(BTreeSet::new());
    let work = async |number: usize| {
        let store = if number.is_multiple_of(2) {
            &one
        } else {
            &other
        };
        let claim = claim(&format!("worker-{number}"));
        while leases.lock().unwrap().len() < TASKS * ROUNDS {
            let Some(lease) = store.acquire(&claim).await.unwrap() else {
                continue;
            };
            let alone = running.lock().unwrap().insert(lease.task.clone());
            assert!(alone, "{} is leased twice", lease.task);
            let new = leases.lock().unwrap().insert((lease.run, lease.epoch));
            assert!(new, "{} is leased twice", lease.run);
            tokio::task::yield_now().await;
            running.lock().unwrap().remove(&lease.task);
            let mut completion = applied(&lease);
            if number.is_multiple_of(3) {
                completion.outcome = AttemptOutcome::Failed("no".to_owned());
                let failed = store.complete(completion).await.unwrap();
                // Queued if it is tried again later, failed if a newer input has replaced it.
                assert!(matches!(
                    failed.status,
                    RunStatus::Queued | RunStatus::Failed
                ));
            } else {
                store.complete(completion).await.unwrap();
            }
        }
    };
    let feed = async {
        for round in 1.. {
            tokio::task::yield_now().await;
            if leases.lock().unwrap().len() >= TASKS * ROUNDS {
                return;
            }
            queue(round).await;
            one.reap(leader, &expired_leases(4)).await.unwrap();
            other.prune(Retention::of_any_age(2)).await.unwrap();
        }
    };
    let working = async { tokio::join!(join_all((0..8).map(work)), feed) };
    timeout(Duration::from_mins(1), working).await.unwrap();
    let stray = "SELECT count(*) FROM tasks WHERE active_run IS NOT NULL";
    assert_eq!(number(&url, stray).await, 0);
    let running = "SELECT count(*) FROM runs WHERE status = 'running'";
    assert_eq!(number(&url, running).await, 0);
}

#[tokio::test]
async fn a_deposed_leader_changes_nothing() {
    let fixture = PostgresFixture::new().await;
    let (one, other) = (fixture.another().await, fixture.another().await);
    let ttl = Duration::from_secs(15);
    let first = one.lead(&member("one"), None, ttl).await.unwrap();
    assert!(first.mine);
    one.replace_config_tasks(first.epoch, &[spec("a")])
        .await
        .unwrap();
    assert!(!other.lead(&member("other"), None, ttl).await.unwrap().mine);
    fixture.advance(ttl);
    let second = other.lead(&member("other"), None, ttl).await.unwrap();
    assert!(second.mine);
    assert!(second.epoch > first.epoch);

    let deposed = [
        one.replace_config_tasks(first.epoch, &[]).await.map(drop),
        one.enqueue(first.epoch, vec![request("a", "1")])
            .await
            .map(drop),
        one.reap(first.epoch, &[]).await.map(drop),
    ];
    for answer in deposed {
        assert!(
            matches!(answer, Err(LeaderError::Deposed { epoch }) if epoch == first.epoch),
            "{answer:?}"
        );
    }
    assert_eq!(one.tasks().await.unwrap().len(), 1);
    assert_eq!(one.queue_depth().await.unwrap().queued, 0);
    let again = one.lead(&member("one"), Some(first.epoch), ttl).await;
    assert!(!again.unwrap().mine);
    other
        .enqueue(second.epoch, vec![request("a", "1")])
        .await
        .unwrap();
}

#[tokio::test]
async fn elects_one_of_parallel_candidates() {
    let (_url, one, other) = stores().await;
    let names: Vec<_> = (0..12).map(|n| format!("replica-{n}")).collect();
    let asking = names.iter().enumerate().map(|(n, name)| {
        let store = if n.is_multiple_of(2) { &one } else { &other };
        let me = member(name);
        async move { store.lead(&me, None, DEADLINE).await.unwrap() }
    });
    let answers = join_all(asking).await;
    let leaders: Vec<_> = answers.iter().filter(|answer| answer.mine).collect();
    assert_eq!(leaders.len(), 1);
    for answer in &answers {
        assert_eq!(answer.epoch, leaders[0].epoch);
        assert_eq!(answer.leader, leaders[0].leader);
    }
}

#[tokio::test]
async fn a_run_queued_while_the_one_before_ends_is_told() {
    let (_url, one, other) = stores().await;
    let leader = lead(&one, "one").await;
    one.replace_config_tasks(leader, &[spec("a")])
        .await
        .unwrap();
    one.enqueue(leader, vec![request("a", "0")]).await.unwrap();
    for round in 1..100 {
        let lease = one.acquire(&claim("w")).await.unwrap().unwrap();
        let text = round.to_string();
        let (queued, completed) = tokio::join!(
            one.enqueue(leader, vec![request("a", &text)]),
            other.complete(applied(&lease)),
        );
        assert!(queued.unwrap()[0].queued.is_some());
        // Either order is possible; but the later of the two sees the work of the earlier.
        let seen = completed.unwrap().next_due.is_some();
        let due = one.next_due().await.unwrap();
        assert_eq!(due, Some(Duration::ZERO), "round {round}, seen: {seen}");
        let depth = one.queue_depth().await.unwrap();
        assert_eq!((depth.ready, depth.running), (1, 0));
        let input = input(&text);
        let stored = stored_input(&one, input.hash).await;
        assert_eq!(stored, Some(bytes_of(&input)));
    }
}

/// Most writes do not change the states of tasks.
#[tokio::test]
async fn the_version_of_states_stays_while_runs_go_on_and_is_one_for_all() {
    let (_url, one, other) = stores().await;
    let leader = lead(&one, "one").await;
    one.replace_config_tasks(leader, &[spec("a")])
        .await
        .unwrap();
    let version = async || {
        let of_one = one.version().await.unwrap();
        assert_eq!(other.version().await.unwrap(), of_one);
        of_one
    };
    let before = version().await;
    one.enqueue(leader, vec![request("a", "1")]).await.unwrap();
    let lease = one.acquire(&claim("worker")).await.unwrap().unwrap();
    let line = LogLine {
        stream: LogStream::Stdout.into(),
        text: "line".into(),
    };
    one.append_log(lease.run, &lease.holder, lease.epoch, vec![line])
        .await
        .unwrap();
    one.renew(
        lease.run,
        &lease.holder,
        lease.epoch,
        Duration::from_mins(1),
        None,
    )
    .await
    .unwrap();
    assert_eq!(version().await, before);
    one.complete(applied(&lease)).await.unwrap();
    assert_ne!(version().await, before);
}

/// As after `pg_restore` on another server, whose transactions have lower numbers.
#[tokio::test]
async fn transactions_of_another_server_count_as_no_changes() {
    let (url, one, other) = stores().await;
    let leader = lead(&one, "one").await;
    let specs = ["a", "b"].map(spec);
    one.replace_config_tasks(leader, &specs).await.unwrap();
    execute(
        &url,
        "UPDATE task_versions SET changed_in = '4000000000000'",
    )
    .await;
    let seen = other.changed_tasks(None).await.unwrap();
    assert_eq!(seen.names.len(), 2);
    let position = Some(seen.position.as_str());
    assert_eq!(other.changed_tasks(position).await.unwrap().names, []);
    let disabled = TaskChange {
        enabled: Some(false),
        ..TaskChange::default()
    };
    one.change_task(&task("b"), &disabled).await.unwrap();
    let seen = other.changed_tasks(position).await.unwrap();
    assert_eq!(seen.names, [task("b")]);
}
