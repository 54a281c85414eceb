//! A failover to a replica that misses the last commits.

use std::time::Duration;

use cts_core::runs::{EnqueueDecision, RunStatus};
use cts_store::{
    Claim, EnqueueRequest, Enqueued, HeldLeases as _, LeaderError, LeaseError, Store as _,
    Unchanged,
};
use cts_store_conformance::{spec, task};
use cts_store_postgres::{PostgresStore, migrate};
use cts_testkit::{Postgres, eventually};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::time::Instant;

use crate::fixture::{number, settings};
use crate::outage::{applied, claim, lead, member, request};

const DEADLINE: Duration = Duration::from_mins(1);

/// Life of the leases here.
const LIFE: Duration = Duration::from_secs(5);

fn short(worker: &str) -> Claim {
    Claim {
        time_to_live: LIFE,
        ..claim(worker)
    }
}

/// The request of a start or a takeover.
fn first(name: &str, text: &str) -> EnqueueRequest {
    EnqueueRequest {
        unchanged: Unchanged::Skip,
        guarded: None,
        ..request(name, text)
    }
}

async fn store(url: &str) -> PostgresStore {
    cts_store_postgres::connect(&settings(url)).await.unwrap()
}

async fn start() -> (Postgres, String) {
    let postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    migrate(&settings(&url)).await.unwrap();
    (postgres, url)
}

/// Executes statements as the owner of everything.
async fn script(url: &str, statements: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let script = sqlx::raw_sql(AssertSqlSafe(statements));
    script.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// A lease was granted just now, and the server was promoted at this moment or later.
fn assert_held_back(promoted: Instant) {
    let held = promoted.elapsed();
    assert!(held + Duration::from_millis(100) >= LIFE, "{held:?}");
}

fn is_deposed(answer: &Result<Vec<Enqueued>, LeaderError>) -> bool {
    matches!(answer, Err(LeaderError::Deposed { .. }))
}

#[tokio::test]
async fn new_primary_refuses_leases_and_leaders_that_it_has_forgotten() {
    let (mut postgres, url) = start().await;
    let store = store(&url).await;
    let first_leader = lead(&store, "one").await;
    let names = ["applied", "granted", "queued"];
    let specs = names.map(spec);
    store
        .replace_config_tasks(first_leader, &specs)
        .await
        .unwrap();
    let work = async |name: &str, text: &str, leader| {
        store
            .enqueue(leader, vec![request(name, text)])
            .await
            .unwrap();
        let lease = store.acquire(&short("w")).await.unwrap().unwrap();
        assert_eq!(lease.task, task(name));
        lease
    };
    let done = work("applied", "1", first_leader).await;
    store.complete(applied(&done)).await.unwrap();
    let known = work("granted", "1", first_leader).await;
    let waiting = vec![request("queued", "1")];
    store.enqueue(first_leader, waiting).await.unwrap();

    let replica = postgres.replica().await;
    replica.catch_up(&postgres).await;
    replica.stop_following().await;
    // All of this is lost: another input, a lease, and the leadership.
    let lost = store.acquire(&short("w")).await.unwrap().unwrap();
    assert_eq!(lost.task, task("queued"));
    store
        .renew(known.run, &known.holder, known.epoch, LIFE, None)
        .await
        .unwrap();
    let lost_too = work("applied", "2", first_leader).await;
    store.resign(&member("one")).await.unwrap();
    let second_leader = lead(&store, "other").await;
    postgres.fail_over(replica).await;
    let promoted = Instant::now();

    // The forgotten leader, the one before it, and leases that do not exist.
    eventually(DEADLINE, async || store.tasks().await).await;
    for leader in [first_leader, second_leader] {
        let refused = store.enqueue(leader, vec![first("applied", "1")]).await;
        assert!(is_deposed(&refused), "{refused:?}");
    }
    for lease in [&lost, &lost_too] {
        let refused = store
            .renew(lease.run, &lease.holder, lease.epoch, LIFE, None)
            .await;
        assert!(
            matches!(refused, Err(LeaseError::Lost { .. })),
            "{refused:?}"
        );
        let refused = store.complete(applied(lease)).await;
        assert!(
            matches!(refused, Err(LeaseError::Lost { .. })),
            "{refused:?}"
        );
    }
    let leader = lead(&store, "one").await;
    assert!(leader.get() > second_leader.get() + 1000, "{leader}");
    // "2" may have been applied, so "1" does not certainly count as applied any more.
    let decided = store
        .enqueue(leader, vec![first("applied", "1")])
        .await
        .unwrap();
    assert_eq!(decided[0].decision, Some(EnqueueDecision::Enqueue));

    // The lease that the database has goes on with unchanged calls.
    store
        .renew(known.run, &known.holder, known.epoch, LIFE, None)
        .await
        .unwrap();
    let completed = store.complete(applied(&known)).await.unwrap();
    assert_eq!(completed.status, RunStatus::Succeeded);

    // Nothing is leased before forgotten leases are over, and then with epochs beyond theirs.
    let again = eventually(DEADLINE, async || {
        let lease = store.acquire(&short("w")).await.unwrap();
        lease.ok_or("nothing is leased")
    })
    .await;
    assert_held_back(promoted);
    assert_eq!(again.run, lost.run);
    assert!(again.epoch > lost.epoch, "{again:?}");
    let refused = store.complete(applied(&lost)).await;
    assert!(
        matches!(refused, Err(LeaseError::Lost { .. })),
        "{refused:?}"
    );
    store.complete(applied(&again)).await.unwrap();
}

#[tokio::test]
async fn a_process_that_starts_after_the_failover_learns_of_it() {
    let (mut postgres, url) = start().await;
    let before = store(&url).await;
    let leader = lead(&before, "one").await;
    before
        .replace_config_tasks(leader, &[spec("a")])
        .await
        .unwrap();
    before
        .enqueue(leader, vec![request("a", "1")])
        .await
        .unwrap();
    before.close().await;
    let replica = postgres.replica().await;
    replica.catch_up(&postgres).await;
    postgres.fail_over(replica).await;

    let promoted = Instant::now();
    let [first, second] = [store(&url).await, store(&url).await];
    // The first process notices the failover, and both hold back.
    assert_eq!(first.tasks().await.unwrap().len(), 1);
    assert!(is_deposed(&second.enqueue(leader, Vec::new()).await));
    eventually(DEADLINE, async || {
        let lease = second.acquire(&short("w")).await.unwrap();
        lease.ok_or("nothing is leased")
    })
    .await;
    assert_held_back(promoted);
    assert!(
        second
            .lead(&member("other"), None, LIFE)
            .await
            .unwrap()
            .mine
    );
}

#[tokio::test]
async fn a_restart_of_the_server_is_no_failover() {
    let (mut postgres, url) = start().await;
    let store = store(&url).await;
    let leader = lead(&store, "one").await;
    store
        .replace_config_tasks(leader, &[spec("a")])
        .await
        .unwrap();
    store
        .enqueue(leader, vec![request("a", "1")])
        .await
        .unwrap();
    for crash in [true, false] {
        if crash {
            postgres.kill().await;
        }
        postgres.start_again().await;
        eventually(DEADLINE, async || store.tasks().await).await;
    }
    store.enqueue(leader, Vec::new()).await.unwrap();
    let lease = store.acquire(&short("w")).await.unwrap().unwrap();
    assert_eq!(lease.epoch.get(), 1);
}

/// A user without permission to read the timeline has no protection against failovers, and everything else.
#[tokio::test]
async fn a_server_that_does_not_tell_its_timeline_is_used() {
    let (postgres, url) = start().await;
    script(
        &url,
        "CREATE ROLE plain LOGIN;
         GRANT ALL ON ALL TABLES IN SCHEMA public TO plain;
         GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO plain;
         REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;",
    )
    .await;
    let plain = url.replace("cts@", "plain@");
    assert_ne!(plain, url);
    let timeline = "SELECT length(identity)::BIGINT FROM continuity";
    let leads = async |id: &str| {
        let store = store(&plain).await;
        let led = store.lead(&member(id), None, LIFE).await.unwrap();
        store.close().await;
        led.leader
    };
    leads("one").await;
    assert_eq!(number(&url, timeline).await, 8, "the timeline alone");
    script(
        &url,
        "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC",
    )
    .await;
    script(&url, "UPDATE continuity SET identity = NULL").await;
    leads("one").await;
    let unknown = "SELECT count(*) FROM continuity WHERE identity IS NULL";
    assert_eq!(number(&url, unknown).await, 1);
    drop(postgres);
}

#[tokio::test]
async fn commits_wait_for_the_disk_where_the_server_says_otherwise() {
    let (postgres, url) = start().await;
    postgres
        .execute("ALTER SYSTEM SET synchronous_commit = off")
        .await;
    postgres.execute("SELECT pg_reload_conf()").await;
    let store = store(&url).await;
    // The function shows, in an error, what the session of the call is set to.
    script(
        &url,
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'commits: %', current_setting('synchronous_commit'); END $$;
         CREATE TRIGGER tell BEFORE UPDATE ON leadership FOR EACH ROW EXECUTE FUNCTION tell();",
    )
    .await;
    let told = store.lead(&member("one"), None, LIFE).await.unwrap_err();
    let told = cts_core::Chain(&told).to_string();
    assert!(told.contains("commits: on"), "{told}");
}
