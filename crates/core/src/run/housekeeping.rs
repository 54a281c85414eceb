//! Schedule for forgetting old runs, and limits of the space for logs.

use std::time::Duration;

/// Delay before a new leader forgets old runs, because its start has more urgent work.
const QUIET_START: Duration = Duration::from_secs(10);

/// Number of missed times after which a new leader does not delay, because leaders may change often.
const MISSED_TIMES: u32 = 10;

/// Time until the leader forgets old runs, which happens every `every`.
///
/// `since_last` is the time since the last time, `None` if the last time is in the future because a clock was set
/// back; `served` is the time since this leader began to serve.
pub fn housekeeping_wait(
    since_last: Option<Duration>,
    every: Duration,
    served: Duration,
) -> Duration {
    let since_last = since_last.unwrap_or(every);
    if since_last < every {
        every.saturating_sub(since_last)
    } else if since_last >= every.saturating_mul(MISSED_TIMES) {
        Duration::ZERO
    } else {
        QUIET_START.min(every).saturating_sub(served)
    }
}

/// Consequences of the space used by all logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSpace {
    /// Bytes of logs to remove.
    pub surplus: u64,
    /// Whether to warn now.
    pub warn: bool,
    /// Whether a warning was given; stays set until the logs need less space.
    pub warned: bool,
}

impl LogSpace {
    /// Judges the space used by logs. Warns once at four fifths of the limit, and again only after the space fell
    /// below three quarters.
    pub fn judge(used: u64, limit: u64, warned: bool) -> Self {
        let (used_wide, limit_wide) = (u128::from(used), u128::from(limit));
        let is_near = used_wide * 5 >= limit_wide * 4;
        let stays_near = warned && used_wide * 4 >= limit_wide * 3;
        Self {
            surplus: used.saturating_sub(limit),
            warn: is_near && !warned,
            warned: is_near || stays_near,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn wait(since_last: Option<u64>, served: u64) -> u64 {
        let since_last = since_last.map(Duration::from_secs);
        housekeeping_wait(since_last, HOUR, Duration::from_secs(served)).as_secs()
    }

    #[test]
    fn old_runs_are_forgotten_hourly_whoever_leads() {
        assert_eq!(wait(Some(0), 0), 3600);
        assert_eq!(wait(Some(3599), 0), 1);
        assert_eq!(wait(Some(3600), 600), 0);
    }

    #[test]
    fn a_start_comes_first_unless_many_times_were_missed() {
        assert_eq!(wait(Some(3600), 0), 10);
        assert_eq!(wait(Some(7200), 4), 6);
        assert_eq!(wait(Some(36_000), 0), 0);
        let second = Duration::from_secs(1);
        assert_eq!(
            housekeeping_wait(Some(second), second, Duration::ZERO),
            second
        );
    }

    #[test]
    fn a_last_time_to_come_is_none() {
        assert_eq!(wait(None, 0), 10);
        assert_eq!(wait(None, 20), 0);
    }

    #[test]
    fn a_warning_comes_once_per_crossing() {
        let judge = |used, warned| {
            let space = LogSpace::judge(used, 100, warned);
            (space.surplus, space.warn, space.warned)
        };
        assert_eq!(judge(79, false), (0, false, false));
        assert_eq!(judge(80, false), (0, true, true));
        assert_eq!(judge(100, true), (0, false, true));
        assert_eq!(judge(75, true), (0, false, true));
        assert_eq!(judge(74, true), (0, false, false));
        assert_eq!(judge(130, true), (30, false, true));
        assert_eq!(judge(130, false), (30, true, true));
    }

    #[test]
    fn without_a_limit_nothing_is_near() {
        let space = LogSpace::judge(1 << 60, u64::MAX, false);
        assert_eq!((space.surplus, space.warn), (0, false));
    }
}
