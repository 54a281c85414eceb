//! What a leader changes of the settings in force.

use cts_core::WorkerId;
use cts_core::settings::SettingsGeneration;

/// A change of the settings in force, and of who has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsChange {
    /// Generations that are new, or have other digests, or begin or end to be in force.
    pub generations: Vec<SettingsGeneration>,
    /// Pairs of numbers: requested runs that are queued for workers with the first one, and queued plans and checks, go to
    /// workers with the second one. What a change queues is queued anew.
    pub moved: Vec<(u64, u64)>,
    /// All generations in force that each of these workers has, by number. A worker that is not known is left out.
    pub workers: Vec<(WorkerId, Vec<u64>)>,
}

impl SettingsChange {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
