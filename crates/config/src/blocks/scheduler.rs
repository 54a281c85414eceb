//! `scheduler`, a cts-only block.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::decode::block::Block;

const DEFAULT_LEASE_TTL: Duration = Duration::from_secs(30);
const LEASE_TTL_LIMITS: RangeInclusive<Duration> = Duration::from_secs(3)..=Duration::from_mins(10);

/// Ended runs of each task: with fewer a status would not be what it is in the original.
const RUNS_KEPT_LIMITS: RangeInclusive<u32> = 5..=100_000;
const DEFAULT_RUNS_KEPT: u32 = 500;

/// Three months.
const DEFAULT_RUNS_KEPT_FOR: Duration = Duration::from_hours(90 * 24);
const RUNS_KEPT_FOR_LIMITS: RangeInclusive<Duration> =
    Duration::from_mins(1)..=Duration::from_hours(10 * 365 * 24);

/// 20 GiB: logs of a run take some kilobytes.
const DEFAULT_LOGS_KEPT: u64 = 20 << 30;
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
            lease_ttl: DEFAULT_LEASE_TTL,
            on_takeover: None,
            runs_kept: DEFAULT_RUNS_KEPT,
            runs_kept_for: DEFAULT_RUNS_KEPT_FOR,
            logs_kept: DEFAULT_LOGS_KEPT,
        }
    }
}

pub(crate) fn decode_scheduler(mut block: Block<'_>) -> SchedulerConfig {
    let default = SchedulerConfig::default();
    let lease_ttl = block.duration_within("lease_ttl", &LEASE_TTL_LIMITS);
    let on_takeover = block.choice("on_takeover", &TAKEOVERS);
    let runs_kept = block.number_within("runs_kept", &RUNS_KEPT_LIMITS);
    let runs_kept_for = block.duration_within("runs_kept_for", &RUNS_KEPT_FOR_LIMITS);
    let logs_kept = block.size_within("logs_kept", &LOGS_KEPT_LIMITS);
    block.finish();
    SchedulerConfig {
        lease_ttl: lease_ttl.unwrap_or(default.lease_ttl),
        on_takeover: on_takeover.map(|on_takeover| on_takeover.value),
        runs_kept: runs_kept.unwrap_or(default.runs_kept),
        runs_kept_for: runs_kept_for.unwrap_or(default.runs_kept_for),
        logs_kept: logs_kept.unwrap_or(default.logs_kept),
    }
}
