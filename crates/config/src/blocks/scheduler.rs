//! `scheduler`, a cts-only block.

use std::time::Duration;

use crate::settings::settings;

const TAKEOVERS: [(&str, OnTakeover); 2] =
    [("changed", OnTakeover::Changed), ("all", OnTakeover::All)];

settings! {
    /// How the schedulers grant runs and what a new leader does.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct SchedulerConfig {
        /// `lease_ttl`: how long a worker may hold a run without renewing, from 3 s to 10 min; 30 s by default. A run
        /// whose worker is lost goes to a different one after this.
        pub lease_ttl: Duration = Duration::from_secs(30)
            => duration(&(Duration::from_secs(3)..=Duration::from_mins(10))),
        /// `on_takeover`, as written; [`Config::on_takeover`](crate::Config::on_takeover) adds the default.
        pub on_takeover: Option<OnTakeover> = None => optional_choice(&TAKEOVERS),
        /// `runs_kept`: ended runs that are kept of each task, from 5 to 100,000; 500 by default. With fewer a status
        /// would not be what it is in the original.
        pub runs_kept: u32 = 500 => number(&(5..=100_000)),
        /// `runs_kept_for`: how long ended runs are kept, from a minute to ten years; three months by default. The
        /// newest results of a task stay.
        pub runs_kept_for: Duration = Duration::from_hours(90 * 24)
            => duration(&(Duration::from_mins(1)..=Duration::from_hours(10 * 365 * 24))),
        /// `logs_kept`: space that the logs of all runs may take, from 1 MiB to 1,024 TiB; 20 GiB by default, since
        /// logs of a run take some kilobytes. Logs beyond that are removed, logs of successful runs first.
        pub logs_kept: u64 = 20 << 30 => size(&((1 << 20)..=(1 << 50))),
        /// `plans_kept`: space that the plans of all runs may take as data, from 1 MiB to 1,024 TiB; 2 GiB by default.
        /// Plans beyond that are removed, the oldest first.
        pub plans_kept: u64 = 2 << 30 => size(&((1 << 20)..=(1 << 50))),
    }
}

/// Which tasks a scheduler runs when it becomes the leader (docs/configuration.md#scheduler).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTakeover {
    /// Tasks whose input differs from the applied one, or whose run was interrupted.
    Changed,
    /// Every task once, as the original does.
    All,
}
