//! Ticks of scheduled tasks.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::TaskName;

use super::Planner;
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
                    tracing::debug!(target: "ctrl", task_name = %name, "a scheduled task is due");
                    entry.changed(now);
                }
                if entry.next_tick() != before {
                    self.changes += 1;
                }
                self.agenda.note(&name, entry);
            }
        }
    }
}
