//! Checks that nothing works for a task that does not exist.

use std::collections::BTreeSet;

use super::record::Audit;
use super::starvation::Outage;
use crate::observed::sightings::Sighting;
use crate::violation::{Rule, Violation};

/// Room for the difference between the clocks, in microseconds.
const TOLERANCE: i64 = 300_000;

/// Terraform processes that may be at work for longer than cts assumes.
#[derive(Debug, Clone, Default)]
pub struct Orphans {
    /// Workers that were killed with their guards.
    pub workers: BTreeSet<String>,
    /// All workers are without guards.
    pub of_all: bool,
    /// Periods whose confirmed writes the database has forgotten.
    pub forgotten: Vec<Outage>,
}

impl Orphans {
    /// Whether it may outlive its lease.
    pub fn has(&self, sighting: &Sighting) -> bool {
        self.of_all || self.workers.contains(&sighting.worker)
    }
}

/// Terraform processes that were started while no task had that name, or that went on after its deletion.
pub fn after_deletion(audit: &Audit, sightings: &[Sighting], orphans: &Orphans) -> Vec<Violation> {
    let mut violations = Vec::new();
    for sighting in sightings {
        let from = audit.by_database(sighting.from);
        let until = audit.by_database(sighting.until);
        let forgotten = |time: &Outage| time.from <= until && from <= time.until;
        if orphans.forgotten.iter().any(forgotten) {
            continue;
        }
        let lives = lives(audit, &sighting.task);
        // If a task is created again at once, the process may have been started in either of its two lives.
        let last = lives
            .iter()
            .rfind(|life| life.from - TOLERANCE <= from && from <= life.until + TOLERANCE);
        let why = match last {
            None => "it was started for a task that was not there",
            Some(life) if until > life.until + TOLERANCE && !orphans.has(sighting) => {
                "it worked for a task that was gone"
            }
            Some(_) => continue,
        };
        violations.push(Violation::new(
            Rule::DeletedIsGone,
            &sighting.task,
            format!("{why}: {sighting:?}, by the database {from} to {until}, lives {lives:?}"),
        ));
    }
    violations
}

/// Periods in which a task of this name existed.
pub(super) fn lives(audit: &Audit, task: &str) -> Vec<Outage> {
    let mut lives: Vec<Outage> = Vec::new();
    let mut there = false;
    for switched in audit
        .switches
        .iter()
        .filter(|switched| switched.task == task)
    {
        match switched.enabled {
            Some(_) if !there => {
                lives.push(Outage {
                    from: switched.at,
                    until: i64::MAX - TOLERANCE,
                });
                there = true;
            }
            None => {
                if let Some(life) = lives.last_mut() {
                    life.until = switched.at;
                }
                there = false;
            }
            Some(_) => {}
        }
    }
    lives
}

#[cfg(test)]
mod tests {
    use super::super::record::Switched;
    use super::*;

    const SECOND: i64 = 1_000_000;

    /// There from 10 to 20 and from 40 on; switched off in between.
    fn audit() -> Audit {
        let switches = [
            (10, Some(true)),
            (15, Some(false)),
            (20, None),
            (40, Some(true)),
        ];
        let switches = switches.map(|(at, enabled)| Switched {
            at: at * SECOND,
            task: "t".to_owned(),
            enabled,
        });
        Audit {
            switches: switches.into(),
            ..Audit::default()
        }
    }

    fn work(from: u64, until: u64) -> Vec<Sighting> {
        vec![Sighting {
            task: "t".to_owned(),
            worker: "w".to_owned(),
            group: 1,
            from: from * 100,
            until: until * 100,
        }]
    }

    fn found(from: u64, until: u64, orphans: &Orphans) -> usize {
        after_deletion(&audit(), &work(from, until), orphans).len()
    }

    #[test]
    fn work_within_a_life_is_no_violation() {
        let none = Orphans::default();
        assert_eq!(found(11, 20, &none), 0);
        assert_eq!(found(40, 400, &none), 0);
    }

    #[test]
    fn work_before_between_and_beyond_lives_is_found() {
        let none = Orphans::default();
        assert_eq!(found(1, 2, &none), 1);
        assert_eq!(found(30, 31, &none), 1);
        assert_eq!(found(18, 22, &none), 1);
    }

    #[test]
    fn orphans_may_go_on_but_none_may_begin() {
        let orphans = Orphans {
            workers: ["w".to_owned()].into(),
            ..Orphans::default()
        };
        assert_eq!(found(18, 22, &orphans), 0);
        assert_eq!(found(30, 31, &orphans), 1);
    }

    #[test]
    fn work_right_after_a_task_was_created_again_is_no_violation() {
        let mut audit = audit();
        audit
            .switches
            .extend([None, Some(true)].map(|enabled| Switched {
                at: 50 * SECOND + if enabled.is_some() { 100_000 } else { 0 },
                task: "t".to_owned(),
                enabled,
            }));
        let work = [Sighting {
            from: 5_020,
            until: 5_080,
            ..work(0, 0).remove(0)
        }];
        let none = Orphans::default();
        assert_eq!(after_deletion(&audit, &work, &none), []);
    }

    #[test]
    fn writes_that_the_database_has_forgotten_prove_nothing() {
        let orphans = Orphans {
            forgotten: vec![Outage {
                from: 25 * SECOND,
                until: 33 * SECOND,
            }],
            ..Orphans::default()
        };
        assert_eq!(found(30, 31, &orphans), 0);
        assert_eq!(found(34, 35, &orphans), 1);
    }
}
