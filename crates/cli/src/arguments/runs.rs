//! The arguments of `cts runs` and `cts causes`, and those of both commands that print logs
//! (docs/cli.md#options-of-all-of-them).

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use cts_core::CauseId;

use super::options::QueryOptions;

/// `cts runs`.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs of a running cts, newest first.
    List(ListRuns),
    /// Show one run: its status, how long its steps took, what it changed and what went wrong.
    Show {
        #[command(flatten)]
        query: QueryOptions,
        /// Id of the run, as `cts runs list` shows it; the beginning is enough if only one run has it.
        #[arg(value_name = "RUN ID")]
        id: String,
    },
    /// Show what a run would do, or was about to do: its plan, destroyed and replaced resources first.
    Plan {
        #[command(flatten)]
        query: QueryOptions,
        /// Id of the run, as `cts runs list` shows it; the beginning is enough if only one run has it.
        #[arg(value_name = "RUN ID")]
        id: String,
    },
    /// Show the data that the module of a run got: services, keys and variables.
    Input {
        #[command(flatten)]
        query: QueryOptions,
        /// Show the difference to the input that was applied before this run.
        #[arg(long)]
        diff: bool,
        /// Id of the run, as `cts runs list` shows it; the beginning is enough if only one run has it.
        #[arg(value_name = "RUN ID")]
        id: String,
    },
    /// Print what Terraform said in a run.
    Logs {
        #[command(flatten)]
        query: QueryOptions,
        #[command(flatten)]
        part: LogPart,
        /// Id of the run, as `cts runs list` shows it; the beginning is enough if only one run has it.
        #[arg(value_name = "RUN ID")]
        id: String,
    },
    /// Cancel a run: one that waits is withdrawn, one that runs is stopped. It is not tried again before something
    /// changes.
    #[command(after_help = "Example:\n\n    \
        $ cts runs cancel 0197a000-0000-7000-8000-000000000001\n    \
        run 0197a000-0000-7000-8000-000000000001 of 'web' is cancelled, its status is failed")]
    Cancel(Cancel),
}

/// `cts causes`.
#[derive(Debug, Args)]
pub(crate) struct Causes {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// At most this number of causes, up to 100.
    #[arg(long, value_name = "NUMBER", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) limit: u32,
    /// Id of a cause: only that cause.
    #[arg(value_name = "CAUSE ID")]
    pub(crate) id: Option<CauseId>,
}

/// `cts runs list`.
#[derive(Debug, Args)]
pub(crate) struct ListRuns {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// Only runs of this task.
    #[arg(long, value_name = "NAME")]
    pub(crate) task: Option<String>,
    /// Only runs of this status.
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<RunStatus>,
    /// Only runs in this state: queued runs that wait for the consent of a person.
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(["waiting"]), conflicts_with = "status")]
    pub(crate) state: Option<String>,
    /// Only runs that this cause led to, as `cts causes` shows it.
    #[arg(long, value_name = "CAUSE ID")]
    pub(crate) cause: Option<CauseId>,
    /// At most this number of runs, up to 1000.
    #[arg(long, value_name = "NUMBER", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
}

/// `cts runs cancel`.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// End Terraform at once, with which its state may be lost: needed when it has not stopped within 30 seconds.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Do not wait until the run has ended.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Id of the run, as `cts runs list` shows it; the beginning is enough if only one run has it.
    #[arg(value_name = "RUN ID")]
    pub(crate) id: String,
}

/// A status that runs are picked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunStatus {
    /// Waits for a worker.
    Queued,
    /// A worker is at it.
    Running,
    /// Applied, planned, checked or destroyed.
    Succeeded,
    /// Every attempt failed.
    Failed,
    /// Ended because it had become pointless.
    Cancelled,
}

/// The part of a log that is printed.
#[derive(Debug, Args)]
pub(crate) struct LogPart {
    /// Go on until the run has ended.
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
    /// Only this number of lines, the last ones.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) tail: Option<u64>,
    /// Only lines that contain this text, each with its number, newest first.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["follow", "tail"])]
    pub(crate) search: Option<String>,
    /// Only lines of the attempt with this number.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "follow")]
    pub(crate) attempt: Option<u32>,
}
