//! Statements and their answers.

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, RunKind};
use cts_core::{LeaderEpoch, LeaseEpoch};

use crate::checker::{InputNumber, RunNumber};

/// What a scheduler asks the database for.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Lead(String),
    Raise(LeaderEpoch),
    Resign(LeaderEpoch),
    Enqueue {
        epoch: LeaderEpoch,
        task: usize,
        input: InputNumber,
        run: RunNumber,
        /// A run that was asked for is made whatever is applied.
        requested: bool,
    },
    /// A plan is requested.
    Plan {
        epoch: LeaderEpoch,
        task: usize,
        input: InputNumber,
        run: RunNumber,
    },
    /// Takes back what has ended at this time, and by the database's own clock.
    Reap(LeaderEpoch, Duration),
    Grant,
    Renew(Word),
    Complete(Word, AttemptOutcome),
}

/// Names a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) task: usize,
    pub(crate) run: RunNumber,
    pub(crate) kind: RunKind,
    pub(crate) epoch: LeaseEpoch,
}

/// What the database answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Leads(LeaderEpoch),
    /// Another process leads, or the named epoch is over.
    Refused,
    Done,
    Granted(Option<(Word, InputNumber)>),
    Renewed(Word),
    Completed(Word),
    Lost(Word),
}
