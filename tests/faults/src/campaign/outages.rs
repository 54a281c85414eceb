//! Periods in which each target was out of order, for the judgement of waits.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_tests::Service;

use crate::audit::{Audit, Bounds, Outage};
use crate::plan::{End, Member, Target};
use crate::processes;

/// Time until new blocks of the workers are in force: two minutes if they were in force before.
const SETTLING: Duration = Duration::from_secs(140);

/// Begin and end of something, in hundredths of a second since the machine was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Time {
    from: u64,
    until: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Outages {
    times: BTreeMap<Target, Vec<Time>>,
}

impl Outages {
    /// Begins an outage of the target now.
    pub(crate) fn begin(&mut self, target: Target) {
        self.times.entry(target).or_default().push(Time {
            from: processes::uptime(),
            until: None,
        });
    }

    /// Ends the outages of the target now.
    pub(crate) fn end(&mut self, target: Target) {
        let now = processes::uptime();
        for time in self.times.entry(target).or_default() {
            time.until.get_or_insert(now);
        }
    }

    /// The bounds for waits. `recovery` is the time until runs are leased again after an outage; `slots` are
    /// the slots of one worker.
    pub(crate) fn bounds(
        &self,
        audit: &Audit,
        members: &[Member],
        slots: usize,
        recovery: Duration,
        wait: Duration,
    ) -> Bounds {
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let by_database = |time: &Time, recovery: Duration| Outage {
            from: audit.by_database(time.from),
            until: time
                .until
                .map_or(audit.read_at, |until| audit.by_database(until))
                .saturating_add(micros(recovery)),
        };
        let mut outages = Vec::new();
        let mut settling = Vec::new();
        let mut changes: Vec<(i64, i64)> = Vec::new();
        for (target, times) in &self.times {
            let recovery = match target {
                Target::Blocks => recovery + SETTLING,
                _ => recovery,
            };
            for outage in times.iter().map(|time| by_database(time, recovery)) {
                if matches!(target, Target::Blocks | Target::Clock(Member::Whole)) {
                    settling.push(outage);
                }
                if stops_everything(target) {
                    outages.push(outage);
                } else if stops_a_worker(target) {
                    changes.extend([(outage.from, -1), (outage.until, 1)]);
                }
            }
        }
        changes.sort_unstable();
        let is_worker =
            |member: &&Member| matches!(member, Member::Of(Service::Worker, _) | Member::Whole);
        let mut workers = i64::try_from(members.iter().filter(is_worker).count()).unwrap_or(0);
        let per_worker = |workers: i64| usize::try_from(workers).unwrap_or(0) * slots;
        let mut capacity = vec![(0, per_worker(workers))];
        for (at, by) in changes {
            workers += by;
            capacity.push((at, per_worker(workers)));
        }
        Bounds {
            wait: micros(wait),
            outages,
            settling,
            slots: capacity,
        }
    }
}

/// Whether no run may be leased while a fault of this target lasts, even if everything else is in order.
const fn stops_everything(target: &Target) -> bool {
    match target {
        Target::Postgres
        | Target::Disk
        | Target::Blocks
        | Target::Clock(Member::Whole)
        | Target::Member(Member::Whole | Member::Of(Service::Scheduler, _)) => true,
        Target::Wire(wire) => matches!(wire.to, End::Postgres),
        _ => false,
    }
}

/// While it lasts one worker takes no runs.
const fn stops_a_worker(target: &Target) -> bool {
    match target {
        Target::Member(Member::Of(Service::Worker, _))
        | Target::Guard(_)
        | Target::WorkerWithGuard(_) => true,
        Target::Wire(wire) => matches!(wire.from, Member::Of(Service::Worker, _)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_stop_everything_or_take_a_workers_slots() {
        let mut outages = Outages::default();
        let time = |from, until| Time { from, until };
        outages.times = BTreeMap::from([
            (Target::Postgres, vec![time(100, Some(200))]),
            (Target::Consul, vec![time(100, Some(900))]),
            (Target::Guard(1), vec![time(300, Some(400))]),
            (
                Target::Member(Member::Of(Service::Worker, 0)),
                vec![time(350, None)],
            ),
        ]);
        let audit = Audit {
            read_at: 10_000_000,
            ..Audit::default()
        };
        let members = [0, 1, 2].map(|index| Member::Of(Service::Worker, index));
        let second = Duration::from_secs(1);
        let bounds = outages.bounds(&audit, &members, 3, second, second);
        let outage = Outage {
            from: 1_000_000,
            until: 3_000_000,
        };
        assert_eq!(bounds.outages, [outage]);
        let slots = [
            (0, 9),
            (3_000_000, 6),
            (3_500_000, 3),
            (5_000_000, 6),
            (11_000_000, 9),
        ];
        assert_eq!(bounds.slots, slots);
    }
}
