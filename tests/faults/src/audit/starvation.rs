//! Waits of due runs, and whether any of them starved.
//!
//! A run waits from the moment at which it could have been leased (it is due, its task is enabled and has no
//! other run at work) until it is leased or withdrawn. Waiting is no fault while nothing can be leased (an
//! outage) or all slots are taken; the rest of a wait has a bound. Moreover, a run must not be passed over
//! again and again by runs that have waited for less.

use std::collections::BTreeMap;

use super::record::{Audit, RunWrite};
use crate::violation::{Rule, Violation};

/// A row that is locked for a moment is passed over; more passes than this are a violation.
const PASSES: usize = 5;

/// A time in which nothing can be leased, or too little is left to speak of starvation; microseconds by the database's
/// clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Begin.
    pub from: i64,
    /// End.
    pub until: i64,
}

/// The bounds for waits; microseconds.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// The longest wait with a free slot outside of outages.
    pub wait: i64,
    /// Times in which nothing can be leased.
    pub outages: Vec<Outage>,
    /// The outages in which runs are not leased in the order in which they came: some wait for blocks of their
    /// workers, or the database's clock, which orders them, jumps.
    pub settling: Vec<Outage>,
    /// Number of slots, each with the moment from which it holds, by time.
    pub slots: Vec<(i64, usize)>,
}

/// The wait of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wait {
    /// Its task.
    pub task: String,
    /// Its id.
    pub run: String,
    /// Begin.
    pub since: i64,
    /// End.
    pub until: i64,
    /// The wait ended with a lease; otherwise the run was withdrawn, or the wait lasts.
    pub leased: bool,
    /// The part of the wait outside of outages and with a free slot.
    pub idle: i64,
}

/// The longest waits of due runs.
#[derive(Debug, Clone, Default)]
pub struct Starvation {
    /// The longest wait.
    pub longest: Wait,
    /// The wait with the longest part that is judged.
    pub longest_idle: Wait,
    /// The violations.
    pub violations: Vec<Violation>,
}

/// Judges all waits; waits that have not ended last until `end`.
pub fn starvation(audit: &Audit, bounds: &Bounds, end: i64) -> Starvation {
    let mut waits = waits(audit, end);
    let idle = IdleTime::new(audit, bounds);
    for wait in &mut waits {
        wait.idle = idle.before(wait.until) - idle.before(wait.since);
    }
    let mut violations: Vec<Violation> = waits
        .iter()
        .filter(|wait| wait.idle > bounds.wait)
        .map(|wait| {
            let evidence = format!(
                "waited for {} ms with a free slot and without an outage, {} ms are the bound: {wait:?}",
                wait.idle / 1000,
                bounds.wait / 1000
            );
            Violation::new(Rule::NothingStarves, &wait.task, evidence)
        })
        .collect();
    let settled = waits.iter().filter(|wait| {
        let overlaps = |time: &Outage| time.from <= wait.until && wait.since <= time.until;
        !bounds.settling.iter().any(overlaps)
    });
    let settled: Vec<&Wait> = settled.collect();
    violations.extend(passed_over(&settled, bounds.wait));
    let longest = |of: fn(&Wait) -> i64| waits.iter().max_by_key(|wait| of(wait));
    Starvation {
        longest: longest(|wait| wait.until - wait.since)
            .cloned()
            .unwrap_or_default(),
        longest_idle: longest(|wait| wait.idle).cloned().unwrap_or_default(),
        violations,
    }
}

/// Runs that others overtook which had waited for less, by more than `room`.
fn passed_over(waits: &[&Wait], room: i64) -> Vec<Violation> {
    let passes = |wait: &&&Wait| {
        let overtakes = |other: &&&Wait| {
            other.leased
                && wait.since + room < other.since
                && other.until < wait.until
                && other.task != wait.task
        };
        waits.iter().filter(overtakes).count() > PASSES
    };
    let passed = waits.iter().filter(passes);
    passed
        .map(|wait| {
            let evidence = format!("passed over again and again: {wait:?}");
            Violation::new(Rule::NothingStarves, &wait.task, evidence)
        })
        .collect()
}

fn waits(audit: &Audit, end: i64) -> Vec<Wait> {
    let mut waits = Vec::new();
    let mut queued: BTreeMap<&str, (&str, i64)> = BTreeMap::new();
    // By task: the run at work, and when the last one ended.
    let mut running: BTreeMap<&str, &str> = BTreeMap::new();
    let mut free_since: BTreeMap<&str, i64> = BTreeMap::new();
    let mut add = |task: &str, run: &str, since: i64, until: i64, leased: bool| {
        let enabled = enabled_since(audit, task, until);
        if let Some(since) = enabled.map(|enabled| since.max(enabled))
            && since < until
        {
            waits.push(Wait {
                task: task.to_owned(),
                run: run.to_owned(),
                since,
                until,
                leased,
                idle: 0,
            });
        }
    };
    for write in &audit.runs {
        let (task, run) = (&*write.task, &*write.run);
        let was = write.old.as_ref().map(|old| &*old.status);
        if was == Some("running")
            && write.new.status != "running"
            && running.get(task) == Some(&run)
        {
            running.remove(task);
            free_since.insert(task, write.at);
        }
        if write.new.status == "queued" {
            let since = match queued.get(run) {
                // The run was already due: a later change of its time does not make its wait shorter.
                Some(&(_, since)) if since <= write.at && !write.is_held() => since,
                _ => write.due.max(write.at),
            };
            queued.insert(run, (task, since));
        } else if let Some((_, since)) = queued.remove(run)
            && !running.contains_key(task)
        {
            let free = free_since.get(task).copied().unwrap_or_default();
            let leased = write.new.status == "running";
            add(task, run, since.max(free), write.at, leased);
        }
        if write.new.status == "running" {
            running.insert(task, run);
        }
    }
    for (run, (task, since)) in queued {
        let free = free_since.get(task).copied().unwrap_or_default();
        if !running.contains_key(task) {
            add(task, run, since.max(free), end, false);
        }
    }
    waits
}

/// Since when a task is enabled at a moment; `None` if it is not.
fn enabled_since(audit: &Audit, task: &str, at: i64) -> Option<i64> {
    let mut since = Some(0);
    for switched in &audit.switches {
        if switched.task == task && switched.at <= at {
            since = match (switched.enabled, since) {
                (Some(true), Some(since)) => Some(since),
                (Some(true), None) => Some(switched.at),
                _ => None,
            };
        }
    }
    since
}

/// Sums up the time outside of outages in which a slot was free.
struct IdleTime {
    /// Moments with the idle time before each, and whether it goes on from there.
    steps: Vec<(i64, i64, bool)>,
}

impl IdleTime {
    fn new(audit: &Audit, bounds: &Bounds) -> Self {
        enum Change {
            Running(i64),
            Outages(i64),
            Slots(usize),
        }
        let mut changes: Vec<(i64, Change)> = Vec::new();
        for write in &audit.runs {
            changes.extend(change_of_running(write).map(|by| (write.at, Change::Running(by))));
        }
        for outage in &bounds.outages {
            changes.push((outage.from, Change::Outages(1)));
            changes.push((outage.until, Change::Outages(-1)));
        }
        let slots = bounds.slots.iter();
        changes.extend(slots.map(|&(at, slots)| (at, Change::Slots(slots))));
        changes.sort_by_key(|(at, _)| *at);
        let (mut running, mut outages, mut slots) = (0, 0, 0);
        let mut steps: Vec<(i64, i64, bool)> = Vec::new();
        for (at, change) in changes {
            match change {
                Change::Running(by) => running += by,
                Change::Outages(by) => outages += by,
                Change::Slots(now) => slots = i64::try_from(now).unwrap_or(i64::MAX),
            }
            let before = steps.last().map_or(
                0,
                |&(since, sum, idle)| {
                    if idle { sum + at - since } else { sum }
                },
            );
            steps.push((at, before, outages == 0 && running < slots));
        }
        Self { steps }
    }

    /// Idle time before a moment.
    fn before(&self, at: i64) -> i64 {
        let after = self.steps.partition_point(|&(moment, ..)| moment <= at);
        let last = after.checked_sub(1).and_then(|last| self.steps.get(last));
        last.map_or(
            0,
            |&(since, sum, idle)| {
                if idle { sum + at - since } else { sum }
            },
        )
    }
}

fn change_of_running(write: &RunWrite) -> Option<i64> {
    let was = write
        .old
        .as_ref()
        .is_some_and(|old| old.status == "running");
    let is = write.new.status == "running";
    (was != is).then_some(if is { 1 } else { -1 })
}

#[cfg(test)]
mod tests;
