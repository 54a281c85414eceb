//! The arguments of `cts approvals`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::options::{Configuration, QueryOptions, path};
use super::store_place::StorePlace;

/// `cts approvals`.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List what waits for consent, is approved or is rejected.
    List {
        /// Where the consents are.
        #[command(flatten)]
        place: ConsentPlace,
        /// Only tasks whose names match, as in 'edge-*'.
        #[arg(value_name = "PATTERN")]
        patterns: Vec<String>,
    },
    /// Show the consent to the effect of a run, and its plan.
    Show {
        /// Where the consents are.
        #[command(flatten)]
        place: ConsentPlace,
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
        /// Where the consents are.
        #[command(flatten)]
        place: ConsentPlace,
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
        /// Where the consents are.
        #[command(flatten)]
        place: ConsentPlace,
        /// Name of the task.
        #[arg(value_name = "TASK NAME")]
        name: String,
    },
    /// Say whether a plan would need consent: exit code 0 if not, else 18.
    #[command(after_help = "Example:\n\n    \
        $ terraform show -json plan.out >plan.json\n    \
        $ cts approvals test -plan plan.json -task edge-lb -config-file cts.hcl\n    \
        Rule: destroy, by `approval` of the task in the configuration\n    \
        Plan: 1 to destroy, 2 to create\n    \
        Needs the consent of a person:\n      \
        destroy aws_instance.old")]
    Test(TestPlan),
}

impl ApprovalsCommand {
    /// Whether the command needs no running cts, or does more than call one.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::List { place, .. }
            | Self::Show { place, .. }
            | Self::Approve(Approve { place, .. })
            | Self::Reject { place, .. }
            | Self::Reopen { place, .. } => place.is_store(),
            Self::Test(_) => true,
        }
    }
}

/// Options of the connection to the API, which mean nothing for a store or the files.
const CONNECTION: [&str; 8] = [
    "http_addr",
    "port",
    "ca_cert",
    "ca_path",
    "client_cert",
    "client_key",
    "ssl_verify",
    "token_file",
];

/// Help of `-store`: the environment names no store here.
const STORE: &str = "Store to work on: sqlite:PATH of a cts.db, or postgres://… Default: that of the configuration. \
    Without -store and -config-file the running cts is called";

/// Where consents are: behind the API of a running cts, unless a store or a configuration is named.
#[derive(Debug, Args)]
#[command(
    mut_arg("store", |store| store.help(STORE).conflicts_with_all(CONNECTION)),
    mut_arg("paths", |paths| paths.conflicts_with_all(CONNECTION))
)]
pub struct ConsentPlace {
    /// The store.
    #[command(flatten)]
    pub store: StorePlace,
    /// The way to the API, and how the result is printed.
    #[command(flatten)]
    pub query: QueryOptions,
}

impl ConsentPlace {
    fn is_store(&self) -> bool {
        self.store.store.is_some() || !self.store.configuration.paths.is_empty()
    }
}

/// `cts approvals test`.
#[derive(Debug, Args)]
#[command(mut_arg("paths", |paths| paths.conflicts_with_all(CONNECTION)))]
pub struct TestPlan {
    /// Names the rule; without it, a running cts names the rule that is in force.
    #[command(flatten)]
    pub configuration: Configuration,
    /// The way to the API, and how the result is printed.
    #[command(flatten)]
    pub query: QueryOptions,
    /// The plan: output of `terraform show -json` for a saved plan. Required.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub plan: PathBuf,
    /// Name of the task. Required.
    #[arg(long, value_name = "TASK NAME")]
    pub task: String,
}

/// `cts approvals approve`.
#[derive(Debug, Args)]
pub struct Approve {
    /// Where the consents are.
    #[command(flatten)]
    pub place: ConsentPlace,
    /// Fingerprint of the effect of one run, as `cts approvals show` shows it.
    #[arg(
        long,
        value_name = "FINGERPRINT",
        required_unless_present = "set",
        conflicts_with = "set"
    )]
    pub effect: Option<String>,
    /// Fingerprint of the set that `cts approvals list` has shown: all of it is approved, or nothing.
    #[arg(long, value_name = "FINGERPRINT")]
    pub set: Option<String>,
    /// Comment for those who look at it later.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub comment: String,
    /// With -effect: id of the run; the beginning is enough if only one run has it. With -set: pattern of the tasks, as
    /// given to `cts approvals list`.
    #[arg(value_name = "RUN ID|PATTERN")]
    pub id: String,
}
