//! Ticks of scheduled tasks.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::TaskName;

use super::Planner;
use super::entry::Entry;
use crate::options::NextTick;

impl Planner {
    /// Lets the tasks tick whose time has come. `clock` is the wall clock at `now`.
    pub(crate) fn tick(&mut self, now: Duration, clock: DateTime<Utc>, next_tick: &NextTick) {
        let has_ticks = |name: &&TaskName| {
            let entry = self.tasks.get(*name);
            entry.is_some_and(|entry| entry.ticks.is_some())
        };
        let scheduled: Vec<TaskName> = self.agenda.due(now).filter(has_ticks).cloned().collect();
        for name in scheduled {
            let Some(entry) = self.tasks.get_mut(&name) else {
                continue;
            };
            let Some(ticks) = entry.ticks.as_mut() else {
                continue;
            };
            if ticks.read_at.is_some_and(|at| at <= now) {
                let before = ticks.next;
                if ticks.read_clock(now, clock, next_tick) {
                    entry.tick(now);
                }
                let next = entry.next_tick();
                if next != before {
                    self.changes += 1;
                    log_next(&name, next, clock);
                }
                self.agenda.note(&name, entry);
            }
        }
    }
}

impl Drop for Planner {
    fn drop(&mut self) {
        for (name, entry) in &self.tasks {
            log_end_of_schedule(name, entry);
        }
    }
}

fn log_next(name: &TaskName, next: Option<DateTime<Utc>>, clock: DateTime<Utc>) {
    let Some(next) = next else {
        return;
    };
    let wait_time = (next - clock).to_std().unwrap_or_default();
    let next_runtime = next.format("%Y-%m-%d %H:%M:%S +0000 UTC").to_string();
    tracing::info!(target: "tasksmanager", task_name = %name, ?wait_time, next_runtime, "scheduled task next run time");
}

/// Logs that a schedule no longer runs its task.
pub(super) fn log_end_of_schedule(name: &TaskName, entry: &Entry) {
    if entry.next_tick().is_some() {
        tracing::info!(target: "tasksmanager", task_name = %name, "stopping scheduled task");
    }
}
