//! Doubts about the data on a new timeline of the database, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::{JournalPart, LeaderEpoch, LeaseEpoch, RunId, TaskName, WorkerId};

use crate::error::{LeaderError, StoreError};

/// Doubts about the data on a new timeline of the database.
///
/// After a failover or a restore the last commits may be missing, so no input counts as applied. Workers report their
/// journals. A task is trusted if every worker that was alive vouches for the task: its input then counts as applied
/// again. A store whose database has no timelines keeps the default answers below.
#[async_trait]
pub trait Continuity: Sync {
    /// The timeline that workers need for their journals.
    async fn timeline(&self) -> Result<Timeline, StoreError> {
        Ok(Timeline::default())
    }

    /// Stores a part of a worker's journal. Tasks with an attempt in the part that the database has forgotten are not
    /// trusted.
    ///
    /// With the last part, the worker vouches for all other tasks. Safe to repeat; a part for a different timeline
    /// changes nothing.
    async fn vouch(&self, _part: &JournalPart) -> Result<Vouched, StoreError> {
        Ok(Vouched::default())
    }

    /// Decides which tasks are trusted, if that can be decided now.
    ///
    /// The decision is possible when all workers that were alive have vouched and half of `lease` has passed since
    /// the timeline was noticed, so that the journals of other workers have arrived too; at the latest after `lease`,
    /// or after 15 s if `lease` is shorter. Until then the leader queues nothing, and nothing is leased.
    async fn settle(
        &self,
        _leader: LeaderEpoch,
        _lease: Duration,
    ) -> Result<Settlement, LeaderError> {
        Ok(Settlement::Settled)
    }
}

/// The timeline of the database and its time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// The timeline for which journals are to be reported: a timeline that replaced another at most a day ago.
    pub reported: Option<String>,
    /// The time by the database's clock, if it has timelines.
    pub now: Option<DateTime<Utc>>,
}

/// Result of reading a part of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vouched {
    /// Tasks with an attempt that the database has forgotten.
    pub forgotten: Vec<TaskName>,
    /// Enabled tasks among `forgotten` that counted as applied already, because the part came late.
    pub too_late: Vec<TaskName>,
    /// Leases of attempts whose end was confirmed and is forgotten: no Terraform works under them.
    pub ended: Vec<(RunId, WorkerId, LeaseEpoch)>,
}

/// Result of settling the doubts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// No doubts exist.
    Settled,
    /// The doubts are not decided yet.
    Open,
    /// This call decides: every worker has vouched.
    Trusted {
        /// Number of trusted tasks.
        trusted: u64,
        /// Number of tasks that run once.
        untrusted: u64,
    },
    /// This call decides: all tasks run once.
    Distrusted {
        /// Workers that were alive and did not vouch.
        silent: Vec<WorkerId>,
    },
}
