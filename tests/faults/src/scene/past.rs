//! A long history that exists when the trouble begins, and that is pruned during the trouble.

use std::time::Duration;

use cts_testkit::History;
use cts_tests::Service;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::wait_until;
use crate::plan::{Member, Plan};
use crate::report::say;
use crate::system::System;

/// How long ended runs are kept.
pub(super) const KEPT_FOR: &str = "2m";
/// Half of the history is too old when the trouble begins; the other half becomes too old during it.
const SPAN: Duration = Duration::from_mins(4);
const LINES: u32 = 3;

/// Made-up inputs cannot be destroyed: runs of tasks that are destroyed in the end are given to earlier tasks
/// with their names.
async fn give_to_earlier_tasks(plan: &Plan, url: &str) -> Result<(), sqlx::Error> {
    let destroyed = (0..plan.tasks.len()).filter(|&number| Plan::destroys(number));
    let names: Vec<String> = destroyed
        .map(|number| format!("'{}'", Plan::task(number)))
        .collect();
    let names = names.join(", ");
    let options: PgConnectOptions = url.parse()?;
    if names.is_empty() {
        return Ok(());
    }
    let mut connection = PgConnection::connect_with(&options).await?;
    for table in ["runs", "events"] {
        let earlier = format!(
            "UPDATE {table} SET incarnation = incarnation - 1 WHERE task_name IN ({names})"
        );
        sqlx::raw_sql(AssertSqlSafe(earlier))
            .execute(&mut connection)
            .await?;
    }
    connection.close().await
}

/// Lets a scheduler store the tasks, and gives them `runs` ended runs. Nothing runs before and after.
pub(super) async fn make(plan: &Plan, system: &mut System, url: &str, runs: u32) {
    if runs == 0 {
        return;
    }
    let scheduler = Member::Of(Service::Scheduler, 0);
    system.start(&[scheduler]).await;
    let tasks = plan.tasks.len();
    let stored = format!("SELECT count(*) = {tasks} FROM tasks");
    wait_until(url, &stored).await;
    if let Some(process) = system.take(scheduler) {
        process.terminate().await;
    }
    let history = History {
        runs_per_task: runs / u32::try_from(tasks).unwrap(),
        lines_per_run: LINES,
        span: SPAN,
    };
    history.add(url).await;
    give_to_earlier_tasks(plan, url).await.unwrap();
    say(&format!("{runs} runs have ended in the past"));
}
