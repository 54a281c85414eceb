//! The arguments of `cts task`, `cts status`, `cts audit` and `cts import` (docs/cli.md#options-of-all-of-them, #cts-task).

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

use super::options::{ClientOptions, QueryOptions, SourceOptions, configuration_files, path};
use super::runs::LogPart;

/// `cts task`.
///
/// The commands of the original take lists of names, because a wrong number of them has a text of its own.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Create a task in a running cts: show the request and the plan, ask, create and run.
    #[command(after_help = "Example:\n\n    \
        $ cts task create -task-file=web.hcl\n    \
        ==> Inspecting the changes for creating 'web'\n    \
        ...\n    \
        Enter a value: yes\n    \
        ...\n    \
        ==> Task 'web' created")]
    Create(Create),
    /// Replace a task by the one of the same name in a file: show what differs, ask, replace and run.
    #[command(after_help = "Example:\n\n    \
        $ cts task replace -task-file=web.hcl\n    \
        MEMBER   NOW    IN THE FILE\n    \
        version  1.2.0  1.3.0\n    \
        ...\n    \
        Enter a value: yes\n    \
        ...\n    \
        ==> Task 'web' replaced")]
    Replace(Replace),
    /// Delete a task. Its infrastructure stays, unless the task says otherwise.
    #[command(after_help = "Example:\n\n    \
        $ cts task delete -auto-approve web\n    \
        ==> Marking task 'web' for deletion...\n    \
        ==> Task 'web' has been marked for deletion and will be deleted when not running.")]
    Delete(Delete),
    /// Enable a task: show the plan and, if there are changes, ask and run.
    #[command(after_help = "Example:\n\n    \
        $ cts task enable web\n    \
        ==> Inspecting the changes for enabling 'web'\n    \
        ...\n    \
        Enter a value: yes\n    \
        ...\n    \
        ==> 'web' enable complete!")]
    Enable(Enable),
    /// Disable a task, so that it does not run when its condition is met.
    #[command(after_help = "Example:\n\n    \
        $ cts task disable web\n    \
        ==> Waiting to disable 'web'...\n\n    \
        ==> 'web' disable complete!")]
    Disable(Disable),
    /// List the tasks of a running cts with their status.
    List(ListTasks),
    /// Show one task: configuration, status and its last run.
    Show(OneTask),
    /// Say why a task ran, or why it does not: its state, what it waits for, its data and its runs.
    #[command(after_help = "Example:\n\n    \
        $ cts task explain web\n    \
        Task:   web\n    \
        State:  blind since 2026-02-03 10:15:30: health.service(web): cannot reach Consul")]
    Explain(OneTask),
    /// List the last runs of a task, newest first.
    Events(OneTask),
    /// Print what Terraform said in the newest run of a task.
    Logs(TaskLogs),
    /// Release a task that is blocked because services have lost most of their instances, or the brake of the fleet.
    #[command(after_help = "Examples:\n\n    \
        $ cts task release web\n    \
        'web' is released and runs with what is left:\n    \
        SERVICE  INSTANCES  APPLIED\n    \
        api      2          9\n    \
        $ cts task release -all\n    \
        ==> The brake of the fleet is set since 2026-02-03 10:15:30: 230 of 1,000 instances are lost, 41 tasks wait\n    \
        ...\n    \
        Enter a value: yes")]
    Release(Release),
    /// Show by what the Terraform state of a task is known, or decide with which state it goes on.
    #[command(after_help = "Examples:\n\n    \
        $ cts task state web\n    \
        Name      web\n    \
        Lineage   0b6ac7e1-8f5c-1f4b-6ad0-6f0a7d9f3c55\n    \
        Serial    12\n    \
        Moves     1\n    \
        Recorded  2026-02-03 10:15:30\n    \
        $ cts task state -keep=old web\n    \
        $ cts task state -from=earlier-name web")]
    State(State),
    /// Run an enabled task now, whatever its condition says, and tell how it went.
    Run(Run),
}

/// `cts task list`.
#[derive(Debug, Args)]
pub(crate) struct ListTasks {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// Only tasks in this state; may be given several times.
    #[arg(long = "state", value_name = "STATE", value_delimiter = ',', value_parser = PossibleValuesParser::new(STATES))]
    pub(crate) states: Vec<String>,
    /// Only tasks whose name, condition or module contains this text, in either case of its letters.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Sort by this column, and tasks with the same value by name.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort: Option<TaskColumn>,
    /// Show a page of names and states, of the tasks whose name contains this text, in either case of its letters.
    #[arg(long, value_name = "TEXT", conflicts_with = "filter")]
    pub(crate) search: Option<String>,
    /// Show this page of names and states, of 200 tasks. The server sorts pages, by name, state or since.
    #[arg(long, value_name = "NUMBER", conflicts_with = "filter", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) page: Option<u32>,
}

/// A column that tasks are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskColumn {
    /// Name of the task.
    Name,
    /// Its state.
    State,
    /// Begin of its state, the newest first.
    Since,
    /// Its status.
    Status,
    /// Whether it is enabled.
    Enabled,
    /// Its condition.
    Condition,
    /// Its module.
    Module,
}

/// The states of tasks, as the API has them.
const STATES: [&str; 12] = [
    "running",
    "waiting",
    "queued",
    "retrying",
    "blocked",
    "blind",
    "disabled",
    "deleting",
    "never_run",
    "successful",
    "errored",
    "critical",
];

/// `cts task create`.
#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
    /// File (.hcl or .json) with exactly one `task` block. Required.
    #[arg(long, value_name = "FILE", value_parser = path(), add = ArgValueCompleter::new(configuration_files()))]
    pub(crate) task_file: Option<PathBuf>,
    /// Do not ask.
    #[arg(long)]
    pub(crate) auto_approve: bool,
}

/// `cts task replace`.
#[derive(Debug, Args)]
pub(crate) struct Replace {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// File (.hcl or .json) with exactly one `task` block. Required.
    #[arg(long, value_name = "FILE", value_parser = path(), add = ArgValueCompleter::new(configuration_files()))]
    pub(crate) task_file: Option<PathBuf>,
    /// Do not ask.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Show what differs, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run the task also if it is blocked: its shrink limit and a cancelled input do not block the run.
    #[arg(long)]
    pub(crate) release: bool,
    /// Do not wait for the run.
    #[arg(long)]
    pub(crate) no_wait: bool,
}

/// `cts task delete`.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
    /// Do not ask.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Leave the infrastructure as it is, whatever the task says, also if it is being destroyed.
    #[arg(long)]
    pub(crate) retain: bool,
    /// Wait until the task is gone.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Name of the task.
    #[arg(value_name = "TASK NAME")]
    pub(crate) names: Vec<String>,
}

/// `cts task enable`.
#[derive(Debug, Args)]
pub(crate) struct Enable {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
    /// Do not ask.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// If the task runs, wait until it does not, instead of failing.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Name of the task.
    #[arg(value_name = "TASK NAME")]
    pub(crate) names: Vec<String>,
}

/// `cts task disable`.
#[derive(Debug, Args)]
pub(crate) struct Disable {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
    /// Name of the task.
    #[arg(value_name = "TASK NAME")]
    pub(crate) names: Vec<String>,
}

/// `cts task state`.
#[derive(Debug, Args)]
pub(crate) struct State {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// Which of two states is kept, after a run was refused because of both.
    #[arg(long, value_name = "WHICH", conflicts_with = "from")]
    pub(crate) keep: Option<KeptState>,
    /// Take the state of the task that had this name, and is gone.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Decide about every task whose state was refused, after one question.
    #[arg(long, requires = "keep", conflicts_with_all = ["from", "name"])]
    pub(crate) all: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Name of the task.
    #[arg(value_name = "TASK NAME", required_unless_present = "all")]
    pub(crate) name: Option<String>,
}

/// `cts task release`.
#[derive(Debug, Args)]
pub(crate) struct Release {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// Release the brake of the fleet, after one question: every task that it holds runs.
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// With -all: do not ask.
    #[arg(long, conflicts_with = "name")]
    pub(crate) auto_approve: bool,
    /// Name of the task.
    #[arg(value_name = "TASK NAME", required_unless_present = "all")]
    pub(crate) name: Option<String>,
}

/// `cts task run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// Show the run as it goes on: its status, what Terraform says, and in the end what it did.
    #[arg(long)]
    pub(crate) watch: bool,
    /// If the task runs already, wait until that run is over, instead of failing.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Print the id of the run, and do not wait for the run.
    #[arg(long, conflicts_with = "watch")]
    pub(crate) no_wait: bool,
    /// Name of the task.
    #[arg(value_name = "TASK NAME")]
    pub(crate) name: String,
}

/// One task and how the answer about it is printed.
#[derive(Debug, Args)]
pub(crate) struct OneTask {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// Name of the task.
    #[arg(value_name = "TASK NAME")]
    pub(crate) name: String,
}

/// `cts task logs`.
#[derive(Debug, Args)]
pub(crate) struct TaskLogs {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    #[command(flatten)]
    pub(crate) part: LogPart,
    /// Name of the task.
    #[arg(value_name = "TASK NAME")]
    pub(crate) name: String,
}

/// `cts status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// Show it again every two seconds, until Ctrl-C.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Show how long changes took until they were applied, and each phase of their way.
    #[arg(long)]
    pub(crate) times: bool,
    /// How far back, with -times: up to 192h, in minutes up to 1h, in hours beyond 6h.
    #[arg(long, value_name = "TIME", default_value = "24h", requires = "times")]
    pub(crate) since: String,
}

/// `cts audit`.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(flatten)]
    pub(crate) query: QueryOptions,
    /// At most this number of records, up to 1000.
    #[arg(long, value_name = "NUMBER", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    /// Only records before the one of this number.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) before: Option<u64>,
}

/// Which of two states is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeptState {
    /// That of the old backend.
    Old,
    /// What is in the new backend.
    New,
}

/// `cts import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(flatten)]
    pub(crate) source: SourceOptions,
    /// Say what would be done, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Create every task disabled, so that only the source works on the infrastructure until it is stopped.
    #[arg(long)]
    pub(crate) disabled: bool,
    /// Replace a task that is here already and is different.
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) query: QueryOptions,
}

#[cfg(test)]
mod tests {
    use cts_proto::json::Word;
    use cts_proto::task::v1::CurrentStateName;

    use super::STATES;

    #[test]
    fn every_state_of_the_api_can_be_asked_for() {
        let states = (1..).map_while(|value| CurrentStateName::try_from(value).ok());
        let words: Vec<String> = states.map(Word::word).collect();
        assert_eq!(words, STATES);
    }
}
