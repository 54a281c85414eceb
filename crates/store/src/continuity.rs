//! Doubts about the data on a new timeline of the database, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::{JournalPart, LeaderEpoch, LeaseEpoch, RunId, TaskName, WorkerId};

use crate::error::{LeaderError, StoreError};

/// Doubts about the data on a new timeline of the database.
///
/// After a failover or a restore the last commits may be missing, so no input counts as applied. Workers
/// report their journals, and a task is trusted if every worker that was alive vouches for it: then its input
/// counts as applied again. A store whose database has no timelines keeps the default answers below.
#[async_trait]
pub trait Continuity: Sync {
    /// The timeline that workers need for their journals.
    async fn timeline(&self) -> Result<Timeline, StoreError> {
        Ok(Timeline::default())
    }

    /// Takes a part of a worker's journal. Tasks with an attempt in it that the database has forgotten are
    /// not trusted. With the last part the worker vouches for all others. Safe to repeat; a part that is for
    /// another timeline changes nothing.
    async fn vouch(&self, _part: &JournalPart) -> Result<Vouched, StoreError> {
        Ok(Vouched::default())
    }

    /// Decides which tasks are trusted, if that can be decided now: when all workers that were alive have
    /// vouched and half of `lease` is over since the timeline was noticed, so that the journals of others
    /// have arrived as well; at the latest after `lease`, or 15 s if it is shorter. Until then the leader
    /// queues nothing, and nothing is leased.
    async fn settle(
        &self,
        _leader: LeaderEpoch,
        _lease: Duration,
    ) -> Result<Settlement, LeaderError> {
        Ok(Settlement::Settled)
    }
}

/// Where the database is in time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// The timeline that journals are to be reported for: one that followed another at most a day ago.
    pub reported: Option<String>,
    /// The time by the database's clock, if it has timelines.
    pub now: Option<DateTime<Utc>>,
}

/// Result of reading a part of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vouched {
    /// Tasks of which the database has forgotten an attempt.
    pub forgotten: Vec<TaskName>,
    /// Enabled tasks among `forgotten` that counted as applied already, because the part has come late.
    pub too_late: Vec<TaskName>,
    /// Leases of attempts whose end was confirmed and is forgotten: no Terraform works under them.
    pub ended: Vec<(RunId, WorkerId, LeaseEpoch)>,
}

/// Result of settling the doubts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Nothing.
    Settled,
    /// The doubts are not decided yet.
    Open,
    /// This call decides: every worker has vouched.
    Trusted {
        /// So many tasks are trusted.
        trusted: u64,
        /// So many run once.
        untrusted: u64,
    },
    /// This call decides: all tasks run once.
    Distrusted {
        /// Workers that were alive and have not vouched.
        silent: Vec<WorkerId>,
    },
}
