//! `scheduler`, a block of ours.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::block::Block;

const DEFAULT_LEASE_TTL: Duration = Duration::from_secs(30);
const LEASE_TTL_LIMITS: RangeInclusive<Duration> = Duration::from_secs(3)..=Duration::from_mins(10);

const TAKEOVERS: [(&str, OnTakeover); 2] =
    [("changed", OnTakeover::Changed), ("all", OnTakeover::All)];

/// How the schedulers grant runs and what a new leader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// `lease_ttl`: how long a worker may hold a run without renewing, from 3 s to 10 min; 30 s by
    /// default. A run whose worker is lost is given to another one after this.
    pub lease_ttl: Duration,
    /// `on_takeover`, as written; [`Config::on_takeover`](crate::Config::on_takeover) knows the
    /// default.
    pub on_takeover: Option<OnTakeover>,
}

/// Which tasks a scheduler runs when it becomes the leader (spec/ha.md 1.5, 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTakeover {
    /// Those whose input differs from the applied one, or whose run was interrupted.
    Changed,
    /// Every task once, as the original does.
    All,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            lease_ttl: DEFAULT_LEASE_TTL,
            on_takeover: None,
        }
    }
}

pub(crate) fn decode_scheduler(block: Option<Block<'_>>) -> SchedulerConfig {
    let mut scheduler = SchedulerConfig::default();
    let Some(mut block) = block else {
        return scheduler;
    };
    if let Some(written) = block.duration_within("lease_ttl", &LEASE_TTL_LIMITS) {
        scheduler.lease_ttl = written.value;
    }
    scheduler.on_takeover = block.choice("on_takeover", &TAKEOVERS);
    block.finish();
    scheduler
}
