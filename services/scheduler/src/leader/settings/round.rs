//! One comparison of the workers' reports, and its consequences.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use cts_core::settings::{
    BlockDigests, Comparison, SettingsDecision, SettingsGeneration, SettingsScope,
    SettingsTimeouts, Successor, decide_settings, identity_of,
};
use cts_store::{SettingsChange, WorkerState};
use tokio::time::Instant;

use super::differences::Differences;
use super::settings_in_force::{InForce, KnownSettings, Used};
use crate::liveness::is_lost;

/// The moment since which no worker has had the settings in force, by their number.
#[derive(Debug, Default)]
pub(super) struct AbsentSince(HashMap<u64, Instant>);

impl AbsentSince {
    /// How long it has been so.
    fn lasts(&mut self, number: u64, is_absent: bool, now: Instant) -> Duration {
        if is_absent {
            now.duration_since(*self.0.entry(number).or_insert(now))
        } else {
            self.0.remove(&number);
            Duration::ZERO
        }
    }
}

/// The state that a round examines, and the change that it writes.
#[derive(Debug)]
pub(super) struct Round {
    generations: Vec<SettingsGeneration>,
    workers: Vec<WorkerState>,
    pub(super) change: SettingsChange,
    /// Scopes whose settings in force no worker has, with the differences between the workers.
    disagreements: BTreeMap<SettingsScope, Vec<String>>,
    replaced: Vec<SettingsScope>,
}

impl Round {
    pub(super) fn new(generations: Vec<SettingsGeneration>, workers: Vec<WorkerState>) -> Self {
        Self {
            generations,
            workers,
            change: SettingsChange::default(),
            disagreements: BTreeMap::new(),
            replaced: Vec::new(),
        }
    }

    /// Whether the scope has no generation yet.
    pub(super) fn is_new(&self, scope: &SettingsScope) -> bool {
        self.generations.iter().all(|known| known.scope != *scope)
    }

    /// The blocks that a generation is for.
    pub(super) fn scope_of(&self, number: u64) -> Option<&SettingsScope> {
        let mut known = self.generations.iter();
        Some(&known.find(|known| known.number == number)?.scope)
    }

    /// All generations after the decisions.
    pub(super) fn generations(&self) -> &[SettingsGeneration] {
        &self.generations
    }

    /// The number of the generation in force of each scope.
    pub(super) fn numbers_in_force(&self) -> impl Iterator<Item = (SettingsScope, u64)> {
        let in_force = self.generations.iter().filter(|known| known.in_force);
        in_force.map(|known| (known.scope.clone(), known.number))
    }

    /// Begins the first generation of a scope.
    pub(super) fn begin(&mut self, scope: &SettingsScope) {
        let number = self.next_number();
        let generation = SettingsGeneration {
            number,
            scope: scope.clone(),
            digests: BlockDigests::default(),
            in_force: true,
        };
        self.generations.push(generation.clone());
        self.change.generations.push(generation);
    }

    fn next_number(&self) -> u64 {
        let numbers = self.generations.iter().map(|known| known.number);
        numbers.max().unwrap_or_default() + 1
    }

    /// Decides about each scope, and notes which settings the workers have then.
    pub(super) fn decide(
        &mut self,
        absences: &mut AbsentSince,
        timeouts: SettingsTimeouts,
        now: Instant,
    ) {
        let current: Vec<usize> = (0..self.generations.len())
            .filter(|&place| self.generations[place].in_force)
            .collect();
        for place in current {
            self.decide_about(place, absences, timeouts, now);
        }
        for worker in &self.workers {
            let Some(reported) = &worker.worker.settings else {
                continue;
            };
            let in_force = self.generations.iter().filter(|known| known.in_force);
            let has = in_force.filter(|known| has(reported, known));
            let has: Vec<u64> = has.map(|known| known.number).collect();
            if has != worker.settings {
                self.change.workers.push((worker.worker.id.clone(), has));
            }
        }
    }

    fn decide_about(
        &mut self,
        place: usize,
        absences: &mut AbsentSince,
        timeouts: SettingsTimeouts,
        now: Instant,
    ) {
        let current = &self.generations[place];
        let reported: Vec<BlockDigests> = self
            .active()
            .map(|reported| reported.within(&current.scope))
            .collect();
        let is_absent = !self.is_had_by_any(current);
        let absent = absences.lasts(current.number, is_absent, now);
        let earlier: Vec<&SettingsGeneration> = self
            .generations
            .iter()
            .filter(|known| known.scope == current.scope && !known.in_force)
            .collect();
        match decide_settings(current, &earlier, &reported, absent, timeouts) {
            SettingsDecision::Keep | SettingsDecision::Wait => {}
            SettingsDecision::Disagree(blocks) => {
                self.disagreements.insert(current.scope.clone(), blocks);
            }
            SettingsDecision::Note(digests) => {
                self.generations[place].digests = digests;
                self.note(place);
            }
            SettingsDecision::Replace(successor, digests) => {
                let (number, scope) = (current.number, current.scope.clone());
                self.generations[place].in_force = false;
                self.note(place);
                let successor = self.succeed(successor, &scope, digests);
                self.change.moved.push((number, successor));
                self.replaced.push(scope);
            }
        }
    }

    /// Puts the successor in force and gives its number.
    fn succeed(
        &mut self,
        successor: Successor,
        scope: &SettingsScope,
        digests: BlockDigests,
    ) -> u64 {
        let known = match successor {
            Successor::Earlier(number) => {
                let mut known = self.generations.iter();
                known.position(|known| known.number == number)
            }
            Successor::New => None,
        };
        let place = known.unwrap_or_else(|| {
            let number = self.next_number();
            self.generations.push(SettingsGeneration {
                number,
                scope: scope.clone(),
                digests: BlockDigests::default(),
                in_force: true,
            });
            self.generations.len() - 1
        });
        let generation = &mut self.generations[place];
        (generation.digests, generation.in_force) = (digests, true);
        let number = generation.number;
        self.note(place);
        number
    }

    /// Notes that a generation is to be written with its present content.
    fn note(&mut self, place: usize) {
        let generation = self.generations[place].clone();
        let written = &mut self.change.generations;
        written.retain(|known| known.number != generation.number);
        written.push(generation);
    }

    /// Reports of the live workers that take runs.
    fn active(&self) -> impl Iterator<Item = &BlockDigests> {
        let active = self
            .workers
            .iter()
            .filter(|worker| !worker.worker.draining && !is_lost(worker));
        let reported = active.filter_map(|worker| worker.worker.settings.as_ref());
        reported.filter(|reported| !reported.is_empty())
    }

    fn is_had_by_any(&self, generation: &SettingsGeneration) -> bool {
        self.active().any(|reported| has(reported, generation))
    }

    /// Whether a worker has the settings in force for this scope.
    pub(super) fn is_had(&self, scope: &SettingsScope) -> bool {
        let mut of_scope = self.generations.iter();
        let current = of_scope.find(|known| known.in_force && known.scope == *scope);
        current.is_some_and(|current| self.is_had_by_any(current))
    }

    /// The settings in force of the scopes for which `of` holds.
    pub(super) fn in_force(&self, of: impl Fn(&SettingsScope) -> bool) -> KnownSettings {
        let in_force = self.generations.iter().filter(|known| known.in_force);
        let in_force = in_force.filter(|known| of(&known.scope));
        let known = in_force.map(|known| {
            let in_force = InForce {
                number: known.number,
                identity: identity_of(known.number),
            };
            (known.scope.clone(), in_force)
        });
        known.collect()
    }

    /// Logs changes and differences of the scopes that tasks use.
    pub(super) fn log(&self, used: &Used, differences: &mut Differences) {
        for scope in &self.replaced {
            if used.contains_key(scope) {
                tracing::info!(target: "ctrl", blocks = %scope, "the workers have other settings, which are in force now: the tasks that use them run");
            }
        }
        differences.log_disagreements(&self.disagreements, used);
        differences.log_workers(&self.workers, &self.generations, used);
    }
}

fn has(reported: &BlockDigests, generation: &SettingsGeneration) -> bool {
    let reported = reported.within(&generation.scope);
    reported.compare(&generation.digests) == Comparison::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_lasts_until_a_worker_is_back() {
        let mut absences = AbsentSince::default();
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(absences.lasts(1, true, at(0)), Duration::ZERO);
        assert_eq!(absences.lasts(1, true, at(9)), Duration::from_secs(9));
        assert_eq!(absences.lasts(1, false, at(10)), Duration::ZERO);
        assert_eq!(absences.lasts(1, true, at(12)), Duration::ZERO);
    }
}
