//! The brake of the fleet: the numbers of the leader, and what it notes of them (docs/runs.md#the-brake-of-the-fleet).

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use cts_core::brake::{FleetMaxShrink, FleetNumbers, FleetTotals, NotedFleet};
use cts_core::{InstanceCounts, ItemKind, LeaderEpoch, TaskName, TaskSpec, ViewId};
use cts_store::{BrakeNote, FirstApply, LeaderError, Store, StoreError};

use crate::leader::leader_context::LeaderContext;
use crate::mode::Mode;
use crate::planner::Planner;

/// Tasks whose applied inputs are read at once.
const READ_AT_ONCE: usize = 500;

/// Time between two searches for numbers that no longer count.
const EXPIRY_EVERY: TimeDelta = TimeDelta::seconds(2);

/// The brake as the leader keeps it.
#[derive(Debug)]
pub(crate) struct FleetBrake {
    numbers: FleetNumbers,
    /// Number of releases that the leader knows.
    releases: u64,
    /// Views of the tasks of a pass, which are used all the time; `None` in a daemon.
    of_pass: Option<BTreeMap<ViewId, String>>,
    /// The store lacks a change that must be noted before a run is queued.
    pub(super) must_note: bool,
    noted: FleetTotals,
    /// A change that is not noted yet.
    change: Option<BrakeChange>,
    /// The store may have another number of releases.
    may_be_released: bool,
    expires_at: DateTime<Utc>,
}

/// A change of the brake.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BrakeChange {
    /// It is set.
    Set,
    /// It has ended, because enough instances are back.
    Ended,
}

impl FleetBrake {
    /// Begins with what is noted, and with the inputs that were applied last. Without a setting, ends a brake that is
    /// still set.
    pub(super) async fn take_over(
        context: &LeaderContext,
        epoch: LeaderEpoch,
        setting: Option<FleetMaxShrink>,
        tasks: &[TaskSpec],
    ) -> Result<Option<Self>, LeaderError> {
        let store = &*context.store;
        let stored = store.brake().await?;
        let Some(setting) = setting else {
            if stored.fleet != NotedFleet::default() {
                let none = NotedFleet::default();
                store.note_brake(epoch, stored.releases, &none).await?;
            }
            if stored.fleet.is_set() {
                tracing::warn!(target: "ctrl", lost = stored.fleet.lost, of = stored.fleet.of, "the brake of the fleet has ended, because the configuration in force has none");
                context.notifier.brake_changed();
            }
            return Ok(None);
        };
        let mut numbers = FleetNumbers::new(setting, &stored.fleet);
        let enabled = tasks.iter().filter(|task| task.enabled);
        let names: Vec<TaskName> = enabled.clone().map(|task| task.name().clone()).collect();
        for names in names.chunks(READ_AT_ONCE) {
            let applied = store.applied_instances(names).await?.into_iter();
            numbers.begin_with(applied.map(|(_task, counts)| counts));
        }
        let views = enabled.flat_map(|task| task.definition.dependencies());
        let views = views.filter(|it| it.view.item_kind() == ItemKind::Instances);
        let used = views.map(|it| (it.view.id(), it.view.datacenter().to_owned()));
        let used = used.collect();
        numbers.keep_views(&used);
        Ok(Some(Self {
            noted: numbers.totals(),
            numbers,
            releases: stored.releases,
            of_pass: (context.mode == Mode::OnRequest).then_some(used),
            must_note: true,
            change: None,
            may_be_released: false,
            expires_at: DateTime::<Utc>::MIN_UTC,
        }))
    }

    /// Whether it is set.
    pub(super) fn is_set(&self) -> bool {
        self.numbers.is_set()
    }

    pub(super) fn totals(&self) -> FleetTotals {
        self.numbers.totals()
    }

    /// The reference for an input that has fewer instances, while the brake is set.
    pub(super) fn reference(&self, counts: &InstanceCounts) -> Option<InstanceCounts> {
        self.numbers.reference(counts)
    }

    /// A person may have released the brake.
    pub(super) fn look_again(&mut self) {
        self.may_be_released = self.is_set();
    }

    /// Reads the numbers that have changed, and judges them.
    pub(super) fn observe(&mut self, planner: &mut Planner, at: DateTime<Utc>) {
        let mut changed = planner.take_changed_views();
        if planner.take_other_uses() {
            let used = match &self.of_pass {
                Some(of_pass) => of_pass.clone(),
                None => planner.counted_views(),
            };
            changed.extend(self.numbers.keep_views(&used));
        }
        for view in changed {
            if let Some(counts) = planner.instances(&view) {
                self.must_note |= self.numbers.observe(&view, counts, at);
            }
        }
        // Answers show the sums.
        self.must_note |= self.noted != self.totals();
        if self.numbers.judge(at) {
            self.must_note = true;
            self.change = Some(if self.is_set() {
                BrakeChange::Set
            } else {
                BrakeChange::Ended
            });
        }
    }

    /// Forgets numbers that no longer count: some time after their end, and after an apply of each task that uses the
    /// view. A number counts while such an apply is still to come.
    pub(super) async fn forget_old(
        &mut self,
        store: &dyn Store,
        planner: &Planner,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        if at < self.expires_at || !self.numbers.has_fallen() {
            return Ok(());
        }
        self.expires_at = at + EXPIRY_EVERY;
        let mut expired = self.numbers.expired(at);
        expired.retain(|view, _ended| planner.users(view).all(|(_task, is_pending)| !is_pending));
        let mut since: Vec<(TaskName, DateTime<Utc>)> = Vec::new();
        for (view, ended) in &expired {
            since.extend(planner.users(view).map(|(task, _)| (task.clone(), *ended)));
        }
        let mut applies: HashMap<(TaskName, DateTime<Utc>), FirstApply> = HashMap::new();
        for part in since.chunks(READ_AT_ONCE) {
            let found = store.first_applies(part).await?.into_iter();
            applies.extend(found.map(|(task, ended, apply)| ((task, ended), apply)));
        }
        for (view, ended) in expired {
            let of_view = planner.users(&view);
            let of_view = of_view.filter_map(|(task, _)| applies.get(&(task.clone(), ended)));
            if let Some(until) = self.counted_until(ended, of_view, at) {
                self.numbers.forget(&view, until);
            }
        }
        Ok(())
    }

    /// Until when the ended numbers of a view are forgotten; `None` while an apply is open or too young.
    fn counted_until<'a>(
        &self,
        ended: DateTime<Utc>,
        applies: impl Iterator<Item = &'a FirstApply>,
        at: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        let mut until = None;
        for apply in applies {
            match apply {
                FirstApply::Open => return None,
                FirstApply::Ended { ended, .. } if self.numbers.counts_until(*ended) > at => {
                    return None;
                }
                FirstApply::Ended { started, .. } => {
                    until =
                        Some(until.map_or(*started, |before: DateTime<Utc>| before.min(*started)));
                }
            }
        }
        Some(until.unwrap_or(ended).max(ended))
    }

    /// Notes the numbers if the store lacks them, or takes the release of a person.
    pub(super) async fn note(
        &mut self,
        store: &dyn Store,
        epoch: LeaderEpoch,
    ) -> Result<Noted, LeaderError> {
        if std::mem::take(&mut self.may_be_released) {
            let stored = store.brake().await?;
            if stored.releases != self.releases {
                self.take_release(stored.releases, &stored.fleet);
                return Ok(Noted::Released);
            }
        }
        if !self.must_note {
            return Ok(Noted::Nothing);
        }
        let fleet = self.numbers.noted();
        match store.note_brake(epoch, self.releases, &fleet).await? {
            BrakeNote::Noted { held, leased } => {
                self.must_note = false;
                self.noted = self.totals();
                let to_confirm = leased.iter().filter(|run| run.to_confirm).count();
                Ok(Noted::Done {
                    change: self.change.take(),
                    held_tasks: held.len(),
                    leased_runs: leased.len(),
                    to_confirm,
                })
            }
            BrakeNote::Released(stored) => {
                self.take_release(stored.releases, &stored.fleet);
                Ok(Noted::Released)
            }
        }
    }

    fn take_release(&mut self, releases: u64, fleet: &NotedFleet) {
        self.releases = releases;
        self.change = None;
        self.numbers.take_release(fleet);
        self.must_note = true;
    }

    /// The numbers with their losses, for the log.
    pub(super) fn noted_fleet(&self) -> NotedFleet {
        self.numbers.noted()
    }
}

/// Result of a note.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Noted {
    /// Nothing had to be noted.
    Nothing,
    /// The numbers are noted. The rest is 0 unless this has set the brake.
    Done {
        change: Option<BrakeChange>,
        held_tasks: usize,
        leased_runs: usize,
        to_confirm: usize,
    },
    /// A person has released the brake; the numbers must be judged again.
    Released,
}
