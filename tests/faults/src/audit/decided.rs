//! Runs that persons have ended on the server, and what was requested for them afterwards.

use std::collections::BTreeSet;

use super::record::Audit;
use crate::violation::{Rule, Violation};

/// A remote run that a person has discarded or cancelled, as the server confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Name of the task.
    pub task: String,
    /// Id of the run of cts.
    pub run: String,
    /// Id of the remote run.
    pub remote: String,
    /// When, in hundredths of a second since the machine was started.
    pub at: u64,
}

/// Ids of the remote runs of a task, the oldest first, each with the id of its run of cts.
pub type RemoteRuns = Vec<(String, String)>;

/// Decisions after which the server made another remote run for the same run of cts, although its input stayed the
/// same.
pub fn decisions(
    audit: &Audit,
    decided: &[Decided],
    of_task: impl Fn(&str) -> RemoteRuns,
) -> Vec<Violation> {
    let requested_again = |one: &&Decided| {
        let runs = of_task(&one.task);
        let later = runs
            .iter()
            .skip_while(|(remote, _)| *remote != one.remote)
            .skip(1);
        later.map(|(_, run)| run).any(|run| *run == one.run)
    };
    let has_one_input = |one: &&Decided| {
        let writes = audit.runs.iter().filter(|write| write.run == one.run);
        let inputs: BTreeSet<&str> = writes.map(|write| &*write.input).collect();
        inputs.len() == 1
    };
    let broken = decided.iter().filter(has_one_input).filter(requested_again);
    broken
        .map(|one| {
            let evidence = format!("a remote run was requested again after {one:?}");
            Violation::new(Rule::CancelledStays, &one.task, evidence)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::{RunState, RunWrite};
    use super::*;

    fn check(inputs: &[&str], remote_runs: &[(&str, &str)]) -> usize {
        let write = |input: &&str| RunWrite {
            at: 0,
            run: "r".to_owned(),
            task: "t".to_owned(),
            kind: "apply".to_owned(),
            input: (*input).to_owned(),
            old: None,
            new: RunState {
                status: "queued".to_owned(),
                epoch: 0,
                holder: None,
                expires: None,
            },
            due: 0,
            requested: false,
            ordered: false,
        };
        let audit = Audit {
            runs: inputs.iter().map(write).collect(),
            ..Audit::default()
        };
        let decided = Decided {
            task: "t".to_owned(),
            run: "r".to_owned(),
            remote: "run-2".to_owned(),
            at: 0,
        };
        let runs = remote_runs.iter().copied();
        let runs: RemoteRuns = runs
            .map(|(id, run)| (id.to_owned(), run.to_owned()))
            .collect();
        decisions(&audit, &[decided], |_task| runs.clone()).len()
    }

    #[test]
    fn a_run_that_a_person_ended_has_no_further_remote_run() {
        let ended = [("run-1", "r"), ("run-2", "r")];
        assert_eq!(check(&["i"], &ended), 0);
        assert_eq!(check(&["i"], &[ended[0], ended[1], ("run-3", "s")]), 0);
        let again = [ended[0], ended[1], ("run-3", "r")];
        assert_eq!(check(&["i"], &again), 1);
        assert_eq!(check(&["i", "j"], &again), 0, "a newer input was wanted");
    }
}
