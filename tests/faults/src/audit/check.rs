//! Proofs from the writes to the database.

use std::collections::BTreeMap;

use super::record::{Audit, LeaderWrite, RunState, RunWrite};
use crate::clock::DAY;
use crate::observed::sightings::Sighting;
use crate::violation::{Rule, Violation};

const FINISHED: [&str; 3] = ["succeeded", "failed", "cancelled"];

/// Step of the epochs of waiting runs after a failover, larger than any number of epochs granted and forgotten.
const EPOCH_STEP: i64 = 1_000_000;

/// A day, in microseconds.
const DAY_MICROS: i64 = DAY * 1_000_000;

/// Room for the difference between the clocks, in microseconds.
const TOLERANCE: i64 = 300_000;

/// Each run's epochs, statuses and holders.
///
/// Also checks that at most one run of a task is running, that none begins while its task is disabled, and that
/// a worker that reported a success had worked under the lease that was valid then, unless a server works for it.
pub fn runs(audit: &Audit, sightings: &[Sighting], workers_work: bool) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut running: BTreeMap<&str, &RunWrite> = BTreeMap::new();
    for write in &audit.runs {
        violations.extend(broken_write(write));
        let was_running = write
            .old
            .as_ref()
            .is_some_and(|old| old.status == "running");
        let runs_now = write.new.status == "running";
        if runs_now && !was_running {
            if let Some(other) = running.insert(&write.task, write) {
                violations.push(Violation::new(
                    Rule::OneRunAtATime,
                    &write.task,
                    format!("{write:?} while {other:?}"),
                ));
            }
            // Plans and checks change nothing, and a task is checked before it is enabled.
            if write.kind == "apply" && !write.new.awaits_ending() && !was_enabled(audit, write) {
                violations.push(Violation::new(
                    Rule::NothingLost,
                    &write.task,
                    format!("disabled, but {write:?}"),
                ));
            }
        } else if was_running && !runs_now {
            let granted = running.remove(&*write.task);
            // Only of a run that was granted before can another have been overtaken; and a look
            // at all processes may miss a very short work.
            // A check may find that everything was checked before, and start nothing.
            let again = workers_work && write.new.epoch > 1 && write.kind == "apply";
            if again
                && write.new.status == "succeeded"
                && !has_worked(audit, granted, write, sightings)
            {
                violations.push(Violation::new(
                    Rule::NoStaleWrite,
                    &write.task,
                    format!(
                        "a success, granted by {granted:?}, of one that did not work: {write:?}"
                    ),
                ));
            }
        }
    }
    violations
}

/// The violation that a single write shows.
fn broken_write(write: &RunWrite) -> Option<Violation> {
    let stale = |why: &str| {
        let evidence = format!("{why}: {write:?}");
        Some(Violation::new(Rule::NoStaleWrite, &write.task, evidence))
    };
    let Some(old) = &write.old else {
        return None;
    };
    let new = &write.new;
    // A run whose remote run is to be ended has no holder until a worker does that, also after one that did not.
    let grant = new.status == "running"
        && !new.awaits_ending()
        && (old.status == "queued" || old.awaits_ending());
    if FINISHED.contains(&&*old.status) && old.status != new.status {
        return stale("a finished run changes");
    }
    let waits = |state: &RunState| state.status == "queued" || state.awaits_ending();
    let beyond_the_forgotten =
        waits(old) && old.status == new.status && new.epoch == old.epoch + EPOCH_STEP;
    if new.epoch != old.epoch + i64::from(grant) && !beyond_the_forgotten {
        return stale("the epoch changes without a grant, or not with it");
    }
    if old.status == "running" && new.status == "running" && !grant && !new.awaits_ending() {
        if old.holder != new.holder {
            return stale("the holder changes without a grant");
        }
        // A lease by a clock that was days ahead is brought back.
        let is_sound = old
            .expires
            .is_none_or(|expires| expires - write.at < DAY_MICROS / 2);
        if new.expires < old.expires && is_sound {
            return stale("a lease becomes shorter");
        }
    }
    None
}

fn was_enabled(audit: &Audit, grant: &RunWrite) -> bool {
    // Both lock the task's row, and the clock is read under the lock.
    let mut switches = audit.switches.iter();
    let last = switches.rfind(|switched| switched.task == grant.task && switched.at < grant.at);
    last.is_none_or(|switched| switched.enabled == Some(true))
}

/// Whether the holder's Terraform was at work between the grant and the end.
fn has_worked(
    audit: &Audit,
    granted: Option<&RunWrite>,
    end: &RunWrite,
    sightings: &[Sighting],
) -> bool {
    let holder = end.old.as_ref().and_then(|old| old.holder.as_deref());
    let (Some(granted), Some(holder)) = (granted, holder) else {
        return false;
    };
    let by_database = |hundredths: u64| audit.by_database(hundredths);
    granted.run == end.run
        && sightings.iter().any(|sighting| {
            sighting.task == end.task
                && sighting.may_be_of(holder)
                && by_database(sighting.from) <= end.at + TOLERANCE
                && by_database(sighting.until) >= granted.at - TOLERANCE
        })
}

/// At most one leads, and none before its time.
pub fn leaders(writes: &[LeaderWrite]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut newest = 0;
    for write in writes {
        let [old, new] = write.epochs;
        let [before, after] = &write.holders;
        let mut broken = |why: &str| {
            let evidence = format!("{why}: {write:?}");
            violations.push(Violation::new(Rule::OneLeader, "leadership", evidence));
        };
        if new < old || old < newest {
            broken("an epoch becomes smaller");
        }
        if new == old && after.is_some() && after != before {
            broken("another leads in the same epoch");
        }
        let taken = before.is_some() && after.is_some() && after != before;
        if taken && write.expires[0] > write.at {
            broken("the leadership is taken before it has expired");
        }
        newest = newest.max(new);
    }
    violations
}

/// Checks that each run has at most one event.
pub fn lone_events(events: &[(String, String, String)]) -> Vec<Violation> {
    let mut of_runs: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, run, _) in events {
        *of_runs.entry(run).or_default() += 1;
    }
    let several = of_runs.into_iter().filter(|&(_, count)| count > 1);
    several
        .map(|(run, count)| {
            Violation::new(
                Rule::NoStaleWrite,
                run,
                format!("{count} events of one run"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests;
