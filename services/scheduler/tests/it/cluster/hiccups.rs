//! A database that fails for a moment is no takeover: nothing is forgotten, and nothing is done again.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_scheduler::{Options, Sharing};
use cts_store::{Member, Store as _, TaskChange, Unchanged};
use cts_store_sqlite::SqliteStore;
use tokio::time::sleep;

use crate::calls::SHORT;
use crate::faulty_store::{Fault, FaultyStore};
use crate::setup::{Setup, instance, member, store_in, task};

/// Long enough for a machine under load to renew in time.
const TTL: Duration = Duration::from_secs(3);

/// A leader that runs every task after a takeover, and has done so.
struct Led {
    setup: Setup,
    store: Arc<FaultyStore>,
    file: Arc<SqliteStore>,
}

async fn led(directory: &Path) -> Led {
    let file = store_in(directory).await;
    let store = FaultyStore::over(Arc::clone(&file));
    let options = Options {
        sharing: Sharing::Shared,
        lease: Duration::from_mins(1),
        leadership: TTL,
        first_pass: Unchanged::Run,
        ..Options::alone(vec![task("a"), task("b")], member())
    };
    let led = Led {
        setup: Setup::over(Arc::clone(&store), options).await,
        store,
        file,
    };
    led.setup.watcher.show(vec![instance("w", 1)]);
    led.run_both().await;
    led.setup.nothing_runs().await;
    assert_eq!(led.setup.watcher.streams(), 1);
    led
}

impl Led {
    /// Both tasks run once, in any order.
    async fn run_both(&self) {
        let mut names = Vec::new();
        for _ in 0..2 {
            let lease = self.setup.acquired().await;
            self.setup.applied(&lease).await;
            names.push(self.setup.run(&lease.run_id).await.unwrap().task_name);
        }
        names.sort();
        assert_eq!(names, ["a", "b"]);
    }

    /// The epoch as another member, which does not want to lead, sees it.
    async fn epoch(&self) -> u64 {
        let bystander = Member {
            id: "bystander".into(),
            ..member()
        };
        let seen = self.file.lead(&bystander, None, Duration::from_millis(1));
        let seen = seen.await.unwrap();
        assert!(!seen.mine, "{seen:?}");
        seen.epoch.get()
    }

    /// Nothing was done again, and the next change is.
    async fn goes_on(&self) {
        self.setup.nothing_runs().await;
        assert_eq!(self.setup.watcher.streams(), 1, "it is subscribed still");
        self.setup.watcher.show(vec![instance("w", 99)]);
        self.run_both().await;
        self.setup.nothing_runs().await;
    }
}

#[tokio::test]
async fn a_change_that_could_not_be_queued_is_queued_by_the_next_epoch() {
    let directory = tempfile::tempdir().unwrap();
    let led = led(directory.path()).await;
    assert_eq!(led.epoch().await, 1);
    led.store.fail("enqueue", &[Fault::Refused, Fault::Refused]);
    led.setup.watcher.show(vec![instance("w", 2)]);
    led.run_both().await;
    assert!(led.store.has_failed("enqueue"));
    assert_eq!(led.epoch().await, 3);
    led.goes_on().await;
}

#[tokio::test]
async fn a_change_that_was_queued_without_an_answer_runs_once() {
    let directory = tempfile::tempdir().unwrap();
    let led = led(directory.path()).await;
    led.store.fail("enqueue", &[Fault::AnswerLost]);
    led.setup.watcher.show(vec![instance("w", 2)]);
    led.run_both().await;
    // Longer than the pause after the failure.
    led.setup.until_so(async |_| led.epoch().await == 2).await;
    sleep(Duration::from_secs(1)).await;
    led.goes_on().await;
}

#[tokio::test]
async fn a_grant_without_an_answer_is_no_takeover() {
    let directory = tempfile::tempdir().unwrap();
    let led = led(directory.path()).await;
    led.store.fail("enqueue", &[Fault::Refused]);
    led.store
        .fail("lead", &[Fault::AnswerLost, Fault::AnswerLost]);
    led.setup.watcher.show(vec![instance("w", 2)]);
    led.run_both().await;
    assert!(led.epoch().await > 2);
    led.goes_on().await;
}

#[tokio::test]
async fn a_leader_without_its_database_waits_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let led = led(directory.path()).await;
    let all = [Fault::Refused; 10_000];
    for method in [
        "lead",
        "enqueue",
        "reap",
        "requests",
        "task_marks",
        "tasks_named",
        "explain",
    ] {
        led.store.fail(method, &all);
    }
    // The lease expires, and data come in that time.
    sleep(TTL / 2).await;
    led.setup.watcher.show(vec![instance("w", 2)]);
    sleep(TTL).await;
    led.store.heal();
    led.run_both().await;
    assert_eq!(led.epoch().await, 2);
    led.goes_on().await;
}

#[tokio::test]
async fn two_requests_for_the_leadership_may_fail() {
    let directory = tempfile::tempdir().unwrap();
    let led = led(directory.path()).await;
    for fault in [Fault::Refused, Fault::Silence] {
        led.store.fail("lead", &[fault, fault]);
        led.setup
            .until(async |_| led.store.has_failed("lead").then_some(()))
            .await;
        sleep(SHORT).await;
        assert_eq!(led.epoch().await, 1, "{fault:?}");
    }
    sleep(TTL).await;
    assert_eq!(led.epoch().await, 1);
    led.goes_on().await;
}

#[tokio::test]
async fn a_leader_that_comes_back_after_another_takes_over() {
    let directory = tempfile::tempdir().unwrap();
    let led = led(directory.path()).await;
    led.store.fail("lead", &[Fault::Refused; 10_000]);
    let other = Member {
        id: "other".into(),
        ..crate::setup::member()
    };
    let taken = led
        .setup
        .until(async |_| {
            let asked = led.file.lead(&other, None, TTL).await.unwrap();
            asked.mine.then_some(asked)
        })
        .await;
    assert_eq!(taken.epoch.get(), 2);
    led.file.resign(&other).await.unwrap();
    led.store.heal();
    // The changes of the other leader are not known.
    led.run_both().await;
    led.setup.nothing_runs().await;
    assert_eq!(led.setup.watcher.streams(), 2);
}

/// A request of a known task needs nothing of it, and tasks that are as they were are not read again.
#[tokio::test]
async fn only_tasks_that_have_changed_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let led = led(directory.path()).await;
    led.store.fail("tasks_named", &[Fault::Refused]);
    let run = "00000000-0000-7000-8000-000000000009".parse().unwrap();
    let change = TaskChange {
        request: Some((run, RunKind::Apply)),
        ..TaskChange::default()
    };
    let name = "a".parse().unwrap();
    led.file.change_task(&name, &change).await.unwrap();
    let lease = led.setup.acquired().await;
    assert_eq!(lease.run_id, run.to_string());
    led.setup.applied(&lease).await;
    assert!(!led.store.has_failed("tasks_named"));

    let change = TaskChange {
        enabled: Some(false),
        ..TaskChange::default()
    };
    led.file.change_task(&name, &change).await.unwrap();
    let read = async |_: &Setup| led.store.has_failed("tasks_named").then_some(());
    led.setup.until(read).await;
}

#[tokio::test]
async fn nothing_is_queued_before_it_is_settled_what_counts_as_applied() {
    let directory = tempfile::tempdir().unwrap();
    let file = store_in(directory.path()).await;
    let store = FaultyStore::over(Arc::clone(&file));
    store.fail("settle", &[Fault::Refused, Fault::AnswerLost]);
    let options = Options {
        sharing: Sharing::Shared,
        lease: Duration::from_mins(1),
        ..Options::alone(vec![task("a")], member())
    };
    let setup = Setup::over(Arc::clone(&store), options).await;
    setup.watcher.show(vec![instance("w", 1)]);
    while !store.has_failed("settle") {
        assert_eq!(store.calls("enqueue"), 0);
        sleep(Duration::from_millis(10)).await;
    }
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    // Once for a term.
    assert_eq!(store.calls("settle"), 3);
}
