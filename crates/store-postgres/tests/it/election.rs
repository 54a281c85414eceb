//! The connection of the leadership: problems of the other connections do not cost a lease.

use std::time::Duration;

use cts_store::Store as _;
use cts_store_conformance::member;
use cts_store_postgres::{PostgresStore, Settings};
use cts_testkit::eventually;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::time::timeout;

use crate::fixture::{execute, migrated, settings};

const TTL: Duration = Duration::from_mins(1);

/// Time limit for calls that must not wait for the limits of other calls.
const SOON: Duration = Duration::from_secs(4);

/// A store whose pool has one connection.
async fn narrow(url: &str) -> PostgresStore {
    let settings = Settings {
        max_connections: 1,
        ..settings(url)
    };
    cts_store_postgres::connect(&settings).await.unwrap()
}

#[tokio::test]
async fn a_lease_is_renewed_while_all_other_connections_are_busy() {
    let url = migrated().await;
    let store = narrow(&url).await;
    let leader = store.lead(&member("a"), None, TTL).await.unwrap().epoch;
    // The write that has the only connection of the pool waits for this one, and keeps the fence.
    let mut other = PgConnection::connect(&url).await.unwrap();
    other
        .execute("BEGIN; LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let busy = store.replace_config_tasks(leader, &[]);
    let meanwhile = async {
        eventually(SOON, async || {
            let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            match crate::fixture::number(&url, waits).await {
                0 => Err("it does not wait yet"),
                _ => Ok(()),
            }
        })
        .await;
        for _ in 0..2 {
            let renewed = timeout(SOON, store.lead(&member("a"), Some(leader), TTL)).await;
            assert_eq!(renewed.expect("it does not wait").unwrap().epoch, leader);
        }
        // Another that asks does not wait either.
        let asked = timeout(SOON, store.lead(&member("b"), None, TTL)).await;
        assert!(!asked.expect("it does not wait").unwrap().mine);
        other.execute("COMMIT").await.unwrap();
    };
    let (done, ()) = tokio::join!(busy, meanwhile);
    done.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_closed_is_opened_anew() {
    let url = migrated().await;
    let store = narrow(&url).await;
    let leader = store.lead(&member("a"), None, TTL).await.unwrap().epoch;
    for _ in 0..3 {
        execute(
            &url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
        let renewed = store.lead(&member("a"), Some(leader), TTL).await.unwrap();
        assert_eq!(renewed.epoch, leader);
    }
}

#[tokio::test]
async fn a_request_that_is_given_up_does_not_hold_up_the_next() {
    let url = migrated().await;
    let store = narrow(&url).await;
    let leader = store.lead(&member("a"), None, TTL).await.unwrap().epoch;
    let mut other = PgConnection::connect(&url).await.unwrap();
    other
        .execute("BEGIN; LOCK TABLE members IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let member = member("a");
    let given_up = store.lead(&member, Some(leader), TTL);
    assert!(timeout(Duration::from_millis(200), given_up).await.is_err());
    other.execute("COMMIT").await.unwrap();
    let renewed = timeout(SOON, store.lead(&member, Some(leader), TTL)).await;
    assert_eq!(renewed.expect("it does not wait").unwrap().epoch, leader);
}
