//! Checks that a cancelled run stays cancelled, and that its input waits for the next change or request.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{Audit, RunWrite};
use crate::violation::{Rule, Violation};

/// Room for the difference between the clocks, in microseconds.
const TOLERANCE: i64 = 300_000;

/// A request to cancel a run that the API has confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// Id of the run.
    pub run: String,
    /// Its task.
    pub task: String,
    /// When the answer was there, in hundredths of a second since the machine was started.
    pub answered: u64,
    /// The run was cancelled by then; otherwise it may have ended in another way, or its worker has the order
    /// to stop it.
    pub withdrawn: bool,
}

/// Cancelled runs that were leased again or did not end, and applies of their inputs that were queued without a
/// request. If takeovers run all tasks, they run these too.
pub fn cancels(audit: &Audit, confirmed: &[Confirmed], takeover_runs_all: bool) -> Vec<Violation> {
    let mut violations = begun_again(audit);
    violations.extend(confirmed.iter().filter_map(|one| unfulfilled(audit, one)));
    if !takeover_runs_all {
        violations.extend(withheld(audit, confirmed));
    }
    violations
}

fn broken(task: &str, evidence: String) -> Violation {
    Violation::new(Rule::CancelledStays, task, evidence)
}

fn was(write: &RunWrite, status: &str) -> bool {
    write.old.as_ref().is_some_and(|old| old.status == status)
}

/// Runs with an order to stop that went back to the queue, or were leased again. A lease that only ends a remote run
/// is none of these: its run was running before, without a holder.
fn begun_again(audit: &Audit) -> Vec<Violation> {
    let mut ordered: BTreeSet<&str> = BTreeSet::new();
    let mut violations = Vec::new();
    for write in &audit.runs {
        let back = write.ordered
            && was(write, "running")
            && write.new.status == "queued"
            && !write.is_suspended();
        let leased = was(write, "queued")
            && write.new.status == "running"
            && !write.new.awaits_ending()
            && write.kind != "destroy"
            && ordered.contains(&*write.run);
        if back || leased {
            let evidence = format!("its run was to be stopped, and goes on: {write:?}");
            violations.push(broken(&write.task, evidence));
        }
        if write.ordered {
            ordered.insert(&write.run);
        }
    }
    violations
}

/// How the database contradicts an answer. A destruction that was suspended may go on.
fn unfulfilled(audit: &Audit, confirmed: &Confirmed) -> Option<Violation> {
    let answered = audit.by_database(confirmed.answered) + TOLERANCE;
    let of_run = || audit.runs.iter().filter(|one| one.run == confirmed.run);
    let last = of_run().next_back()?;
    if last.kind == "destroy" {
        return None;
    }
    let leased = of_run().find(|one| {
        let began = was(one, "queued") && one.new.status == "running";
        one.at > answered && began && !one.new.awaits_ending()
    });
    let right: &[&str] = if confirmed.withdrawn {
        &["cancelled"]
    } else {
        &["succeeded", "failed", "cancelled"]
    };
    let why = match leased {
        Some(lease) => format!("it was leased again: {lease:?}"),
        None if !right.contains(&&*last.new.status) => format!("it has not ended: {last:?}"),
        None => return None,
    };
    let evidence = format!("{why}, although this was confirmed: {confirmed:?}");
    Some(broken(&confirmed.task, evidence))
}

/// Inputs of cancelled applies by task, until something else is wanted.
#[derive(Debug, Default)]
struct Withheld<'a> {
    inputs: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// The queued run that applies, by task, with its input.
    queued: BTreeMap<&'a str, (&'a str, &'a str)>,
}

/// Applies of a withheld input that were queued without a request.
fn withheld(audit: &Audit, confirmed: &[Confirmed]) -> Vec<Violation> {
    let withdrawn: BTreeSet<&str> = confirmed
        .iter()
        .filter(|one| one.withdrawn)
        .map(|one| &*one.run)
        .collect();
    let mut ends = ends_of_withholding(audit).into_iter().peekable();
    let mut state = Withheld::default();
    let mut violations = Vec::new();
    for write in audit.runs.iter().filter(|write| write.kind == "apply") {
        while let Some((_, task)) = ends.next_if(|(at, _)| *at < write.at) {
            state.inputs.remove(task);
        }
        violations.extend(state.follow(write, withdrawn.contains(&*write.run)));
    }
    violations
}

/// Moments at which nothing of a task was withheld any more, whatever happened to its runs, in order.
fn ends_of_withholding(audit: &Audit) -> Vec<(i64, &str)> {
    // A skipped input differs from the one that is withheld, and is then the newer one.
    let skips = audit.skips.iter().map(|skip| (skip.at, &*skip.task));
    let switches = audit.switches.iter();
    let switches = switches.filter(|switched| switched.enabled != Some(false));
    let mut ends: Vec<_> = switches
        .map(|one| (one.at, &*one.task))
        .chain(skips)
        .collect();
    ends.sort_unstable();
    ends
}

impl<'a> Withheld<'a> {
    fn follow(&mut self, write: &'a RunWrite, withdrawn: bool) -> Option<Violation> {
        let (task, run, input) = (&*write.task, &*write.run, &*write.input);
        let own = self.queued.get(task).filter(|(queued, _)| *queued == run);
        if write.new.status == "queued" {
            let changed = own.is_none_or(|(_, before)| *before != input);
            self.queued.insert(task, (run, input));
            let inputs = if changed && !was(write, "running") {
                self.inputs.remove(task)
            } else {
                None
            };
            let unasked = write.old.is_none() && !write.requested;
            let withheld = inputs.is_some_and(|inputs| inputs.contains(input));
            return (unasked && withheld).then(|| {
                broken(
                    task,
                    format!("a run of this input was cancelled, and nothing else was wanted since: {write:?}"),
                )
            });
        }
        if own.is_some() {
            self.queued.remove(task);
        }
        let stopped = write.ordered
            && was(write, "running")
            && matches!(&*write.new.status, "failed" | "cancelled")
            && !self.queued.contains_key(task);
        let taken = withdrawn && was(write, "queued") && write.new.status == "cancelled";
        if stopped || taken {
            self.inputs.entry(task).or_default().insert(input);
        }
        None
    }
}

#[cfg(test)]
mod tests;
