//! The settings in force: changes by a leader, and the queued runs that lack them.
//!
//! Every statement that queues a run by itself, or puts a run back, takes the successor of the old generation from
//! the view `settings_successors`.

use async_trait::async_trait;
use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_core::{Digest, LeaderEpoch, RunId, TaskName, WorkerId};

use crate::error::{LeaderError, StoreError};

/// Settings, as a trait of every store. Every method is one transaction, as those of [`Store`](crate::Store)
/// are.
///
/// A queued run gets the settings in force of the blocks that its input uses: from its leader when it is
/// queued for a change or a request; from the store when the store queues it by itself, or takes it back from
/// a worker; and otherwise by an [`Assignment`]. So a worker with other backend or provider blocks never gets
/// it.
#[async_trait]
pub trait SettingsStore {
    /// Returns the key of the cluster: the stored one, else `proposed`, which is then stored.
    async fn cluster_key(&self, proposed: &ClusterKey) -> Result<ClusterKey, StoreError>;

    /// All generations of settings, by number.
    async fn settings(&self) -> Result<Vec<SettingsGeneration>, StoreError>;

    /// Queued runs for which no worker is sure to have the settings, at most [`UNSETTLED_AT_ONCE`]: runs
    /// without settings; requested runs, and runs that do not apply, whose settings are not in force. Other
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
    /// Generations that are new, have other digests, or begin or end to be in force.
    pub generations: Vec<SettingsGeneration>,
    /// Pairs of numbers, the old generation and the new one. Queued requested runs, and queued runs that do
    /// not apply, move from workers with the first one to workers with the second one. The planner queues
    /// changes again instead.
    pub moved: Vec<(u64, u64)>,
    /// Queued runs that get other settings.
    pub assigned: Vec<Assignment>,
    /// All generations in force that each of these workers has, by number. A worker that is not known is left out.
    pub workers: Vec<(WorkerId, Vec<u64>)>,
}

impl SettingsChange {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Assigns settings to a queued run. Does nothing if the run is not queued any more, or has other settings
/// than `from` by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// The run.
    pub run: RunId,
    /// The settings that it has; `None` if it has none.
    pub from: Option<u64>,
    /// The settings that it gets.
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
    /// The settings that it waits for.
    pub settings: Option<u64>,
    /// Whether it destroys: then it keeps its settings until workers have all of their blocks.
    pub destroys: bool,
}

/// Unsettled runs that a store gives at once.
pub const UNSETTLED_AT_ONCE: u32 = 500;
