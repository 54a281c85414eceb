//! A database that goes away and comes back.

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_core::{EventId, LeaderEpoch, RunId, WorkerId};
use cts_store::{
    Claim, Completion, EnqueueRequest, ExpiredLeases, HeldLeases as _, Hint, Lease, LeaseError,
    Store as _, StoreError,
};
pub(crate) use cts_store_conformance::member;
use cts_store_conformance::{completion_of, enqueue_request, spec};
use cts_store_postgres::{PostgresStore, migrate};
use cts_testkit::{Postgres, eventually};
use futures::StreamExt as _;
use tokio::time::timeout;
use uuid::Uuid;

use crate::fixture::settings;

const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) fn claim(worker: &str) -> Claim {
    let mut claim = Claim {
        worker: WorkerId::new(worker),
        time_to_live: Duration::from_mins(2),
        ..cts_store_conformance::claim()
    };
    claim.capabilities.bundles = true;
    claim
}

pub(crate) fn request(name: &str, text: &str) -> EnqueueRequest {
    enqueue_request(name, text, RunId::from_uuid(Uuid::now_v7()))
}

pub(crate) fn expired_leases(most: usize) -> Vec<ExpiredLeases> {
    let each = (0..most).map(|_| ExpiredLeases {
        event: EventId::from_uuid(Uuid::now_v7()),
        retry_run: RunId::from_uuid(Uuid::now_v7()),
        jitter: 0.0,
    });
    each.collect()
}

pub(crate) fn applied(lease: &Lease) -> Completion {
    let (event, retry) = (Uuid::now_v7(), Uuid::now_v7());
    let (event, retry) = (EventId::from_uuid(event), RunId::from_uuid(retry));
    completion_of(lease, AttemptOutcome::Applied, event, retry)
}

pub(crate) async fn lead(store: &PostgresStore, id: &str) -> LeaderEpoch {
    let leadership = store.lead(&member(id), None, Duration::from_mins(10)).await;
    let leadership = leadership.unwrap();
    assert!(leadership.mine, "{leadership:?}");
    leadership.epoch
}

/// A server of this test alone, and a store on it.
async fn start() -> (Postgres, PostgresStore) {
    let postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    migrate(&settings(&url)).await.unwrap();
    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    (postgres, store)
}

#[tokio::test]
async fn calls_fail_while_the_database_is_away_and_work_again_when_it_is_back() {
    let (mut postgres, store) = start().await;
    let leader = lead(&store, "one").await;
    store
        .replace_config_tasks(leader, &[spec("a"), spec("b")])
        .await
        .unwrap();
    let requests = vec![request("a", "1"), request("b", "1")];
    store.enqueue(leader, requests).await.unwrap();
    let lease = store.acquire(&claim("w")).await.unwrap().unwrap();

    postgres.kill().await;
    let claim = claim("w");
    let (acquired, completed, renewed) = tokio::join!(
        store.acquire(&claim),
        store.complete(applied(&lease)),
        store.renew(lease.run, &lease.holder, lease.epoch, DEADLINE, None),
    );
    assert!(
        matches!(acquired, Err(StoreError::Unreachable { .. })),
        "{acquired:?}"
    );
    for answer in [completed.map(drop), renewed.map(drop)] {
        assert!(
            matches!(
                answer,
                Err(LeaseError::Store(StoreError::Unreachable { .. }))
            ),
            "{answer:?}"
        );
    }

    postgres.start_again().await;
    let record = eventually(DEADLINE, async || store.run(lease.run).await).await;
    assert_eq!(record.unwrap().status, RunStatus::Running);
    let completed = store.complete(applied(&lease)).await;
    assert_eq!(completed.unwrap().status, RunStatus::Succeeded);
    assert!(store.acquire(&claim).await.unwrap().is_some());
    let again = store.lead(&member("one"), Some(leader), DEADLINE).await;
    assert_eq!(again.unwrap().epoch, leader, "leadership outlives it");
}

#[tokio::test]
async fn hints_are_heard_again_after_a_restart_of_the_database() {
    let (mut postgres, store) = start().await;
    let mut hints = store.listen().await.unwrap().unwrap();
    store.publish(&[Hint::Queue]).await.unwrap();
    assert_eq!(hints.next().await, Some(Hint::Queue));
    for orderly in [true, false] {
        if orderly {
            postgres.stop().await;
        } else {
            postgres.kill().await;
        }
        let deaf = timeout(Duration::from_millis(300), hints.next()).await;
        assert!(deaf.is_err(), "nothing to hear: {deaf:?}");
        postgres.start_again().await;
        let gap = timeout(DEADLINE, hints.next()).await.unwrap();
        assert_eq!(gap, Some(Hint::Gap));
        eventually(DEADLINE, async || store.publish(&[Hint::Tasks]).await).await;
        let heard = timeout(DEADLINE, hints.next()).await.unwrap();
        assert_eq!(heard, Some(Hint::Tasks));
    }
}

#[tokio::test]
async fn a_frozen_database_is_noticed() {
    let postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    migrate(&settings(&url)).await.unwrap();
    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    assert_eq!(store.tasks().await.unwrap(), []);
    // A connection that was not used for a while is tested first.
    let idle = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND query LIKE '-- tasks%' AND state_change < now() - INTERVAL '600 ms'";
    eventually(DEADLINE, async || {
        let number = crate::fixture::number(&url, idle).await;
        (number == 1).then_some(()).ok_or(number)
    })
    .await;
    postgres.pause();
    let answer = timeout(DEADLINE, store.tasks()).await.unwrap();
    assert!(
        matches!(answer, Err(StoreError::Unreachable { .. })),
        "{answer:?}"
    );
    postgres.resume();
    eventually(DEADLINE, async || store.tasks().await).await;
}

#[tokio::test]
async fn a_connection_whose_commit_failed_is_not_used_again() {
    let url = crate::fixture::migrated().await;
    let one_connection = cts_store_postgres::Settings {
        max_connections: 1,
        ..settings(&url)
    };
    let store = cts_store_postgres::connect(&one_connection).await.unwrap();
    let leader = lead(&store, "one").await;
    store
        .replace_config_tasks(leader, &[spec("a")])
        .await
        .unwrap();
    let process = "SELECT pid::BIGINT FROM pg_stat_activity
                   WHERE datname = current_database() AND query LIKE '-- tasks%'
                   ORDER BY backend_start DESC LIMIT 1";
    store.tasks().await.unwrap();
    let before = crate::fixture::number(&url, process).await;
    for statement in [
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$",
        "CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON runs DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION fail()",
    ] {
        crate::fixture::execute(&url, statement).await;
    }
    for _ in 0..3 {
        let refused = store.enqueue(leader, vec![request("a", "1")]).await;
        let error = cts_core::Chain(&refused.unwrap_err()).to_string();
        assert!(error.contains("no space left on device"), "{error}");
    }
    crate::fixture::execute(&url, "DROP TRIGGER fail ON runs").await;
    store.tasks().await.unwrap();
    assert_ne!(crate::fixture::number(&url, process).await, before);
    store
        .enqueue(leader, vec![request("a", "1")])
        .await
        .unwrap();
    assert!(store.acquire(&claim("w")).await.unwrap().is_some());
}
