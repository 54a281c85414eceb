//! Applies of inputs that were already applied.

use std::collections::BTreeMap;

use super::record::{Audit, RunWrite};
use super::starvation::Outage;
use crate::observed::sightings::Sighting;
use crate::violation::{Rule, Violation};

/// Leases, without a request, of applies with the input of the last apply of the same task, which had
/// succeeded.
///
/// An input counts as applied only until another attempt begins, and only for the same task, not for another
/// task of that name. After a switch to another timeline it does not count for tasks for which Terraform was at
/// work in the period that is `forgotten`, or for any task if a worker did not vouch for them.
pub fn equal_inputs(audit: &Audit, sightings: &[Sighting], forgotten: &[Outage]) -> Vec<Violation> {
    let mut deleted = audit
        .switches
        .iter()
        .filter(|switched| switched.enabled.is_none())
        .peekable();
    let mut applied: BTreeMap<&str, &RunWrite> = BTreeMap::new();
    let mut violations = Vec::new();
    for write in audit.runs.iter().filter(|write| write.kind == "apply") {
        while let Some(gone) = deleted.next_if(|gone| gone.at < write.at) {
            applied.remove(&*gone.task);
        }
        let was_running = write
            .old
            .as_ref()
            .is_some_and(|old| old.status == "running");
        match (was_running, &*write.new.status) {
            (false, "running") => {
                let before = applied.remove(&*write.task);
                if let Some(before) = before
                    && before.input == write.input
                    && !write.requested
                    && !is_lost(audit, (before, write), sightings, forgotten)
                {
                    let evidence = format!("applied once more: {write:?}");
                    violations.push(Violation::new(Rule::NothingTwice, &write.task, evidence));
                }
            }
            (true, "succeeded") => {
                applied.insert(&write.task, write);
            }
            _ => {}
        }
    }
    violations
}

/// Whether another run between these two may be lost with the timeline.
fn is_lost(
    audit: &Audit,
    (success, lease): (&RunWrite, &RunWrite),
    sightings: &[Sighting],
    forgotten: &[Outage],
) -> bool {
    let between = |at: i64| success.at < at && at < lease.at;
    let distrusted = audit.settlements.iter();
    if distrusted
        .filter(|settled| !settled.trusted)
        .any(|settled| between(settled.at))
    {
        return true;
    }
    let of_task = sightings.iter().filter(|seen| seen.task == lease.task);
    of_task
        .map(|seen| (audit.by_database(seen.from), audit.by_database(seen.until)))
        .filter(|&(from, until)| success.at < until && from < lease.at)
        .any(|(from, until)| {
            let overlaps = |time: &Outage| time.from <= until && from <= time.until;
            forgotten.iter().any(overlaps)
        })
}
