//! The options of each scenario.

use std::time::Duration;

use clap::Args;

use crate::access::Access;

#[derive(Debug, Args)]
pub(crate) struct WatchScaleArguments {
    /// Number of services.
    #[arg(long, default_value_t = 5000, value_parser = positive())]
    pub(crate) services: u32,
    /// Number of instances, in turn of each service.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) instances: u32,
    /// Changes in a second.
    #[arg(long, default_value_t = 50, value_parser = positive())]
    pub(crate) changes: u32,
    /// Seconds of changes.
    #[arg(long, default_value_t = 60, value_parser = positive())]
    pub(crate) seconds: u32,
    /// Connections for the bare reading; more make it no faster on two cores.
    #[arg(long, default_value_t = 32)]
    pub(crate) connections: usize,
    /// Nine tenths of the changes are on 50 services.
    #[arg(long)]
    pub(crate) skewed: bool,
    /// Over TLS, and so over HTTP/2.
    #[arg(long)]
    pub(crate) tls: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CutQueriesArguments {
    /// Number of views, each on a service of its own.
    #[arg(long, default_value_t = 300, value_parser = positive())]
    pub(crate) views: u32,
    /// Seconds after which the proxy ends a quiet connection. Only after 5 s is the loss of a connection such a limit.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(6..=300))]
    pub(crate) cut: u32,
    /// Seconds of the measurement, with the time in which the watcher learns the limit.
    #[arg(long, default_value_t = 600, value_parser = positive())]
    pub(crate) seconds: u32,
    /// Seconds between two changes, each of the next view.
    #[arg(long, default_value_t = 5, value_parser = positive())]
    pub(crate) change_every: u32,
}

#[derive(Debug, Args)]
pub(crate) struct IdleArguments {
    /// Number of tasks.
    #[arg(long, default_value_t = 1000, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Number of services; each task is on one of them.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) services: u16,
    /// Seconds over which processor time is taken.
    #[arg(long, default_value_t = 30, value_parser = positive())]
    pub(crate) seconds: u32,
}

#[derive(Debug, Args)]
pub(crate) struct ChangeToApplyArguments {
    /// Number of changes.
    #[arg(long, default_value_t = 200, value_parser = positive())]
    pub(crate) changes: u32,
    /// Instances of the service.
    #[arg(long, default_value_t = 10, value_parser = positive())]
    pub(crate) instances: u32,
    /// Repetitions of the whole, from new; each figure is the median.
    #[arg(long, default_value_t = 1, value_parser = positive())]
    pub(crate) rounds: u32,
    /// Four processes and Postgres instead of one process.
    #[arg(long)]
    pub(crate) cluster: bool,
    /// How the services and the API are protected.
    #[arg(long, default_value = "open")]
    pub(crate) access: Access,
    /// The task is under a rule by which no change here needs consent.
    #[arg(long)]
    pub(crate) rules: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApiStatusArguments {
    /// Number of tasks.
    #[arg(long, default_value_t = 1000, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Connections that ask at the same time.
    #[arg(long, default_value_t = 16, value_parser = positive())]
    pub(crate) connections: u32,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 10, value_parser = positive())]
    pub(crate) seconds: u32,
    /// Repetitions.
    #[arg(long, default_value_t = 3, value_parser = positive())]
    pub(crate) rounds: u32,
    /// While runs, logs and heartbeats are committed.
    #[arg(long)]
    pub(crate) busy: bool,
    /// With --busy: number of tasks that wait for consent.
    #[arg(long, default_value_t = 0, requires = "busy")]
    pub(crate) waiting: u32,
    /// How the services and the API are protected.
    #[arg(long, default_value = "open", conflicts_with = "busy")]
    pub(crate) access: Access,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// Number of tasks.
    #[arg(long, default_value_t = 1000, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Ended runs of each task.
    #[arg(long, default_value_t = 1000, value_parser = positive())]
    pub(crate) runs: u32,
    /// Seconds of the measurement.
    #[arg(long, default_value_t = 60, value_parser = positive())]
    pub(crate) seconds: u32,
}

#[derive(Debug, Args)]
pub(crate) struct QueueArguments {
    /// Slots of all workers together; several numbers are measured one after another.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16", value_parser = positive())]
    pub(crate) slots: Vec<u32>,
    /// Number of tasks; each gets one run in each round.
    #[arg(long, default_value_t = 2000, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Times that the queue is filled and emptied.
    #[arg(long, default_value_t = 5, value_parser = positive())]
    pub(crate) rounds: u32,
    /// Runs that come one at a time.
    #[arg(long, default_value_t = 300, value_parser = positive())]
    pub(crate) pickups: u32,
}

#[derive(Debug, Args)]
pub(crate) struct SharedInputArguments {
    /// Number of tasks.
    #[arg(long, default_value_t = 500, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Instances of the service.
    #[arg(long, default_value_t = 2000, value_parser = positive())]
    pub(crate) instances: u32,
    /// Number of changes.
    #[arg(long, default_value_t = 5, value_parser = positive())]
    pub(crate) rounds: u32,
}

#[derive(Debug, Args)]
pub(crate) struct OverviewArguments {
    /// Number of tasks.
    #[arg(long, default_value_t = 10_000, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Number of calls of each command; with --busy, of measurements without callers and with them.
    #[arg(long, default_value_t = 7, value_parser = positive())]
    pub(crate) rounds: u32,
    /// Measure changes beside callers and beside nobody, and not the commands.
    #[arg(long)]
    pub(crate) busy: bool,
    /// Seconds of each measurement with --busy.
    #[arg(long, default_value_t = 20, value_parser = positive())]
    pub(crate) seconds: u32,
    /// Milliseconds between an answer and the next question of a caller with --busy.
    #[arg(long, default_value_t = 100)]
    pub(crate) pause: u32,
    /// Number of tasks that wait for consent.
    #[arg(long, default_value_t = 0, conflicts_with = "busy")]
    pub(crate) waiting: u32,
}

impl OverviewArguments {
    pub(crate) fn pause(&self) -> Duration {
        Duration::from_millis(self.pause.into())
    }
}

#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// Number of tasks.
    #[arg(long, default_value_t = 10_000, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Lines of the longest log.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(2..=200_000))]
    pub(crate) lines: u32,
    /// Number of loads of each kind.
    #[arg(long, default_value_t = 9, value_parser = positive())]
    pub(crate) loads: u32,
    /// Seconds of changes in front of the browser, for each screen.
    #[arg(long, default_value_t = 60, value_parser = positive())]
    pub(crate) watched: u32,
    /// Number of measurements without readers and with them.
    #[arg(long, default_value_t = 7, value_parser = positive())]
    pub(crate) rounds: u32,
    /// Seconds of each of these measurements.
    #[arg(long, default_value_t = 20, value_parser = positive())]
    pub(crate) seconds: u32,
    /// Number of readers.
    #[arg(long, default_value_t = 10, value_parser = positive())]
    pub(crate) readers: u32,
}

#[derive(Debug, Args)]
pub(crate) struct LogFollowArguments {
    /// Number of followers, and of runs.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub(crate) followers: u32,
    /// Seconds over which statements are counted, with followers and without.
    #[arg(long, default_value_t = 30, value_parser = positive())]
    pub(crate) seconds: u32,
    /// Lines whose way is measured.
    #[arg(long, default_value_t = 100, value_parser = positive())]
    pub(crate) lines: u32,
}

#[derive(Debug, Args)]
pub(crate) struct SoakArguments {
    /// Number of tasks.
    #[arg(long, default_value_t = 1000, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Changes in a second.
    #[arg(long, default_value_t = 20, value_parser = positive())]
    pub(crate) changes: u32,
    /// Length of the measurement.
    #[arg(long, default_value_t = 30, value_parser = positive())]
    pub(crate) minutes: u32,
    /// Minutes for which an ended run is kept.
    #[arg(long, default_value_t = 5, value_parser = positive())]
    pub(crate) kept: u32,
    /// One process over SQLite instead of four over Postgres.
    #[arg(long)]
    pub(crate) embedded: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StrangersArguments {
    /// Seconds of each of the four measurements of a round.
    #[arg(long, default_value_t = 60, value_parser = positive())]
    pub(crate) seconds: u32,
    /// Repetitions.
    #[arg(long, default_value_t = 3, value_parser = positive())]
    pub(crate) rounds: u32,
    /// Number of tasks.
    #[arg(long, default_value_t = 100, value_parser = positive())]
    pub(crate) tasks: u32,
    /// Connections of each kind that strangers hold open at each listener.
    #[arg(long, default_value_t = 64, value_parser = positive())]
    pub(crate) connections: u32,
}

#[derive(Debug, Args)]
pub(crate) struct FailoverArguments {
    /// Life of a run's lease, in seconds.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(3..=600))]
    pub(crate) lease_ttl: u32,
    /// Life of the leadership, in seconds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) session_ttl: u32,
    /// Losses of each kind.
    #[arg(long, default_value_t = 5, value_parser = positive())]
    pub(crate) rounds: u32,
}

pub(super) fn positive() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=10_000)
}
