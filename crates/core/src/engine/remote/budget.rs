//! Budget of requests: a server counts the requests per user, so all workers share the budget.
//!
//! A worker with the driver `terraform-cloud` gets its share with the answer to each heartbeat.

use std::time::Duration;

/// Requests per minute of all workers together. Servers allow 30 per second and user; a third of that stays free for
/// other programs of that user.
const ALL_WORKERS: u64 = 20 * 60;

/// Minimum requests per minute of each worker, if the budget suffices for all workers.
const LEAST: u64 = 30;

/// Weight of a worker without runs, in runs: its next runs must not wait for a new share.
const BASE_WEIGHT: u64 = 10;

/// Pause between two polls of a run while the worker follows few runs.
const SHORTEST_PAUSE: Duration = Duration::from_secs(5);

/// Maximum pause between two polls of a run.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Part of a worker's requests that polls may use, in percent; the rest is for all other requests.
const POLLS_PERCENT: u64 = 80;

/// Returns the requests per minute of the calling worker. `running` has the number of runs of each live worker with
/// the driver, the caller first.
///
/// Every worker gets an equal minimum; the rest is divided by the number of runs. All shares together never exceed
/// the requests of all workers, if each worker sees equal numbers.
pub fn requests_per_minute(running: &[u32]) -> u32 {
    let weight = |runs: u32| u64::from(runs) + BASE_WEIGHT;
    let Some(&own) = running.first() else {
        return 0;
    };
    let workers = running.len() as u64;
    let least = LEAST.min(ALL_WORKERS / workers);
    let rest = ALL_WORKERS - least * workers;
    let all: u64 = running.iter().copied().map(weight).sum();
    u32::try_from(least + rest * weight(own) / all).unwrap_or(u32::MAX)
}

/// Returns the pause between two polls of one remote run, for a worker that follows `runs` with this many requests
/// per minute. Without a known budget, the worker has the minimum.
pub fn poll_pause(runs: usize, per_minute: u32) -> Duration {
    let per_minute = match per_minute {
        0 => LEAST,
        known => u64::from(known),
    };
    let milliseconds = (runs as u64)
        .saturating_mul(60 * 1000 * 100)
        .div_ceil(per_minute * POLLS_PERCENT);
    Duration::from_millis(milliseconds).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(running: &[u32]) -> Vec<u64> {
        let of = |first: usize| {
            let mut rotated = running.to_vec();
            rotated.rotate_left(first);
            u64::from(requests_per_minute(&rotated))
        };
        (0..running.len()).map(of).collect()
    }

    #[test]
    fn one_worker_has_all_and_more_runs_get_more() {
        assert_eq!(shares(&[0]), [1200]);
        assert_eq!(shares(&[500]), [1200]);
        assert_eq!(shares(&[7, 7]), [600, 600]);
        assert_eq!(shares(&[490, 0]), [30 + 1117, 30 + 22]);
        assert_eq!(requests_per_minute(&[]), 0);
    }

    #[test]
    fn pauses_grow_with_the_runs() {
        let seconds = |runs, per_minute| poll_pause(runs, per_minute).as_secs();
        assert_eq!(seconds(0, 1200), 5);
        assert_eq!(seconds(80, 1200), 5);
        assert_eq!(seconds(500, 1200), 31);
        assert_eq!(seconds(500, 600), 62);
        assert_eq!(seconds(4, 0), 10, "the budget is not known");
        assert_eq!(seconds(usize::MAX, 1), 300);
    }

    proptest! {
        #[test]
        fn the_workers_never_exceed_the_budget(
            running in prop::collection::vec(prop_oneof![0..20_u32, 0..=u32::MAX], 1..80)
        ) {
            let shares = shares(&running);
            prop_assert!(shares.iter().sum::<u64>() <= ALL_WORKERS);
            if running.len() <= 40 {
                prop_assert!(shares.iter().all(|share| *share >= LEAST));
            }
            prop_assert!(shares.iter().all(|share| *share > 0));
        }

        #[test]
        fn polls_leave_requests_for_everything_else(runs in 0..2000_u32, per_minute in 1..=1200_u32) {
            let pause = poll_pause(runs as usize, per_minute);
            let polls = f64::from(runs) * 60.0 / pause.as_secs_f64();
            if pause < LONGEST_PAUSE {
                prop_assert!(polls <= f64::from(per_minute) * 0.8 + 0.001, "{polls}");
            }
        }
    }
}
