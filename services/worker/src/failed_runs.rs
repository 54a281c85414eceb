//! Failed runs that this worker remembers.

use std::collections::VecDeque;

use cts_core::RunId;
use parking_lot::Mutex;

/// Most failed runs that are kept. A run beyond them has lines of each attempt.
const MOST: usize = 1_000;

/// Runs whose last attempt failed on this worker, and which are tried again.
#[derive(Debug, Default)]
pub(crate) struct FailedRuns(Mutex<VecDeque<RunId>>);

impl FailedRuns {
    pub(crate) fn add(&self, run: RunId) {
        let mut runs = self.0.lock();
        if runs.len() >= MOST {
            runs.pop_front();
        }
        runs.push_back(run);
    }

    /// Returns whether the run was among them.
    pub(crate) fn remove(&self, run: RunId) -> bool {
        let mut runs = self.0.lock();
        let place = runs.iter().position(|failed| *failed == run);
        place.and_then(|place| runs.remove(place)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: usize) -> RunId {
        format!("00000000-0000-4000-8000-{number:012}")
            .parse()
            .unwrap()
    }

    #[test]
    fn a_failed_run_is_known_until_its_next_attempt_begins() {
        let runs = FailedRuns::default();
        runs.add(run(1));
        runs.add(run(2));
        assert!(runs.remove(run(1)));
        assert!(!runs.remove(run(1)));
        assert!(runs.remove(run(2)));
    }

    #[test]
    fn failed_runs_that_go_on_elsewhere_are_forgotten_at_last() {
        let runs = FailedRuns::default();
        (0..=MOST).for_each(|number| runs.add(run(number)));
        assert!(!runs.remove(run(0)));
        assert!(runs.remove(run(1)) && runs.remove(run(MOST)));
    }
}
