//! The settings in force: changes by a leader, and the queued runs that lack them.
//!
//! Statements of the store that queue a run or put it back replace the old generation by its successor from the view
//! `settings_successors`.

use async_trait::async_trait;
use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_core::{Digest, LeaderEpoch, RunId, TaskName, WorkerId};

use crate::error::{LeaderError, StoreError};

/// Settings, as a trait of every store. Every method is one transaction, like those of [`Store`](crate::Store).
///
/// A queued run gets the settings in force of the blocks that its input uses: from its leader when it is queued for a
/// change or a request; from the store when the store itself queues it or takes it back from a worker; and otherwise
/// by an [`Assignment`]. A worker with different backend or provider blocks therefore never gets the run.
#[async_trait]
pub trait SettingsStore {
    /// Returns the key of the cluster: the stored one, else `proposed`, which is then stored.
    async fn cluster_key(&self, proposed: &ClusterKey) -> Result<ClusterKey, StoreError>;

    /// All generations of settings, by number.
    async fn settings(&self) -> Result<Vec<SettingsGeneration>, StoreError>;

    /// Queued runs for which possibly no worker has the settings, at most [`UNSETTLED_AT_ONCE`].
    ///
    /// These are runs without settings, and requested or non-applying runs whose settings are not in force. Other
    /// queued runs get a newer input from their leader when settings change.
    async fn unsettled_runs(&self) -> Result<Vec<UnsettledRun>, StoreError>;

    /// Stores the leader's decisions about the settings in force. Safe to repeat.
    async fn change_settings(
        &self,
        leader: LeaderEpoch,
        change: &SettingsChange,
    ) -> Result<(), LeaderError>;
}

/// A change of the settings in force, and of the workers that have them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsChange {
    /// Generations that are new, have different digests, or begin or end to be in force.
    pub generations: Vec<SettingsGeneration>,
    /// Pairs of numbers: the old generation and its replacement.
    ///
    /// Queued requested runs, and queued runs that do not apply, move from workers with the old generation to workers
    /// with the replacement. Other runs are queued again by the planner.
    pub moved: Vec<(u64, u64)>,
    /// Queued runs that get different settings.
    pub assigned: Vec<Assignment>,
    /// All generations in force that each of these workers has, by number. Unknown workers are left out.
    pub workers: Vec<(WorkerId, Vec<u64>)>,
}

impl SettingsChange {
    /// Whether the change is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Assigns settings to a queued run. Ignored if the run is no longer queued, or if its settings are not `from` any
/// more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// The run.
    pub run: RunId,
    /// Its present settings; `None` without settings.
    pub from: Option<u64>,
    /// Its new settings.
    pub to: u64,
}

/// A queued run that lacks the settings in force, see [`SettingsStore::unsettled_runs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsettledRun {
    /// The run.
    pub run: RunId,
    /// Its task.
    pub task: TaskName,
    /// Its input, whose task names the blocks that the run uses.
    pub input: Digest,
    /// The settings for which the run waits.
    pub settings: Option<u64>,
    /// Whether it destroys: it then keeps its settings until workers have all of their blocks.
    pub destroys: bool,
}

/// Largest number of unsettled runs that a store returns at once.
pub const UNSETTLED_AT_ONCE: u32 = 500;
