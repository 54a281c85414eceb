//! `scheduler`, a cts-only block.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::decode::block::Block;
use crate::keys::{Keyed, Keys, word};

const LEASE_TTL_LIMITS: RangeInclusive<Duration> = Duration::from_secs(3)..=Duration::from_mins(10);

/// Ended runs of each task: with fewer a status would not be what it is in the original.
const RUNS_KEPT_LIMITS: RangeInclusive<u32> = 5..=100_000;

const AGES: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(10 * 365 * 24);

const LOGS_KEPT_LIMITS: RangeInclusive<u64> = (1 << 20)..=(1 << 50);

const TAKEOVERS: [(&str, OnTakeover); 2] =
    [("changed", OnTakeover::Changed), ("all", OnTakeover::All)];

/// How the schedulers grant runs and what a new leader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// `lease_ttl`: how long a worker may hold a run without renewing, from 3 s to 10 min; 30 s by default. A
    /// run whose worker is lost goes to a different one after this.
    pub lease_ttl: Duration,
    /// `on_takeover`, as written; [`Config::on_takeover`](crate::Config::on_takeover) adds the default.
    pub on_takeover: Option<OnTakeover>,
    /// `runs_kept`: ended runs that are kept of each task, from 5 to 100,000; 500 by default.
    pub runs_kept: u32,
    /// `runs_kept_for`: how long ended runs are kept, from a minute to ten years; three months by default. The newest
    /// results of a task stay.
    pub runs_kept_for: Duration,
    /// `logs_kept`: space that the logs of all runs may take, from 1 MiB to 1,024 TiB; 20 GiB by default.
    /// Logs beyond that are removed, logs of successful runs first.
    pub logs_kept: u64,
}

/// Which tasks a scheduler runs when it becomes the leader (docs/configuration.md#scheduler).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTakeover {
    /// Tasks whose input differs from the applied one, or whose run was interrupted.
    Changed,
    /// Every task once, as the original does.
    All,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            lease_ttl: Duration::from_secs(30),
            on_takeover: None,
            runs_kept: 500,
            runs_kept_for: Duration::from_hours(90 * 24),
            // Logs of a run take some kilobytes.
            logs_kept: 20 << 30,
        }
    }
}

impl Keyed for SchedulerConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.duration("lease_ttl", &mut self.lease_ttl, &LEASE_TTL_LIMITS);
        let read = |block: &mut Block<'_>, name| block.choice(name, &TAKEOVERS);
        keys.optional("on_takeover", &mut self.on_takeover, read, |chosen| {
            word(&TAKEOVERS, chosen)
        });
        keys.number("runs_kept", &mut self.runs_kept, &RUNS_KEPT_LIMITS);
        keys.duration("runs_kept_for", &mut self.runs_kept_for, &AGES);
        keys.size("logs_kept", &mut self.logs_kept, &LOGS_KEPT_LIMITS);
    }
}
