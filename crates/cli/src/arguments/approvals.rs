//! The arguments of `cts approvals`.

use clap::{Args, Subcommand};

use super::options::QueryOptions;

/// `cts approvals`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List what waits for consent, is approved or is rejected.
    List {
        #[command(flatten)]
        query: QueryOptions,
        /// Only tasks whose names match, as in 'edge-*'.
        #[arg(value_name = "PATTERN")]
        patterns: Vec<String>,
    },
    /// Show the consent to the effect of a run, and its plan.
    Show {
        #[command(flatten)]
        query: QueryOptions,
        /// Id of the run, as `cts approvals list` shows it; the beginning is enough if only one run has it.
        #[arg(value_name = "RUN ID")]
        id: String,
    },
    /// Approve the effect of a run, or those of several tasks at once.
    #[command(after_help = "Example:\n\n    \
        $ cts approvals approve 0197a000-0000-7000-8000-000000000001 -effect 0af1c2d3\n    \
        The effect 0af1c2d3 of 'edge-lb' is approved until 2026-11-30 10:15:30")]
    Approve(Approve),
    /// Reject the effect of a run: it is not asked for again.
    Reject {
        #[command(flatten)]
        query: QueryOptions,
        /// Fingerprint of the effect, as `cts approvals show` shows it. Required.
        #[arg(long, value_name = "FINGERPRINT")]
        effect: String,
        /// Comment for those who look at it later.
        #[arg(
            long,
            value_name = "TEXT",
            default_value = "",
            hide_default_value = true
        )]
        comment: String,
        /// Id of the run; the beginning is enough if only one run has it.
        #[arg(value_name = "RUN ID")]
        id: String,
    },
    /// Forget that effects of a task were rejected: the task runs and asks again.
    Reopen {
        #[command(flatten)]
        query: QueryOptions,
        /// Name of the task.
        #[arg(value_name = "TASK NAME")]
        name: String,
    },
}

/// `cts approvals approve`.
#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// Fingerprint of the effect of one run, as `cts approvals show` shows it.
    #[arg(
        long,
        value_name = "FINGERPRINT",
        required_unless_present = "set",
        conflicts_with = "set"
    )]
    pub(crate) effect: Option<String>,
    /// Fingerprint of the set that `cts approvals list` has shown: all of it is approved, or nothing.
    #[arg(long, value_name = "FINGERPRINT")]
    pub(crate) set: Option<String>,
    /// Comment for those who look at it later.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) comment: String,
    /// With -effect: id of the run; the beginning is enough if only one run has it. With -set: pattern of the tasks, as
    /// given to `cts approvals list`.
    #[arg(value_name = "RUN ID|PATTERN")]
    pub(crate) id: String,
}
