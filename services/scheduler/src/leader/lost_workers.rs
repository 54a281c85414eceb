//! Lost workers in the log: a line for the first lease of a worker that expires, and one for all its other leases.

use std::collections::HashMap;
use std::mem;
use std::time::Duration;

use cts_core::{RunId, TaskName, WorkerId};
use tokio::time::Instant;

/// Most runs that a line names.
const NAMED: usize = 10;

/// Folds the expired leases of each worker.
#[derive(Debug)]
pub(super) struct LostWorkers {
    /// All leases of a lost worker expire within this time.
    window: Duration,
    workers: HashMap<WorkerId, Losses>,
}

#[derive(Debug)]
struct Losses {
    since: Instant,
    /// Runs without a line yet.
    further: Vec<(TaskName, RunId)>,
}

/// Runs of one worker whose leases expired after its first expired lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FurtherLosses {
    pub(super) worker: WorkerId,
    pub(super) runs: usize,
    /// Tasks with the ids of their runs, as text.
    pub(super) tasks: String,
}

impl LostWorkers {
    /// Starts without losses; `lease` is the duration of a lease, which is renewed every third of that time.
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            window: lease / 2,
            workers: HashMap::new(),
        }
    }

    /// Whether no line is due later.
    pub(super) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// Notes an expired lease. Returns whether this is the first lost lease of its worker, whose line is due at once.
    pub(super) fn expired(
        &mut self,
        worker: &WorkerId,
        task: &TaskName,
        run: RunId,
        now: Instant,
    ) -> bool {
        if let Some(losses) = self.workers.get_mut(worker) {
            losses.further.push((task.clone(), run));
            return false;
        }
        let losses = Losses {
            since: now,
            further: Vec::new(),
        };
        self.workers.insert(worker.clone(), losses);
        true
    }

    /// The further losses of workers that have no lease any more at `now`.
    pub(super) fn due(&mut self, now: Instant) -> Vec<FurtherLosses> {
        let window = self.window;
        let over = self
            .workers
            .extract_if(|_worker, losses| now - losses.since >= window);
        let over = over.filter(|(_worker, losses)| !losses.further.is_empty());
        let lines = over.map(|(worker, mut losses)| FurtherLosses {
            worker,
            runs: losses.further.len(),
            tasks: text(mem::take(&mut losses.further)),
        });
        lines.collect()
    }
}

fn text(mut runs: Vec<(TaskName, RunId)>) -> String {
    runs.sort_by(|(a, _), (b, _)| a.cmp(b));
    let named = runs.iter().take(NAMED);
    let named: Vec<_> = named.map(|(task, run)| format!("{task} ({run})")).collect();
    let named = named.join(", ");
    match runs.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    fn run(number: u128) -> RunId {
        RunId::from_uuid(Uuid::from_u128(number))
    }

    fn task(name: &str) -> TaskName {
        name.parse().unwrap()
    }

    #[test]
    fn the_first_lost_run_of_a_worker_has_a_line_at_once_and_all_further_ones_share_one() {
        let mut lost = LostWorkers::new(LEASE);
        let (one, other) = (WorkerId::new("one"), WorkerId::new("other"));
        let begin = Instant::now();
        assert!(lost.expired(&one, &task("a"), run(1), begin));
        assert!(!lost.expired(&one, &task("c"), run(3), begin));
        assert!(!lost.expired(&one, &task("b"), run(2), begin + LEASE / 3));
        assert!(lost.expired(&other, &task("d"), run(4), begin + LEASE / 3));
        assert_eq!(lost.due(begin + LEASE / 3), []);
        let due = lost.due(begin + LEASE);
        let further = FurtherLosses {
            worker: one.clone(),
            runs: 2,
            tasks: format!("b ({}), c ({})", run(2), run(3)),
        };
        assert_eq!(due, [further]);
        assert!(lost.expired(&one, &task("a"), run(5), begin + LEASE));
    }

    #[test]
    fn a_line_names_some_of_many_runs() {
        let runs = (0..64).map(|number| (task(&format!("task-{number:02}")), run(number)));
        let text = text(runs.collect());
        assert!(text.ends_with(&format!("task-09 ({}) and 54 more", run(9))));
    }
}
