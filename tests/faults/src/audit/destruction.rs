//! Resources that were destroyed with a task, and resources that were not.

use std::collections::BTreeSet;

use super::deletion::{Orphans, lives};
use super::record::{Audit, RunWrite};
use crate::journal::{Line, Word};
use crate::observed::sightings::Sighting;
use crate::violation::{Rule, Violation};

/// Room for the difference between the clocks, in microseconds.
const TOLERANCE: i64 = 300_000;

/// A task that is not there in the end.
#[derive(Debug)]
pub struct Remains<'a> {
    /// Its name.
    pub task: &'a str,
    /// Its deletion destroys its resources.
    pub destroys: bool,
    /// The task was deleted, and not created since; otherwise a creation may have failed.
    pub deleted: bool,
    /// The resources in its state; `None` without a state.
    pub resources: Option<BTreeSet<String>>,
}

impl Remains<'_> {
    /// Whether its state is there, without resources.
    pub fn is_destroyed(&self) -> bool {
        self.resources.as_ref().is_some_and(BTreeSet::is_empty)
    }
}

fn broken(task: &str, evidence: String) -> Violation {
    Violation::new(Rule::DestroyedWithItsTask, task, evidence)
}

/// Grants of runs of a task that change its resources, in order.
fn grants<'a>(audit: &'a Audit, task: &str) -> impl DoubleEndedIterator<Item = &'a RunWrite> {
    let begins = |write: &&RunWrite| {
        let was_queued = write.old.as_ref().is_some_and(|old| old.status == "queued");
        was_queued && write.new.status == "running"
    };
    let changes = |write: &&RunWrite| matches!(&*write.kind, "apply" | "destroy");
    let of_task = audit.runs.iter().filter(move |write| write.task == task);
    of_task.filter(changes).filter(begins)
}

/// Resources of a task that were destroyed by its journal, although the run that was granted last did not
/// destroy.
pub fn destructions(
    audit: &Audit,
    task: &str,
    lines: &[Line],
    orphans: &Orphans,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    for line in lines.iter().filter(|line| line.word == Word::Gone) {
        let at = audit.by_database(line.at);
        let forgotten = |time: &super::Outage| time.from <= at && at <= time.until;
        if orphans.forgotten.iter().any(forgotten) {
            continue;
        }
        let last = grants(audit, task).rfind(|grant| grant.at - TOLERANCE <= at);
        if last.is_none_or(|grant| grant.kind != "destroy") {
            let evidence =
                format!("{line:?} by the database at {at}, but the last grant is {last:?}");
            violations.push(broken(task, evidence));
        }
    }
    violations
}

/// Difference between the state of a deleted task and the state that its deletion should leave.
pub fn destroyed(
    audit: &Audit,
    remains: &Remains<'_>,
    sightings: &[Sighting],
    orphans: &Orphans,
) -> Option<Violation> {
    let task = remains.task;
    if !remains.destroys {
        let applied = |write: &RunWrite| {
            write.task == task && write.kind == "apply" && write.new.status == "succeeded"
        };
        let empty = remains.resources.as_ref().is_none_or(BTreeSet::is_empty);
        return (empty && audit.runs.iter().any(applied))
            .then(|| broken(task, "it was to stay and is gone".to_owned()));
    }
    let life = lives(audit, task).pop()?;
    let applies = grants(audit, task)
        .any(|grant| grant.kind == "apply" && life.from <= grant.at && grant.at <= life.until);
    if !remains.deleted || !applies {
        return None;
    }
    let mut ends = audit.runs.iter();
    let end = ends.rfind(|write| {
        write.task == task
            && write.kind == "destroy"
            && write.new.status == "succeeded"
            && life.from <= write.at
    });
    let Some(end) = end else {
        let evidence = format!("it went without a destruction that succeeded, life {life:?}");
        return Some(broken(task, evidence));
    };
    // Terraform of a worker that was killed with its guard may have made it afterwards.
    let worked_on = |seen: &Sighting| {
        let until = audit.by_database(seen.until);
        seen.task == task && until > end.at - TOLERANCE && orphans.has(seen)
    };
    let left = remains.resources.as_ref()?;
    (!left.is_empty() && !sightings.iter().any(worked_on)).then(|| {
        broken(
            task,
            format!("it was to be destroyed by {end:?}, and {left:?} is left"),
        )
    })
}

#[cfg(test)]
mod tests;
