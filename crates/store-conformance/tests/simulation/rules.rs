//! Rules that can be broken on purpose, and values that differ from seed to seed.

use std::time::Duration;

use cts_core::lease::LeaseDeadlines;

use crate::engine::{Instant, MILLISECOND, Random, SECOND, micros};

/// The intended rules, or a variant with one of them broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    Kept,
    /// Workers hold on to the end of the lease, and then stop Terraform.
    GivesUpAtTheEnd,
    /// Workers count from the answer instead of from the request.
    CountsFromTheAnswer,
    /// Workers and guards read the wall clock.
    ReadsTheWallClock,
    /// No guard stops Terraform in the place of a worker.
    NoGuard,
    /// The guard does not look for a Terraform that starts after its deadline.
    GuardLooksOnce,
    /// The database accepts any call of a worker, whatever its epoch.
    RunEpochUnchecked,
    /// The database takes the write of any scheduler as a leader, whatever its epoch.
    LeaderEpochUnchecked,
    /// A renewal sets the end of the lease also when that shortens it.
    RenewalMayShorten,
    /// A write without an answer is followed by the next in the same epoch.
    NoRaiseInDoubt,
    /// The database takes leases back before they have expired.
    ReapsEarly,
    /// The clock of the database is set forward.
    DatabaseClockLeaps,
    /// The database counts a planned input as applied.
    PlansApply,
    /// Workers apply what they should only plan.
    WorkersApplyPlans,
    /// Nothing follows a requested run that fails.
    RequestsSwallow,
}

impl Rules {
    pub(crate) const BROKEN: [Self; 14] = [
        Self::GivesUpAtTheEnd,
        Self::CountsFromTheAnswer,
        Self::ReadsTheWallClock,
        Self::NoGuard,
        Self::GuardLooksOnce,
        Self::RunEpochUnchecked,
        Self::LeaderEpochUnchecked,
        Self::RenewalMayShorten,
        Self::NoRaiseInDoubt,
        Self::ReapsEarly,
        Self::DatabaseClockLeaps,
        Self::PlansApply,
        Self::WorkersApplyPlans,
        Self::RequestsSwallow,
    ];
}

/// Deadlines of a worker and its guard: a [`LeaseDeadlines`], or those of a broken rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    deadlines: LeaseDeadlines,
    /// Added to the deadlines by a broken rule.
    late: Duration,
}

impl Deadlines {
    pub(crate) fn new(rules: Rules, asked: Duration, life: Duration) -> Self {
        let late = match rules {
            Rules::GivesUpAtTheEnd => life.saturating_sub(life / 2),
            _ => Duration::ZERO,
        };
        Self {
            deadlines: LeaseDeadlines::run(asked, life),
            late,
        }
    }

    pub(crate) fn renewed(self, asked: Duration, life: Duration) -> Self {
        Self {
            deadlines: self.deadlines.renewed(asked, life),
            ..self
        }
    }

    pub(crate) fn renew_at(&self) -> Duration {
        self.deadlines.renew_at()
    }

    pub(crate) fn stop_by(&self) -> Duration {
        self.deadlines.stop_by() + self.late
    }

    pub(crate) fn kill_by(&self) -> Duration {
        self.deadlines.kill_by() + self.late
    }
}

/// The surroundings of one seed.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) schedulers: usize,
    pub(crate) workers: usize,
    pub(crate) slots: usize,
    pub(crate) tasks: usize,
    /// Life of a run's lease by scheduler: a change of configuration reaches them one after another.
    pub(crate) lives: Vec<Duration>,
    pub(crate) session: Duration,
    /// Share of lost messages.
    pub(crate) loss: u64,
    /// Share of messages that arrive twice.
    pub(crate) twice: u64,
    /// Share of messages that take long.
    pub(crate) slow: u64,
    /// How long slow ones take.
    pub(crate) slowest: Instant,
    /// Mean time between two faults.
    pub(crate) fault_every: Instant,
    /// Mean time between two changes of an input.
    pub(crate) change_every: Instant,
    /// Longest work of Terraform.
    pub(crate) longest_work: Instant,
    /// Share of the looks of a leader at which a plan is requested.
    pub(crate) planning: u64,
    /// Share of the looks of a leader at which an apply is requested.
    pub(crate) requesting: u64,
    /// Share of attempts that fail.
    pub(crate) failing: u64,
    /// When faults and changes end.
    pub(crate) calm_from: Instant,
}

impl Plan {
    pub(crate) fn new(random: &mut Random) -> Self {
        let life = random.between(3_000, 6_000);
        let other = life * random.between(1, 5);
        let schedulers = random.below(3) + 1;
        let workers = random.below(3) + 1;
        let lives = (0..schedulers)
            .map(|_| if random.chance(50) { life } else { other })
            .map(Duration::from_millis)
            .collect();
        Self {
            schedulers,
            workers,
            slots: random.below(2) + 1,
            tasks: random.below(3) + 1,
            lives,
            session: Duration::from_millis(random.between(2_000, 6_000)),
            loss: random.between(0, 12),
            twice: random.between(0, 10),
            slow: random.between(0, 15),
            slowest: random.between(200 * MILLISECOND, 8 * SECOND),
            fault_every: random.between(SECOND, 5 * SECOND),
            change_every: random.between(300 * MILLISECOND, 5 * SECOND),
            longest_work: random.between(300 * MILLISECOND, 16 * SECOND),
            planning: random.between(0, 6),
            failing: random.between(0, 30),
            calm_from: random.between(30 * SECOND, 60 * SECOND),
            requesting: random.between(0, 40),
        }
    }

    pub(crate) fn longest_life(&self) -> Instant {
        self.lives.iter().copied().max().map_or(0, micros)
    }

    pub(crate) fn shortest_life(&self) -> Instant {
        self.lives.iter().copied().min().map_or(0, micros)
    }
}
