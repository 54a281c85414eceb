//! The ticks of a task with a `schedule` condition (docs/runs.md#schedules).

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::{Condition, CronExpression, TaskDefinition};

use crate::options::NextTick;

/// Longest time until the wall clock is looked at again: it may have been set.
const CLOCK_INTERVAL: Duration = Duration::from_mins(1);

/// Ticks of a task. Ticks that pass unseen are never made up for.
#[derive(Debug)]
pub(super) struct CronState {
    cron: CronExpression,
    /// The next tick; `None` before the first look at the clock, and after the last tick.
    pub(super) next: Option<DateTime<Utc>>,
    /// When to look at the clock again.
    pub(super) read_at: Option<Duration>,
}

impl CronState {
    /// The ticks of a task; `None` if it has no schedule.
    pub(super) fn of(definition: &TaskDefinition) -> Option<Self> {
        let Condition::Schedule(schedule) = &definition.condition else {
            return None;
        };
        match CronExpression::parse(&schedule.cron) {
            Ok(cron) => Some(Self {
                cron,
                next: None,
                read_at: Some(Duration::ZERO),
            }),
            Err(error) => {
                // Tasks are checked before they are stored.
                tracing::error!(target: "ctrl", task_name = %definition.name, error = %error, "the schedule of a task cannot be read, so it never ticks");
                None
            }
        }
    }

    /// Reads the clock. Returns whether the schedule ticks.
    ///
    /// The next tick is always the first tick after the clock, and never later. Without a jump of the clock the tick
    /// stays the same. If the clock is set back, the tick is computed again: a clock that was years ahead for a moment
    /// must not silence a task for years.
    pub(super) fn read_clock(
        &mut self,
        now: Duration,
        clock: DateTime<Utc>,
        next_tick: &NextTick,
    ) -> bool {
        let ticks = self.next.is_some_and(|next| next <= clock);
        self.next = next_tick.after(&self.cron, clock);
        self.read_at = self.next.map(|next| {
            // Not negative, because the next tick is later than the clock.
            let wait = (next - clock).to_std().unwrap_or_default();
            now + wait.min(CLOCK_INTERVAL)
        });
        ticks
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use proptest::prelude::*;

    use super::*;

    fn ticks(cron: &str) -> CronState {
        CronState {
            cron: CronExpression::parse(cron).unwrap(),
            next: None,
            read_at: Some(Duration::ZERO),
        }
    }

    #[test]
    fn a_clock_that_was_ten_years_ahead_silences_nothing() {
        let mut ticks = ticks("0 * * * *");
        let next_tick = NextTick::of(Utc);
        let ahead = Utc.with_ymd_and_hms(2036, 5, 1, 7, 30, 0).unwrap();
        assert!(!ticks.read_clock(Duration::ZERO, ahead, &next_tick));
        let right = Utc.with_ymd_and_hms(2026, 5, 1, 7, 30, 0).unwrap();
        assert!(!ticks.read_clock(CLOCK_INTERVAL, right, &next_tick));
        let next = Utc.with_ymd_and_hms(2026, 5, 1, 8, 0, 0).unwrap();
        assert_eq!(ticks.next, Some(next));
        assert!(ticks.read_clock(2 * CLOCK_INTERVAL, next, &next_tick));
    }

    proptest! {
        /// After any jump of the clock, the next look at it is soon, a tick is never later than a freshly
        /// computed one, and while the clock only goes forward no tick is left out or comes twice.
        #[test]
        fn after_any_jump_the_next_tick_is_not_later_than_a_fresh_one(
            jumps in prop::collection::vec((-100_000_000_i64..100_000_000, any::<bool>()), 1..20),
        ) {
            let next_tick = NextTick::of(Utc);
            let mut ticks = ticks("*/7 3-20 * * *");
            let mut clock = Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).unwrap();
            let mut now = Duration::ZERO;
            for (seconds, jumps) in jumps {
                let before = ticks.next;
                if jumps {
                    clock += chrono::TimeDelta::seconds(seconds);
                } else if let Some(read_at) = ticks.read_at {
                    clock += chrono::TimeDelta::from_std(read_at.saturating_sub(now)).unwrap();
                    now = read_at;
                }
                let ticked = ticks.read_clock(now, clock, &next_tick);
                prop_assert_eq!(ticked, before.is_some_and(|next| next <= clock));
                let fresh = next_tick.after(&ticks.cron, clock);
                prop_assert!(ticks.next.is_some() && ticks.next <= fresh);
                prop_assert!(ticks.read_at <= Some(now + CLOCK_INTERVAL));
                if !jumps && !ticked && before.is_some() {
                    prop_assert_eq!(ticks.next, before);
                }
            }
        }
    }
}
