//! One process for an id, and one leader.

use std::sync::Arc;
use std::time::Duration;

use cts_scheduler::{Options, RunError, Sharing};
use cts_store::{Member, Store as _};
use cts_store_sqlite::SqliteStore;
use tokio::time::Instant;

use crate::setup::{Setup, member, store_in, task};

const TTL: Duration = Duration::from_secs(2);

fn options(member: Member) -> Options {
    Options {
        sharing: Sharing::Shared,
        leadership: TTL,
        ..Options::alone(vec![task("a")], member)
    }
}

/// The incarnation and the epoch of the leader, as a member that does not want to lead sees them.
async fn leader(store: &SqliteStore) -> (cts_core::Incarnation, u64) {
    let bystander = Member {
        id: "bystander".into(),
        ..member()
    };
    let seen = store.lead(&bystander, None, Duration::from_millis(1)).await;
    let seen = seen.unwrap();
    assert!(!seen.mine, "{seen:?}");
    let members = store.members(TTL).await.unwrap();
    let leads = members.into_iter().find(|state| state.leader).unwrap();
    (leads.member.incarnation, seen.epoch.get())
}

#[tokio::test]
async fn a_process_whose_id_is_in_use_ends_and_the_other_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let first = Setup::over(Arc::clone(&store), options(member())).await;
    let led = leader(&store).await;
    let began = Instant::now();
    let second = Setup::prepared(Arc::clone(&store), options(member())).await;
    let refused = second.err().unwrap();
    assert!(
        matches!(&refused, RunError::IdInUse { id } if id == "cts-test"),
        "{refused:?}"
    );
    assert!(began.elapsed() < TTL * 2, "{:?}", began.elapsed());
    assert_eq!(leader(&store).await, led);
    assert_eq!(first.names().await, ["a"]);
    // A follower behaves in the same way.
    let other = |id: &str| Member {
        id: id.into(),
        ..member()
    };
    let follower = Setup::over(Arc::clone(&store), options(other("follower"))).await;
    let again = Setup::prepared(Arc::clone(&store), options(other("follower")));
    assert!(matches!(again.await, Err(RunError::IdInUse { .. })));
    assert_eq!(leader(&store).await, led);
    drop((first, follower));
}

#[tokio::test]
async fn a_process_that_died_leaves_its_id_to_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let dead = member();
    assert!(store.lead(&dead, None, TTL).await.unwrap().mine);
    let began = Instant::now();
    let next = Setup::over(Arc::clone(&store), options(member())).await;
    assert!(began.elapsed() >= TTL * 9 / 10, "{:?}", began.elapsed());
    assert_eq!(next.names().await, ["a"]);
    let (incarnation, epoch) = leader(&store).await;
    assert_ne!(incarnation, dead.incarnation);
    assert_eq!(epoch, 2);
}

#[tokio::test]
async fn a_process_that_ended_in_order_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let gone = member();
    assert!(
        store
            .lead(&gone, None, Duration::from_hours(1))
            .await
            .unwrap()
            .mine
    );
    store.resign(&gone).await.unwrap();
    let options = Options {
        leadership: Duration::from_hours(1),
        ..options(member())
    };
    let next = Setup::over(Arc::clone(&store), options).await;
    assert_eq!(next.names().await, ["a"]);
}
