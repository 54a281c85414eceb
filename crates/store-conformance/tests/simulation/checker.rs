//! The checker: records what really happened, independently of all rules, and finds what must never happen.

use std::collections::BTreeMap;
use std::fmt;

use cts_core::runs::RunKind;
use cts_core::{LeaderEpoch, LeaseEpoch, RunId};

use crate::database::Word;

/// An input; equal numbers are equal inputs.
pub(crate) type InputNumber = u8;
/// One life of one process.
pub(crate) type Life = (usize, u32);

/// A broken promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Breach {
    /// Two Terraforms of one task may write at once.
    TwoWriters,
    /// A run was leased while the lease before was still good.
    TwoLeases,
    /// A call for a lease was accepted that does not name the newest grant.
    StaleWord,
    /// A leader's write was accepted after a write of a later leadership, or of another leader.
    StaleWrite,
    /// The database says that an input is applied that is not.
    WronglyApplied,
    /// All faults have stopped, and yet a task does not get its newest input.
    Stuck,
}

/// A breach, with its task if known.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) breach: Breach,
    pub(crate) task: Option<usize>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.breach)?;
        match self.task {
            Some(task) => write!(f, " (task {task})"),
            None => Ok(()),
        }
    }
}

/// Real work of Terraform for one task.
#[derive(Debug, Default)]
struct Reality {
    /// Terraforms that may write.
    writers: Vec<usize>,
    /// The applied input, if nothing may have changed since.
    applied: Option<InputNumber>,
    /// The input that is applied according to the database.
    last_applied: Option<InputNumber>,
    /// The newest grant, while nothing has ended it.
    granted: Option<(RunId, LeaseEpoch)>,
}

#[derive(Debug)]
pub(crate) struct Checker {
    tasks: Vec<Reality>,
    epochs: BTreeMap<RunId, LeaseEpoch>,
    newest_write: LeaderEpoch,
    leaders: BTreeMap<LeaderEpoch, Life>,
    pub(crate) violation: Option<Violation>,
}

impl Checker {
    pub(crate) fn new(tasks: usize) -> Self {
        Self {
            tasks: (0..tasks).map(|_| Reality::default()).collect(),
            epochs: BTreeMap::new(),
            newest_write: LeaderEpoch::default(),
            leaders: BTreeMap::new(),
            violation: None,
        }
    }

    fn must(&mut self, holds: bool, breach: Breach, task: Option<usize>) {
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { breach, task });
        }
    }

    /// A Terraform may write from now on: its apply, or the writes of a plan.
    pub(crate) fn writes(&mut self, task: usize, terraform: usize, kind: RunKind) {
        let reality = &mut self.tasks[task];
        if kind == RunKind::Apply {
            reality.applied = None;
        }
        reality.writers.push(terraform);
        let alone = reality.writers.len() == 1;
        let unapplied = kind == RunKind::Plan || reality.last_applied.is_none();
        self.must(alone, Breach::TwoWriters, Some(task));
        self.must(unapplied, Breach::WronglyApplied, Some(task));
    }

    /// A Terraform writes no more; if it applies, it has applied this input, or a part of it.
    pub(crate) fn ended(
        &mut self,
        task: usize,
        terraform: usize,
        kind: RunKind,
        applied: Option<InputNumber>,
    ) {
        let reality = &mut self.tasks[task];
        if reality.writers.contains(&terraform) {
            reality.writers.retain(|writer| *writer != terraform);
            if kind == RunKind::Apply {
                reality.applied = applied;
            }
        }
    }

    pub(crate) fn granted(&mut self, word: Word) {
        let Word {
            task,
            run,
            kind,
            epoch,
            holder: _,
        } = word;
        let free = self.tasks[task].granted.replace((run, epoch)).is_none();
        self.must(free, Breach::TwoLeases, Some(task));
        if kind == RunKind::Apply {
            self.tasks[task].last_applied = None;
        }
        let before = self.epochs.insert(run, epoch).unwrap_or_default();
        self.must(before < epoch, Breach::StaleWord, Some(task));
    }

    /// The database has accepted a worker's call.
    pub(crate) fn word(&mut self, task: usize, run: RunId, epoch: LeaseEpoch) {
        let newest = self.tasks[task].granted == Some((run, epoch));
        self.must(newest, Breach::StaleWord, Some(task));
    }

    /// The lease is over; `last_applied` is the input that the database then counts as applied, unless the
    /// lease was for a plan, which does not change it.
    pub(crate) fn lease_over(
        &mut self,
        task: usize,
        kind: RunKind,
        last_applied: Option<InputNumber>,
    ) {
        let reality = &mut self.tasks[task];
        reality.granted = None;
        if kind == RunKind::Plan {
            return;
        }
        reality.last_applied = last_applied;
        let right = last_applied.is_none()
            || (reality.applied == last_applied && reality.writers.is_empty());
        self.must(right, Breach::WronglyApplied, Some(task));
    }

    /// The database has accepted a write of a leader.
    pub(crate) fn leader_write(&mut self, epoch: LeaderEpoch, by: Life) {
        let leader = *self.leaders.entry(epoch).or_insert(by);
        let in_order = epoch >= self.newest_write;
        self.newest_write = self.newest_write.max(epoch);
        self.must(leader == by && in_order, Breach::StaleWrite, None);
    }

    /// Whether the newest input of a task is applied, the database has it as applied, and nothing is running.
    pub(crate) fn has_come_to_rest(&self, task: usize, newest: InputNumber) -> bool {
        let reality = &self.tasks[task];
        reality.applied == Some(newest)
            && reality.last_applied == Some(newest)
            && reality.granted.is_none()
            && reality.writers.is_empty()
    }

    pub(crate) fn stuck(&mut self, task: usize) {
        self.must(false, Breach::Stuck, Some(task));
    }
}
