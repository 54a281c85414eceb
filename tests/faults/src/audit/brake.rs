//! Runs that were leased while the brake of the fleet was set, and the instances that they take away.

use std::collections::BTreeMap;

use super::record::{Audit, RunWrite};
use super::starvation::Outage;
use crate::conditions::Kind;
use crate::observed::brake::SeenSet;
use crate::violation::{Rule, Violation};

/// Room for the difference between the clocks, in microseconds.
const TOLERANCE: i64 = 300_000;

/// Leases while the brake was set, judged.
#[derive(Debug, Default)]
pub struct Braked {
    /// How often it was seen set.
    pub times: usize,
    /// Leases that were compared with what was applied before.
    pub judged: usize,
    /// The violations.
    pub violations: Vec<Violation>,
}

/// A time in which the brake was set without a break.
struct SetTime<'a> {
    from: i64,
    until: i64,
    seen: Vec<&'a SeenSet>,
}

/// Leases of applies, without a request, that take instances away while the brake was set.
///
/// The input then has fewer instances of a service than the last applied input of the task, and than the reference that
/// was shown before. Only inputs of the same declaration are compared, and none across a deletion or a start of the task by a person.
/// Times in which the database has `forgotten` something are left out.
pub fn braked(audit: &Audit, seen: &[SeenSet], forgotten: &[Outage]) -> Braked {
    let times = set_times(audit, seen, forgotten);
    let mut judged = Braked {
        times: times.len(),
        ..Braked::default()
    };
    let switches = audit.switches.iter();
    let mut switches = switches.filter(|it| it.enabled != Some(false)).peekable();
    let mut applied: BTreeMap<&str, &RunWrite> = BTreeMap::new();
    for write in audit.runs.iter().filter(|write| write.kind == "apply") {
        while let Some(switched) = switches.next_if(|switched| switched.at < write.at) {
            applied.remove(&*switched.task);
        }
        let was = write.old.as_ref().map(|old| &*old.status);
        match (was, &*write.new.status) {
            (Some("running"), "succeeded") => {
                applied.insert(&write.task, write);
            }
            (Some("queued"), "running") if !write.new.awaits_ending() && !write.requested => {
                let before = applied.get(&*write.task);
                let mut set = times.iter();
                let set = set.find(|time| time.from < write.at && write.at < time.until);
                let (Some(before), Some(time)) = (before, set) else {
                    continue;
                };
                if let Some(losses) = losses(audit, (before, write), time) {
                    judged.judged += 1;
                    judged.violations.extend(broken(write, before, &losses));
                }
            }
            _ => {}
        }
    }
    judged
}

fn broken(lease: &RunWrite, before: &RunWrite, losses: &[String]) -> Option<Violation> {
    let evidence = format!(
        "leased while the brake was set, with {}: {lease:?}, applied before {before:?}",
        losses.join(", ")
    );
    (!losses.is_empty()).then(|| Violation::new(Rule::BrakeHolds, &lease.task, evidence))
}

/// The answers with the same begin: between the first and the last of them the brake was set.
fn set_times<'a>(audit: &Audit, seen: &'a [SeenSet], forgotten: &[Outage]) -> Vec<SetTime<'a>> {
    let mut times: Vec<SetTime<'a>> = Vec::new();
    for one in seen {
        let until = audit.by_database(one.asked) - TOLERANCE;
        match times.last_mut() {
            Some(last) if last.seen.iter().all(|other| other.since == one.since) => {
                last.until = until;
                last.seen.push(one);
            }
            _ => times.push(SetTime {
                from: audit.by_database(one.answered) + TOLERANCE,
                until,
                seen: vec![one],
            }),
        }
    }
    let overlaps = |time: &SetTime<'_>, lost: &Outage| {
        lost.from <= time.until + TOLERANCE && time.from - TOLERANCE <= lost.until
    };
    times.retain(|time| !forgotten.iter().any(|lost| overlaps(time, lost)));
    times
}

/// The instances that a lease takes away; `None` if it cannot be compared.
fn losses(
    audit: &Audit,
    (before, lease): (&RunWrite, &RunWrite),
    time: &SetTime<'_>,
) -> Option<Vec<String>> {
    let number = lease.task.strip_prefix("task-")?.parse().ok()?;
    let is_counted = !matches!(Kind::of(number), Kind::Keys | Kind::Catalog);
    let declared = |write: &RunWrite| audit.declarations.get(&write.input);
    if !is_counted || declared(before)? != declared(lease)? {
        return None;
    }
    let had = instances(audit.texts.get(&before.input)?);
    let has = instances(audit.texts.get(&lease.input)?);
    let shown = time.seen.iter();
    let shown = shown.filter(|seen| audit.by_database(seen.answered) < lease.at);
    let mut reference: BTreeMap<&str, u64> = BTreeMap::new();
    for (service, &number) in shown.flat_map(|seen| &seen.reference) {
        let largest = reference.entry(service).or_default();
        *largest = number.max(*largest);
    }
    let of = |numbers: &BTreeMap<&str, u64>, service| numbers.get(service).copied().unwrap_or(0);
    let lost = had.iter().filter(|&(&service, &number)| {
        let now = of(&has, service);
        now < number && now < of(&reference, service)
    });
    let lost = lost.map(|(service, number)| {
        let (now, reference) = (of(&has, service), of(&reference, service));
        format!("{now} instances of {service} after {number}, the reference is {reference}")
    });
    Some(lost.collect())
}

/// Number of instances by service.
fn instances(text: &str) -> BTreeMap<&str, u64> {
    let mut numbers = BTreeMap::new();
    for row in text.split(';') {
        let id = row.split_once('/').map(|(id, _)| id);
        if let Some((service, _place)) = id.and_then(|id| id.rsplit_once('-')) {
            *numbers.entry(service).or_default() += 1;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::super::record::{RunState, Switched};
    use super::*;

    fn write(second: i64, input: &str, [old, new]: [&str; 2]) -> RunWrite {
        let state = |status: &str| RunState {
            status: status.to_owned(),
            epoch: 1,
            holder: None,
            expires: None,
        };
        RunWrite {
            at: second * 1_000_000,
            run: format!("run-{second}"),
            task: "task-0".to_owned(),
            kind: "apply".to_owned(),
            input: input.to_owned(),
            old: Some(state(old)),
            new: state(new),
            due: 0,
            requested: false,
            ordered: false,
        }
    }

    const LEASED: [&str; 2] = ["queued", "running"];

    /// All three instances are applied at 5 s, and an input is leased later; the brake is set from 10 s until 30 s.
    fn evidence(second: i64, input: &str) -> (Audit, Vec<SeenSet>) {
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let texts = [
            pair("all", "svc-1-0/7//;svc-1-1/8//;svc-2-0/9//"),
            pair("fewer", "svc-1-0/7//;svc-2-0/9//"),
            pair("other", "svc-1-3/7//;svc-1-4/8//;svc-2-0/9//"),
            pair("without", "svc-1-0/7//;svc-1-1/8//"),
        ];
        let declarations = texts.clone().map(|(name, _)| (name, "task".to_owned()));
        let audit = Audit {
            runs: vec![
                write(5, "all", ["running", "succeeded"]),
                write(second, input, LEASED),
            ],
            texts: texts.into(),
            declarations: declarations.into(),
            ..Audit::default()
        };
        let seen = |at: u64| SeenSet {
            since: "a".to_owned(),
            asked: at * 100 - 5,
            answered: at * 100 + 5,
            reference: [("svc-1".to_owned(), 2)].into(),
        };
        (audit, vec![seen(10), seen(30)])
    }

    fn found(audit: &Audit, seen: &[SeenSet], forgotten: &[Outage]) -> [usize; 2] {
        let judged = braked(audit, seen, forgotten);
        [judged.judged, judged.violations.len()]
    }

    #[test]
    fn a_lease_that_takes_instances_away_while_the_brake_is_set_is_found() {
        for (second, input, expected) in [
            (20, "fewer", [1, 1]),
            (20, "other", [1, 0]),
            (20, "all", [1, 0]),
            (20, "without", [1, 0]),
            (9, "fewer", [0, 0]),
            (30, "fewer", [0, 0]),
        ] {
            let (audit, seen) = evidence(second, input);
            assert_eq!(found(&audit, &seen, &[]), expected, "{second} {input}");
        }
    }

    #[test]
    fn a_lease_at_an_end_of_the_brake_or_in_a_lost_time_is_not_judged() {
        let (audit, mut seen) = evidence(20, "fewer");
        let lost = Outage {
            from: 25_000_000,
            until: 26_000_000,
        };
        assert_eq!(found(&audit, &seen, &[lost]), [0, 0]);
        assert_eq!(found(&audit, &seen[..1], &[]), [0, 0]);
        seen[1].since = "b".to_owned();
        assert_eq!(found(&audit, &seen, &[]), [0, 0], "it was released between");
    }

    #[test]
    fn persons_and_other_declarations_may_take_instances_away() {
        let (mut audit, seen) = evidence(20, "fewer");
        audit.runs[1].requested = true;
        assert_eq!(found(&audit, &seen, &[]), [0, 0]);
        audit.runs[1].requested = false;
        audit.switches = vec![Switched {
            at: 15_000_000,
            task: "task-0".to_owned(),
            enabled: Some(true),
        }];
        assert_eq!(found(&audit, &seen, &[]), [0, 0]);
        audit.switches.clear();
        audit
            .declarations
            .insert("fewer".to_owned(), "new".to_owned());
        assert_eq!(found(&audit, &seen, &[]), [0, 0]);
        // A run that failed has applied nothing.
        let (mut audit, seen) = evidence(20, "fewer");
        audit.runs.insert(1, write(8, "fewer", LEASED));
        let failed = write(12, "fewer", ["running", "queued"]);
        audit.runs.insert(2, failed);
        assert_eq!(found(&audit, &seen, &[]), [1, 1]);
    }
}
