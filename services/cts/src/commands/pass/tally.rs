//! How far a pass over the tasks has come: bookkeeping without IO.

use std::collections::BTreeMap;
use std::time::Duration;

/// Stage of a task in the pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waits for the first answers of Consul.
    Waiting,
    /// Waits for a free slot of the worker.
    Queued,
    /// Terraform is at work, since this time after the start of the pass.
    Running(Duration),
    /// The task is through.
    Ended(End),
}

/// How a task went through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The task was applied.
    Applied,
    /// The task was planned.
    Planned {
        /// Whether an apply would change something.
        changes: bool,
        /// Why an apply would wait for the consent of a person; empty if it needs none.
        would_wait: String,
    },
    /// The task failed with this error.
    Failed(String),
    /// Nothing was applied: the brake of the fleet holds the task, for this reason.
    Held(String),
    /// Nothing was applied: this run waits for the consent of a person.
    Waits(String),
    /// Its run was taken back and will not begin again.
    Cancelled,
}

impl End {
    /// Whether the task was successful.
    pub(crate) const fn is_success(&self) -> bool {
        matches!(self, Self::Applied | Self::Planned { .. })
    }

    /// Reason why a plan needs consent, for display; `None` if it needs none.
    pub(crate) fn consent(&self) -> Option<String> {
        match self {
            Self::Planned { would_wait, .. } if !would_wait.is_empty() => {
                Some(format!("would wait for consent: {would_wait}"))
            }
            _ => None,
        }
    }

    /// One or two words for display.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Planned { changes: true, .. } => "planned, with changes",
            Self::Planned { changes: false, .. } => "planned, no changes",
            Self::Failed(_) => "failed",
            Self::Held(_) => "held by the brake",
            Self::Waits(_) => "waits for consent",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How many tasks are where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) waiting: usize,
    pub(crate) queued: usize,
    pub(crate) running: usize,
    pub(crate) succeeded: usize,
    pub(crate) failed: usize,
    /// Held by the brake of the fleet.
    pub(crate) held: usize,
    /// Waiting for the consent of a person.
    pub(crate) unapproved: usize,
}

impl Counts {
    /// Tasks that are through, well or not.
    pub(crate) const fn ended(self) -> usize {
        self.succeeded + self.failed + self.held + self.unapproved
    }
}

/// The tasks of a pass, each with its run in this pass.
#[derive(Debug)]
pub(crate) struct Tally {
    tasks: BTreeMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    run: Option<String>,
    stage: Stage,
}

impl Tally {
    /// A pass over these tasks, before any of them begins.
    pub(crate) fn new(tasks: impl IntoIterator<Item = String>) -> Self {
        let entry = |task| {
            let entry = Entry {
                run: None,
                stage: Stage::Waiting,
            };
            (task, entry)
        };
        Self {
            tasks: tasks.into_iter().map(entry).collect(),
        }
    }

    /// This run of a task is its part of the pass.
    pub(crate) fn requested(&mut self, task: &str, run: String) {
        if let Some(entry) = self.tasks.get_mut(task) {
            entry.run = Some(run);
        }
    }

    /// A task is through, without a run.
    pub(crate) fn ended(&mut self, task: &str, end: End) {
        if let Some(entry) = self.tasks.get_mut(task) {
            entry.stage = Stage::Ended(end);
        }
    }

    /// A run has come to a stage. Returns whether the stage counts: runs that were not requested, such as runs of an
    /// earlier life of this store, do not count.
    pub(crate) fn moved(&mut self, task: &str, run: &str, stage: Stage) -> bool {
        let Some(entry) = self.tasks.get_mut(task) else {
            return false;
        };
        let counts = entry.run.as_deref() == Some(run);
        if !counts || matches!(entry.stage, Stage::Ended(_)) || entry.stage == stage {
            return false;
        }
        entry.stage = stage;
        true
    }

    /// Whether the pass waits for this run.
    pub(crate) fn is_open(&self, task: &str, run: &str) -> bool {
        let entry = self.tasks.get(task);
        entry.is_some_and(|entry| {
            entry.run.as_deref() == Some(run) && !matches!(entry.stage, Stage::Ended(_))
        })
    }

    /// Since when a task has been running.
    pub(crate) fn running_since(&self, task: &str) -> Option<Duration> {
        match self.tasks.get(task)?.stage {
            Stage::Running(since) => Some(since),
            Stage::Waiting | Stage::Queued | Stage::Ended(_) => None,
        }
    }

    /// Tasks for which Consul has not given everything yet, by name.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &str> {
        let waiting = |(_name, entry): &(&String, &Entry)| entry.stage == Stage::Waiting;
        self.tasks
            .iter()
            .filter(waiting)
            .map(|(name, _entry)| name.as_str())
    }

    /// How many tasks are where.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for entry in self.tasks.values() {
            *match &entry.stage {
                Stage::Waiting => &mut counts.waiting,
                Stage::Queued => &mut counts.queued,
                Stage::Running(_) => &mut counts.running,
                Stage::Ended(end) if end.is_success() => &mut counts.succeeded,
                Stage::Ended(End::Held(_)) => &mut counts.held,
                Stage::Ended(End::Waits(_)) => &mut counts.unapproved,
                Stage::Ended(_) => &mut counts.failed,
            } += 1;
        }
        counts
    }

    /// The first task by name that failed, with the first line of its error.
    pub(crate) fn first_failure(&self) -> Option<String> {
        self.tasks.iter().find_map(|(name, entry)| {
            let Stage::Ended(end) = &entry.stage else {
                return None;
            };
            match end {
                End::Failed(error) => {
                    let line = error.lines().next().unwrap_or_default();
                    Some(format!("{name}: {line}"))
                }
                End::Cancelled => Some(format!("{name}: its run was cancelled")),
                End::Applied | End::Planned { .. } | End::Held(_) | End::Waits(_) => None,
            }
        })
    }

    /// The tasks that wait for the consent of a person, with their runs.
    pub(crate) fn unapproved(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tasks.iter().filter_map(|(name, entry)| {
            let Stage::Ended(End::Waits(run)) = &entry.stage else {
                return None;
            };
            Some((name.as_str(), run.as_str()))
        })
    }

    /// How many tasks there are.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether every task has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.counts().ended() == self.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let mut tally = Tally::new(["a".to_owned(), "b".to_owned()]);
        tally.requested("a", "1".to_owned());
        tally.requested("b", "2".to_owned());
        tally
    }

    #[test]
    fn the_requested_run_of_a_task_is_its_part_of_the_pass() {
        let mut tally = tally();
        assert!(!tally.moved("a", "0", Stage::Ended(End::Applied)));
        assert!(tally.moved("a", "1", Stage::Queued));
        assert!(tally.moved("a", "1", Stage::Ended(End::Applied)));
        assert!(!tally.moved("a", "1", Stage::Queued));
        assert!(!tally.moved("c", "1", Stage::Queued));
        assert!(!tally.is_done());
    }

    #[test]
    fn a_pass_is_done_when_every_task_is_through() {
        let mut tally = tally();
        tally.moved("a", "1", Stage::Ended(End::Failed("no".into())));
        tally.moved("b", "2", Stage::Running(Duration::from_secs(1)));
        assert_eq!(tally.running_since("b"), Some(Duration::from_secs(1)));
        let counts = Counts {
            running: 1,
            failed: 1,
            ..Counts::default()
        };
        assert_eq!(tally.counts(), counts);
        let planned = |would_wait: &str| End::Planned {
            changes: false,
            would_wait: would_wait.to_owned(),
        };
        tally.moved("b", "2", Stage::Ended(planned("")));
        assert_eq!(planned("").consent(), None);
        let consent = planned("rule destroy, 2 to destroy").consent();
        assert_eq!(
            consent.unwrap(),
            "would wait for consent: rule destroy, 2 to destroy"
        );
        assert!(tally.is_done());
        assert_eq!(tally.counts().succeeded, 1);
        assert_eq!(tally.first_failure().as_deref(), Some("a: no"));
    }

    #[test]
    fn a_task_that_waits_for_consent_is_through_and_has_not_failed() {
        let mut tally = tally();
        assert!(tally.is_open("a", "1") && !tally.is_open("a", "2"));
        tally.moved("a", "1", Stage::Ended(End::Waits("1".into())));
        assert!(!tally.is_open("a", "1"));
        tally.moved("b", "2", Stage::Ended(End::Applied));
        assert!(tally.is_done());
        let counts = tally.counts();
        assert_eq!((counts.unapproved, counts.failed), (1, 0));
        assert_eq!(tally.unapproved().collect::<Vec<_>>(), [("a", "1")]);
        assert_eq!(tally.first_failure(), None);
    }

    #[test]
    fn names_waiting_tasks() {
        let mut tally = tally();
        tally.moved("a", "1", Stage::Queued);
        assert_eq!(tally.waiting().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_task_without_a_run_is_through() {
        let mut tally = tally();
        tally.ended("a", End::Cancelled);
        assert!(!tally.moved("a", "1", Stage::Queued));
        assert_eq!(tally.counts().failed, 1);
    }

    #[test]
    fn an_empty_pass_is_done() {
        assert!(Tally::new([]).is_done());
    }
}
