//! A long history that is there when the trouble begins, and that is forgotten meanwhile.

use std::time::Duration;

use cts_testkit::History;
use cts_tests::Service;

use super::wait_until;
use crate::plan::{Member, Plan};
use crate::report::say;
use crate::system::System;

/// How long ended runs are kept.
pub(super) const KEPT_FOR: &str = "2m";
/// Half of the history is too old when the trouble begins; the other half gets so meanwhile.
const SPAN: Duration = Duration::from_mins(4);
const LINES: u32 = 3;

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
    say(&format!("{runs} runs have ended in the past"));
}
