//! The ticks of a task with a `schedule` condition (docs/runs.md#schedules).

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::{Condition, CronExpression, TaskDefinition, TaskName};

use super::Planner;
use crate::options::NextTick;

/// Longest time until the wall clock is looked at again: it may have been set.
const LOOK: Duration = Duration::from_mins(1);

/// When a task ticks. Ticks that pass unseen are never made up for.
#[derive(Debug)]
pub(super) struct Ticks {
    cron: CronExpression,
    /// The next one; `None` before the clock was looked at, and when there will be no more.
    pub(super) next: Option<DateTime<Utc>>,
    /// When to look at the clock again.
    pub(super) look_at: Option<Duration>,
}

impl Ticks {
    /// Those of a task; `None` if it has no schedule.
    pub(super) fn of(definition: &TaskDefinition) -> Option<Self> {
        let Condition::Schedule(schedule) = &definition.condition else {
            return None;
        };
        match CronExpression::parse(&schedule.cron) {
            Ok(cron) => Some(Self {
                cron,
                next: None,
                look_at: Some(Duration::ZERO),
            }),
            Err(error) => {
                // Tasks are checked before they are stored.
                tracing::error!(target: "ctrl", task_name = %definition.name, error = %error, "the schedule of a task cannot be read, so it never ticks");
                None
            }
        }
    }

    /// Looks at the clock. Says whether it ticks.
    fn look(&mut self, now: Duration, clock: DateTime<Utc>, next_tick: &NextTick) -> bool {
        let ticks = self.next.is_some_and(|next| next <= clock);
        if ticks || self.next.is_none() {
            self.next = next_tick.after(&self.cron, clock);
        }
        self.look_at = self.next.map(|next| {
            // Not in the past, because it is later than the clock.
            let wait = (next - clock).to_std().unwrap_or_default();
            now + wait.min(LOOK)
        });
        ticks
    }
}

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
            if ticks.look_at.is_some_and(|at| at <= now) {
                let before = ticks.next;
                if ticks.look(now, clock, next_tick) {
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
