//! Time at which a task's input is frozen: its buffer as a state machine without a clock.

use std::time::Duration;

use crate::task::buffer::{BufferPeriod, BufferTimer};

/// The waiting state of one task. Times are durations since any fixed time.
///
/// The first input of a task's life is not buffered (docs/runs.md#the-buffer-period); every later trigger
/// starts or extends the buffer timer.
#[derive(Debug, Clone)]
pub struct TaskSchedule {
    period: BufferPeriod,
    frozen_once: bool,
    wait: Option<BufferTimer>,
    since: Duration,
}

impl TaskSchedule {
    /// A task that was not triggered yet.
    pub fn new(period: BufferPeriod) -> Self {
        Self {
            period,
            frozen_once: false,
            wait: None,
            since: Duration::ZERO,
        }
    }

    /// Notes a change that triggers the task.
    pub fn trigger(&mut self, now: Duration) {
        let period = if self.frozen_once {
            self.period
        } else {
            BufferPeriod::DISABLED
        };
        if self.wait.is_none() {
            self.since = now;
        }
        self.wait = Some(match self.wait {
            Some(timer) if period.enabled => timer.extend(period, now),
            Some(timer) => timer,
            None => BufferTimer::start(period, now),
        });
    }

    /// When the input is to be frozen; `None` without a change.
    pub fn due_at(&self) -> Option<Duration> {
        self.wait.map(BufferTimer::fires_at)
    }

    /// The first trigger of the current wait, or of the last wait.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// Returns whether the input is to be frozen now, and then ends the wait.
    pub fn take_due(&mut self, now: Duration) -> bool {
        let due = self.due_at().is_some_and(|at| at <= now);
        if due {
            self.wait = None;
            self.frozen_once = true;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_first_trigger_is_due_at_once_and_later_ones_wait() {
        let mut schedule = TaskSchedule::new(BufferPeriod::BUILT_IN);
        assert_eq!(schedule.due_at(), None);
        schedule.trigger(at(1));
        assert!(schedule.take_due(at(1)));
        schedule.trigger(at(2));
        assert!(!schedule.take_due(at(6)));
        assert_eq!(schedule.due_at(), Some(at(7)));
        schedule.trigger(at(6));
        assert_eq!(schedule.due_at(), Some(at(11)), "a further one extends it");
        assert!(schedule.take_due(at(11)));
        assert_eq!(schedule.due_at(), None);
    }

    #[test]
    fn without_a_buffer_every_trigger_is_due_at_once() {
        let mut schedule = TaskSchedule::new(BufferPeriod::DISABLED);
        for now in [1, 2, 3] {
            schedule.trigger(at(now));
            assert!(schedule.take_due(at(now)));
        }
    }
}
