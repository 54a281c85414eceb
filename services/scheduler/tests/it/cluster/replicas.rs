//! Requests are carried out, whichever process dies on the way.

use std::sync::Arc;
use std::time::Duration;

use cts_proto::run::v1::RunKind;
use cts_proto::task::v1::RunMode;
use cts_scheduler::{Options, Sharing};
use cts_store::{Member, Store as _};
use cts_store_sqlite::SqliteStore;

use crate::calls::{applied, checked, declared, disabled, new_key, planned};
use crate::setup::{Setup, instance, member, store_in, task};

/// A replica that shares the store. If its id is that of a dead replica, it waits for the life of the
/// leadership.
async fn replica(store: &Arc<SqliteStore>, id: &str) -> Setup {
    let member = Member {
        id: id.into(),
        ..member()
    };
    Setup::over(Arc::clone(store), options(member)).await
}

fn options(member: Member) -> Options {
    Options {
        sharing: Sharing::Shared,
        lease: Duration::from_mins(1),
        leadership: Duration::from_secs(2),
        ..Options::alone(Vec::new(), member)
    }
}

/// The call of a replica that dies while the request is open.
async fn asked_and_died(store: &Arc<SqliteStore>, replica: Setup, mode: RunMode) {
    let asked = async {
        while store.requests().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        created = replica.create(declared("a"), mode) => panic!("{created:?}"),
        () = asked => {}
    }
    drop(replica);
}

#[tokio::test]
async fn a_new_leader_carries_out_what_the_old_one_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    // Nothing is known there, so the request stays open.
    asked_and_died(&store, replica(&store, "one").await, RunMode::Now).await;
    let next = replica(&store, "one").await;
    assert_eq!(next.get("a").await, None);
    next.watcher.show(vec![instance("w", 1)]);
    next.does(RunKind::Apply, applied()).await;
    assert!(next.get("a").await.unwrap().enabled);
    assert!(store.requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_request_that_is_repeated_at_the_next_leader_has_the_run_of_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let one = replica(&store, "one").await;
    one.watcher.show(vec![instance("w", 1)]);
    one.created_and_applied(declared("a")).await;
    let key = new_key();
    let lease = tokio::select! {
        answer = one.update_as("a", Some(true), RunMode::Now, &key) => panic!("{answer:?}"),
        lease = one.acquired() => lease,
    };
    drop(one);
    let next = replica(&store, "one").await;
    next.watcher.show(vec![instance("w", 1)]);
    let (again, ()) = tokio::join!(
        next.update_as("a", Some(true), RunMode::Now, &key),
        next.applied(&lease),
    );
    again.unwrap();
    let mode = RunMode::Request;
    let known = next.update_as("a", Some(true), mode, &key).await.unwrap();
    assert_eq!(known.requested_run_id, lease.run_id);
    next.nothing_runs().await;
}

#[tokio::test]
async fn an_inspection_of_a_replica_that_is_gone_leaves_no_task() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    asked_and_died(&store, replica(&store, "one").await, RunMode::Inspect).await;
    let next = replica(&store, "one").await;
    next.watcher.show(vec![instance("w", 1)]);
    next.does(RunKind::Plan, planned("Plan")).await;
    assert_eq!(next.get("a").await, None);
    next.watcher.show(vec![instance("w", 2)]);
    next.nothing_runs().await;
}

#[tokio::test]
async fn a_check_that_was_queued_when_the_leader_died_is_made_once_and_nothing_is_missed() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let first = replica(&store, "one").await;
    first.watcher.show(vec![instance("w", 1)]);
    let queued = async {
        while store.next_due().await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        created = first.create(declared("a"), RunMode::Unspecified) => panic!("{created:?}"),
        () = queued => {}
    }
    drop(first);
    let next = replica(&store, "one").await;
    next.watcher.show(vec![instance("w", 1)]);
    next.does(RunKind::Check, checked()).await;
    assert!(next.get("a").await.is_some());
    // Something may have changed since the input of the check was frozen.
    next.does(RunKind::Apply, applied()).await;
    next.nothing_runs().await;
}

#[tokio::test]
async fn any_replica_takes_calls_and_the_leader_carries_them_out() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let leader = replica(&store, "one").await;
    leader.watcher.show(vec![instance("w", 1)]);
    let other = replica(&store, "two").await;
    let (created, ()) = tokio::join!(
        other.create(declared("a"), RunMode::Unspecified),
        other.does(RunKind::Check, checked()),
    );
    created.unwrap();
    // The leader has it from then on, whichever replica took the call.
    drop(other);
    leader
        .until(async |leader| {
            let port = 2;
            leader.watcher.show(vec![instance("w", port)]);
            leader.acquire(Duration::from_millis(100)).await
        })
        .await;
}

#[tokio::test]
async fn a_reset_waits_until_its_replica_leads_and_is_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let soon = |id: &str| Options {
        leadership: Duration::from_secs(1),
        ..options(Member {
            id: id.into(),
            ..member()
        })
    };
    let leader = Setup::over(Arc::clone(&store), soon("one")).await;
    leader.created(disabled("made")).await;
    let other = Options {
        tasks: vec![task("t")],
        reset_storage: true,
        ..soon("two")
    };
    let other = Setup::over(Arc::clone(&store), other).await;
    other.nothing_runs().await;
    assert_eq!(other.names().await, ["made"]);
    drop(leader);
    other
        .until_so(async |other| other.names().await == ["t"])
        .await;
    other.created(disabled("later")).await;
    assert_eq!(other.names().await, ["t", "later"]);
}
