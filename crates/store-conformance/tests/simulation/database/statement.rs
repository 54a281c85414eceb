//! Statements and their answers.

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, RunKind};
use cts_core::{LeaderEpoch, LeaseEpoch, RunId};
use cts_store::Member;

use crate::checker::{InputNumber, Life};

/// Statement that a scheduler sends to the database.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    /// To lead or to go on leading, in the given epoch if it still is the newest.
    Lead(Member, Option<LeaderEpoch>),
    Resign(Member),
    Enqueue {
        epoch: LeaderEpoch,
        task: usize,
        input: InputNumber,
        run: RunId,
        kind: RunKind,
        /// A caller has requested this run before.
        requested: bool,
    },
    /// Takes back the leases that have ended.
    Reap(LeaderEpoch),
    /// A run for this worker, with a lease of this life.
    Grant(Life, Duration),
    Renew(Word, Duration),
    Complete(Word, AttemptOutcome),
}

/// Names a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) task: usize,
    pub(crate) run: RunId,
    pub(crate) kind: RunKind,
    /// The worker.
    pub(crate) holder: Life,
    pub(crate) epoch: LeaseEpoch,
}

/// Answer of the database.
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
