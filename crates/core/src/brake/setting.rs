//! The setting of the brake.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Part of all instances that may be lost together within a time: the block `fleet_max_shrink`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetMaxShrink {
    /// Percentage of the instances of the reference, from 1 to 100.
    pub share: u8,
    /// Time for which the highest number of a pair counts.
    pub within: Duration,
    /// Fewer lost instances never set the brake.
    pub at_least: u32,
}

impl FleetMaxShrink {
    /// Most instances of `of` that may be lost.
    pub fn limit(&self, of: u64) -> u64 {
        let share = of.saturating_mul(u64::from(self.share)) / 100;
        share.max(u64::from(self.at_least).saturating_sub(1))
    }

    /// Whether a loss of `lost` instances of `of` sets the brake.
    pub fn sets(&self, lost: u64, of: u64) -> bool {
        lost > self.limit(of)
    }

    /// Whether the brake ends because at most half of the limit is still lost.
    pub fn ends(&self, lost: u64, of: u64) -> bool {
        lost.saturating_mul(2) <= self.limit(of)
    }
}

impl fmt::Display for FleetMaxShrink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            share,
            within,
            at_least,
        } = self;
        write!(
            f,
            "{share}% within {} s, at least {at_least}",
            within.as_secs()
        )
    }
}
