//! Housekeeping happens, whichever replica leads.

use std::sync::Arc;
use std::time::Duration;

use cts_core::{LeaseEpoch, WorkerId};
use cts_scheduler::Options;
use cts_store::{LogLine, LogStream, PlanStore as _, REMOVED_LOG, Retention, Store as _};
use cts_testkit::eventually;
use tokio::time::{Instant, sleep};

use crate::faulty_store::{Fault, FaultyStore};
use crate::setup::{Setup, WORKER, instance, member, store_in, task};

const DEADLINE: Duration = Duration::from_mins(1);

/// Housekeeping every half second.
const RETENTION: Retention = Retention {
    runs: 500,
    age: Duration::from_secs(2),
};

/// Each of them leads for less time than a leader waits before it does housekeeping.
#[tokio::test]
async fn leaders_that_do_not_live_long_do_what_is_due() {
    let directory = tempfile::tempdir().unwrap();
    let store = FaultyStore::over(store_in(directory.path()).await);
    let begun = Instant::now();
    while store.calls("prune") == 0 {
        assert!(begun.elapsed() < DEADLINE, "nothing was forgotten");
        let options = Options {
            retention: RETENTION,
            leadership: Duration::from_millis(300),
            ..Options::alone(vec![task("a")], member())
        };
        let setup = Setup::over(Arc::clone(&store), options).await;
        sleep(Duration::from_millis(200)).await;
        drop(setup);
    }
}

#[tokio::test]
async fn logs_beyond_their_limit_are_removed_also_while_runs_cannot_be_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let file = store_in(directory.path()).await;
    let store = FaultyStore::over(Arc::clone(&file));
    store.fail("prune", &[Fault::Refused; 1000]);
    let options = Options {
        retention: RETENTION,
        logs_kept: 1000,
        ..Options::alone(vec![task("a")], member())
    };
    let setup = Setup::over(Arc::clone(&store), options).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    let run = lease.run_id.parse().unwrap();
    let line = LogLine {
        stream: LogStream::Stdout.into(),
        text: "x".repeat(100),
    };
    let (holder, epoch) = (WorkerId::new(WORKER), LeaseEpoch::new(lease.epoch));
    let appended = file.append_log(run, &holder, epoch, vec![line; 10]);
    appended.await.unwrap();
    setup.applied(&lease).await;
    eventually(DEADLINE, async || {
        let page = file.read_log(run, 0, 100).await.unwrap().unwrap();
        match page.lines.as_slice() {
            [line] if line.text == REMOVED_LOG => Ok(()),
            lines => Err(lines.len()),
        }
    })
    .await;
    store.heal();
    let ended = store.calls("end_housekeeping");
    eventually(DEADLINE, async || {
        if store.calls("end_housekeeping") > ended {
            Ok(())
        } else {
            Err("housekeeping does not end")
        }
    })
    .await;
}

#[tokio::test]
async fn plans_beyond_their_limit_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options {
        retention: RETENTION,
        plans_kept: 1000,
        ..Options::alone(vec![task("a")], member())
    };
    let setup = Setup::over(Arc::clone(&store), options).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    let run = lease.run_id.parse().unwrap();
    let (holder, epoch) = (WorkerId::new(WORKER), LeaseEpoch::new(lease.epoch));
    let recorded = store.record_plan(run, &holder, epoch, &[7; 1001]);
    recorded.await.unwrap();
    setup.applied(&lease).await;
    eventually(DEADLINE, async || {
        match store.recorded_plan(run).await.unwrap() {
            None => Ok(()),
            Some(plan) => Err(plan.len()),
        }
    })
    .await;
}
