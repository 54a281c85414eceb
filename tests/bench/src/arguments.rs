//! The command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

/// Measures cts with a real Consul and a real Terraform, all of which it starts and ends itself.
///
/// Consul is `CTS_TEST_CONSUL` or `consul` on the PATH, Terraform is `CTS_TEST_TERRAFORM` or `terraform` on
/// the PATH; scripts/setup gets them. Figures mean little while the machine does something else.
#[derive(Debug, Parser)]
#[command(name = "cts-bench", disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) scenario: Scenario,
    #[command(flatten)]
    pub(crate) general: General,
}

/// What holds for every scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct General {
    /// Print one JSON object per line: scenario, metric, value, unit.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Measure this executable instead of building target/release/cts.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) cts: Option<PathBuf>,
    /// Keep the files (configuration, task directories, log of cts) and say where they are.
    #[arg(long, global = true)]
    pub(crate) keep: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Scenario {
    /// From a write to Consul to the applied run, one change at a time.
    ///
    /// One task on one service, no buffer, state in Consul, a local module with one `terraform_data`
    /// per instance. A change registers an instance with a new port and new metadata. All times begin
    /// just before the request that registers it is sent: "wakeup" ends when a bare blocking query of
    /// this program, like the one of cts, is answered; "start" when the Terraform process runs (an
    /// executable of ours notes the moment and becomes Terraform); "applied" when cts tells over gRPC
    /// that the run has succeeded. After each change the same apply is done by hand: `terraform
    /// apply` with the same arguments, environment and variables in a copy of the task's directory, in a
    /// workspace of its own. `apply_ratio` is applied / by hand, both medians. Between all of these is
    /// a pause of 150 to 250 ms (the same sequence every time), so that neither Consul's rate limits
    /// nor the 100 ms that cts leaves between two requests are measured.
    ChangeToApply {
        /// Number of changes.
        #[arg(long, default_value_t = 200, value_parser = positive())]
        changes: u32,
        /// Instances of the service.
        #[arg(long, default_value_t = 10, value_parser = positive())]
        instances: u32,
        /// Repetitions of the whole, from new; each figure is the median.
        #[arg(long, default_value_t = 1, value_parser = positive())]
        rounds: u32,
    },
    /// One change that makes many tasks run.
    ///
    /// All tasks watch one service, no buffer. `seconds` is from the write to the last applied run,
    /// `by_hand_seconds` the same applies in copies of the prepared directories, two at a time. The
    /// two alternate; medians.
    FanOut {
        /// Number of tasks.
        #[arg(long, default_value_t = 50, value_parser = positive())]
        tasks: u32,
        /// Number of changes.
        #[arg(long, default_value_t = 5, value_parser = positive())]
        rounds: u32,
        /// One module for all tasks or one for each.
        #[arg(long, default_value = "shared")]
        modules: Modules,
    },
    /// The first pass over many tasks.
    ///
    /// `seconds` is from starting cts in a new directory until every task is applied;
    /// `by_hand_seconds` is `terraform init`, `workspace new` and `apply` in as many new directories
    /// with the same files, one after another. Medians of the rounds.
    StartUp {
        /// Number of tasks.
        #[arg(long, default_value_t = 100, value_parser = positive())]
        tasks: u32,
        /// Repetitions.
        #[arg(long, default_value_t = 3, value_parser = positive())]
        rounds: u32,
        /// One module for all tasks or one for each.
        #[arg(long, default_value = "shared")]
        modules: Modules,
    },
}

/// Where the tasks' modules are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Modules {
    /// One directory for all.
    Shared,
    /// A copy for each task.
    Distinct,
}

impl Scenario {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::ChangeToApply { .. } => "change-to-apply",
            Self::FanOut { .. } => "fan-out",
            Self::StartUp { .. } => "start-up",
        }
    }

    pub(crate) fn names() -> Vec<String> {
        Arguments::command()
            .get_subcommands()
            .map(|scenario| scenario.get_name().to_owned())
            .collect()
    }
}

fn positive() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_follow_the_scenario() {
        let words = ["cts-bench", "fan-out", "--json", "--tasks", "3"];
        let arguments = Arguments::try_parse_from(words).unwrap();
        assert!(arguments.general.json);
        assert!(matches!(
            arguments.scenario,
            Scenario::FanOut { tasks: 3, .. }
        ));
    }

    #[test]
    fn every_scenario_is_listed_under_its_name() {
        for name in Scenario::names() {
            let arguments = Arguments::try_parse_from(["cts-bench", &name]).unwrap();
            assert_eq!(arguments.scenario.name(), name);
        }
        assert_eq!(Scenario::names().len(), 3);
    }

    #[test]
    fn zero_of_anything_is_refused() {
        assert!(Arguments::try_parse_from(["cts-bench", "fan-out", "--tasks", "0"]).is_err());
    }
}
