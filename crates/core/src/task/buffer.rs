//! The buffer period: how long a trigger waits for further triggers (docs/runs.md#the-buffer-period).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A buffer period as written; absent values are inherited (`docs/configuration.md#buffer_period`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BufferSetting {
    /// Switches buffering on or off.
    pub enabled: Option<bool>,
    /// Quiet time to wait for after a trigger.
    pub min: Option<Duration>,
    /// Longest wait after the first trigger.
    pub max: Option<Duration>,
}

/// A resolved buffer period. Disabled means no delay at all, with `min` and `max` zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPeriod {
    /// Whether triggers wait.
    pub enabled: bool,
    /// Quiet time to wait for after a trigger.
    pub min: Duration,
    /// Longest wait after the first trigger; never below `min`.
    pub max: Duration,
}

const DEFAULT_MIN: Duration = Duration::from_secs(5);
const DEFAULT_MAX: Duration = Duration::from_secs(20);

impl BufferPeriod {
    /// No buffering.
    pub const DISABLED: Self = Self {
        enabled: false,
        min: Duration::ZERO,
        max: Duration::ZERO,
    };

    /// The built-in global period: 5 s, at most 20 s.
    pub const BUILT_IN: Self = Self {
        enabled: true,
        min: DEFAULT_MIN,
        max: DEFAULT_MAX,
    };

    /// The global period: the built-in period with the written values replaced. A missing `max` is 20 s here, never
    /// four times `min` (`docs/configuration.md#buffer_period`).
    pub fn global(setting: BufferSetting) -> Self {
        Self::BUILT_IN.refine(BufferSetting {
            enabled: Some(setting.enabled.unwrap_or(true)),
            min: Some(setting.min.unwrap_or(DEFAULT_MIN)),
            max: Some(setting.max.unwrap_or(DEFAULT_MAX)),
        })
    }

    /// The period of a task with the values `setting`, under this global period.
    #[must_use]
    pub fn refine(self, setting: BufferSetting) -> Self {
        if setting.enabled == Some(false) {
            return Self::DISABLED;
        }
        if setting == BufferSetting::default() {
            return self;
        }
        let inherited = if self.enabled { self.min } else { DEFAULT_MIN };
        let min = setting.min.unwrap_or(inherited);
        let max = setting.max.unwrap_or(min.saturating_mul(4)).max(min);
        Self {
            enabled: true,
            min,
            max,
        }
    }
}

/// The running wait of one task. Times are durations since any fixed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferTimer {
    fires_at: Duration,
    deadline: Duration,
}

impl BufferTimer {
    /// Starts the wait at the first trigger.
    pub fn start(period: BufferPeriod, now: Duration) -> Self {
        Self {
            fires_at: now.saturating_add(period.min),
            deadline: now.saturating_add(period.max),
        }
    }

    /// Notes a further trigger: waits `min` more from now, but never beyond the deadline.
    #[must_use]
    pub fn extend(self, period: BufferPeriod, now: Duration) -> Self {
        Self {
            fires_at: now.saturating_add(period.min).min(self.deadline),
            ..self
        }
    }

    /// The end of the wait.
    pub fn fires_at(self) -> Duration {
        self.fires_at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn enabled(min: u64, max: u64) -> BufferPeriod {
        BufferPeriod {
            enabled: true,
            min: seconds(min),
            max: seconds(max),
        }
    }

    fn setting(enabled: Option<bool>, min: Option<u64>, max: Option<u64>) -> BufferSetting {
        BufferSetting {
            enabled,
            min: min.map(seconds),
            max: max.map(seconds),
        }
    }

    #[test]
    fn the_global_block_keeps_the_built_in_maximum() {
        let cases = [
            (setting(None, None, None), enabled(5, 20)),
            (setting(None, Some(10), None), enabled(10, 20)),
            (setting(None, Some(30), None), enabled(30, 30)),
            (setting(None, None, Some(3)), enabled(5, 5)),
            (
                setting(Some(false), Some(1), Some(2)),
                BufferPeriod::DISABLED,
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(BufferPeriod::global(written), expected, "{written:?}");
        }
    }

    #[test]
    fn a_task_block_inherits_the_minimum_and_multiplies_it() {
        let parent = enabled(10, 100);
        let off = BufferPeriod::DISABLED;
        let cases = [
            (setting(None, None, None), parent, off),
            (
                setting(Some(true), None, None),
                enabled(10, 40),
                enabled(5, 20),
            ),
            (setting(None, Some(7), None), enabled(7, 28), enabled(7, 28)),
            (setting(None, None, Some(3)), enabled(10, 10), enabled(5, 5)),
            (
                setting(None, Some(7), Some(3)),
                enabled(7, 7),
                enabled(7, 7),
            ),
            (setting(None, Some(0), None), enabled(0, 0), enabled(0, 0)),
            (setting(Some(false), Some(7), None), off, off),
        ];
        for (written, under_enabled, under_disabled) in cases {
            assert_eq!(parent.refine(written), under_enabled, "{written:?}");
            assert_eq!(off.refine(written), under_disabled, "{written:?}");
        }
    }

    #[test]
    fn the_documented_example_runs_at_ten_seconds() {
        let period = enabled(4, 10);
        let mut timer = BufferTimer::start(period, seconds(0));
        let mut ends = vec![timer.fires_at()];
        for trigger in [3, 6, 8] {
            timer = timer.extend(period, seconds(trigger));
            ends.push(timer.fires_at());
        }
        assert_eq!(ends, [4, 7, 10, 10].map(seconds));
    }

    proptest! {
        #[test]
        fn a_wait_ends_between_minimum_and_maximum(
            min in 0u64..100, more in 0u64..100, gaps in prop::collection::vec(0u64..30, 0..20),
        ) {
            let period = enabled(min, min + more);
            let mut timer = BufferTimer::start(period, Duration::ZERO);
            let mut now = 0;
            for gap in gaps {
                now += gap;
                if seconds(now) >= timer.fires_at() {
                    break;
                }
                let before = timer.fires_at();
                timer = timer.extend(period, seconds(now));
                prop_assert!(timer.fires_at() >= before);
            }
            prop_assert!(timer.fires_at() >= period.min);
            prop_assert!(timer.fires_at() <= period.max);
        }
    }
}
