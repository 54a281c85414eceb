//! A long history that is there when the trouble begins, and that is forgotten meanwhile.

use std::time::Duration;

use cts_testkit::History;
use cts_tests::Service;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::time::{Instant, sleep};

use crate::plan::{Member, Plan};
use crate::report::say;
use crate::system::System;

/// How long ended runs are kept.
pub(super) const KEPT_FOR: &str = "2m";
/// Half of the history is too old when the trouble begins; the other half gets so meanwhile.
const SPAN: Duration = Duration::from_mins(4);
const LINES: u32 = 3;

const PATIENCE: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Lets a scheduler store the tasks, and gives them `runs` ended runs. Nothing runs before and after.
pub(super) async fn make(plan: &Plan, system: &mut System, url: &str, runs: u32) {
    if runs == 0 {
        return;
    }
    let scheduler = Member::Of(Service::Scheduler, 0);
    system.start(&[scheduler]).await;
    let tasks = plan.tasks.len();
    let end = Instant::now() + PATIENCE;
    while stored(url).await != tasks {
        assert!(Instant::now() < end, "the tasks are not stored");
        sleep(BETWEEN_LOOKS).await;
    }
    if let Some(process) = system.take(scheduler) {
        process.terminate().await;
    }
    let history = History {
        runs_per_task: runs / u32::try_from(tasks).unwrap(),
        lines_per_run: LINES,
        span: SPAN,
    };
    history.add(url).await;
    say(&format!("{runs} runs have ended in the past"));
}

async fn stored(url: &str) -> usize {
    let options: PgConnectOptions = url.parse().unwrap();
    let mut connection = PgConnection::connect_with(&options).await.unwrap();
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM tasks")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    usize::try_from(count).unwrap()
}
