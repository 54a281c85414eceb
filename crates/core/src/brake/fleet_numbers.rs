//! The numbers of instances of all tasks, and when they set the brake.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use litemap::LiteMap;

use super::{FleetMaxShrink, NotedFleet, NotedPair, Pair};
use crate::run::losses::InstanceCounts;
use crate::view::ViewId;

/// Instances by view and service, with the highest numbers of the last time.
///
/// A pair of a view and a service counts once, however many tasks use the view. A view without a snapshot keeps its
/// last numbers.
#[derive(Debug)]
pub struct FleetNumbers {
    setting: FleetMaxShrink,
    views: HashMap<ViewId, ViewNumbers>,
    totals: FleetTotals,
    set_at: Option<DateTime<Utc>>,
    /// Views with a pair whose reference is not its present number.
    fallen: BTreeSet<ViewId>,
}

/// The pairs of a view, by service: a list, because most views have one.
#[derive(Debug, Default)]
struct ViewNumbers {
    datacenter: String,
    services: LiteMap<Box<str>, Pair>,
}

impl ViewNumbers {
    /// The pair of a service, which may be new.
    fn pair(&mut self, service: String) -> &mut Pair {
        if self.services.is_empty() {
            self.services = LiteMap::with_capacity(1);
        }
        let service = service.into_boxed_str();
        self.services.entry(service).or_default()
    }

    /// The pairs whose reference is not their present number.
    fn fallen(&self) -> impl Iterator<Item = (&str, &Pair)> {
        let pairs = self
            .services
            .iter()
            .map(|(service, pair)| (&**service, pair));
        pairs.filter(|(_service, pair)| pair.has_past())
    }

    /// Forgets services without an instance that count.
    fn forget_gone(&mut self) {
        self.services
            .retain(|_service, pair| pair.now > 0 || pair.has_past());
    }
}

/// Sums over all pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FleetTotals {
    /// Instances that are lost.
    pub lost: u64,
    /// Instances of the reference.
    pub of: u64,
}

impl FleetNumbers {
    /// Begins with what another leader has noted, without views.
    pub fn new(setting: FleetMaxShrink, noted: &NotedFleet) -> Self {
        let mut numbers = Self {
            setting,
            views: HashMap::new(),
            totals: FleetTotals::default(),
            set_at: noted.set_at,
            fallen: BTreeSet::new(),
        };
        for noted in &noted.pairs {
            let view = numbers.views.entry(noted.view.clone()).or_default();
            view.datacenter.clone_from(&noted.datacenter);
            *view.pair(noted.service.clone()) = noted.pair.clone();
        }
        numbers.recount();
        numbers
    }

    /// Takes the numbers of inputs that were applied last, for the pairs that another leader has not noted. The largest of
    /// several inputs counts.
    pub fn begin_with(&mut self, applied: impl IntoIterator<Item = InstanceCounts>) {
        for (view, service, number) in applied.into_iter().flat_map(InstanceCounts::into_pairs) {
            let pair = self.views.entry(view).or_default().pair(service);
            if !pair.has_past() {
                *pair = Pair::of(number.max(pair.now));
            }
        }
        self.recount();
    }

    /// Keeps these views alone: those that enabled tasks use, each with its datacenter. Returns those that were not known
    /// before.
    pub fn keep_views(&mut self, used: &BTreeMap<ViewId, String>) -> Vec<ViewId> {
        let new = used.keys().filter(|view| !self.views.contains_key(*view));
        let new = new.cloned().collect();
        self.views.retain(|view, _numbers| used.contains_key(view));
        for (view, datacenter) in used {
            let numbers = self.views.entry(view.clone()).or_default();
            numbers.datacenter.clone_from(datacenter);
        }
        self.recount();
        new
    }

    /// Takes the present numbers of a view. Returns whether a service has lost more than before.
    pub fn observe(
        &mut self,
        view: &ViewId,
        mut counts: BTreeMap<String, u32>,
        at: DateTime<Utc>,
    ) -> bool {
        let is_set = self.is_set();
        let Some(numbers) = self.views.get_mut(view) else {
            return false;
        };
        let mut loses = false;
        for (service, pair) in numbers.services.iter_mut() {
            let now = counts.remove(&**service).unwrap_or_default();
            if pair.now == now {
                continue;
            }
            let before = pair.lost();
            self.totals.subtract(pair);
            pair.change(now, at, is_set);
            self.totals.add(pair);
            loses |= pair.lost() > before;
        }
        for (service, now) in counts {
            self.totals.of += u64::from(now);
            *numbers.pair(service) = Pair::of(now);
        }
        numbers.forget_gone();
        if numbers.fallen().next().is_none() {
            self.fallen.remove(view);
        } else if !self.fallen.contains(view) {
            self.fallen.insert(view.clone());
        }
        loses
    }

    /// Views with a number that ended longer ago than it counts, each with the end of the first such number. None while
    /// the brake is set.
    pub fn expired(&self, at: DateTime<Utc>) -> BTreeMap<ViewId, DateTime<Utc>> {
        let mut expired: BTreeMap<ViewId, DateTime<Utc>> = BTreeMap::new();
        if self.is_set() {
            return expired;
        }
        for view in &self.fallen {
            let ends = self
                .fallen_in(view)
                .filter_map(|(_service, pair)| pair.ended());
            if let Some(first) = ends.min().filter(|&ended| self.counts_until(ended) <= at) {
                expired.insert(view.clone(), first);
            }
        }
        expired
    }

    /// When something that happened at `since` no longer counts.
    pub fn counts_until(&self, since: DateTime<Utc>) -> DateTime<Utc> {
        let within = TimeDelta::from_std(self.setting.within).unwrap_or(TimeDelta::MAX);
        since
            .checked_add_signed(within)
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// Forgets the numbers of a view that ended until then.
    pub fn forget(&mut self, view: &ViewId, until: DateTime<Utc>) {
        let Some(numbers) = self.views.get_mut(view) else {
            return;
        };
        for (_service, pair) in numbers.services.iter_mut() {
            self.totals.subtract(pair);
            pair.forget(until);
            self.totals.add(pair);
        }
        numbers.forget_gone();
        if numbers.fallen().next().is_none() {
            self.fallen.remove(view);
        }
    }

    fn pair_mut(&mut self, view: &ViewId, service: &str) -> Option<&mut Pair> {
        self.views.get_mut(view)?.services.get_mut(service)
    }

    fn fallen_in(&self, view: &ViewId) -> impl Iterator<Item = (&str, &Pair)> {
        let numbers = self.views.get(view);
        numbers.into_iter().flat_map(ViewNumbers::fallen)
    }

    /// Sets or ends the brake if the numbers require that. Returns whether it did.
    pub fn judge(&mut self, at: DateTime<Utc>) -> bool {
        let FleetTotals { lost, of } = self.totals;
        match self.set_at {
            None if self.setting.sets(lost, of) => self.set_at = Some(at),
            Some(_) if self.setting.ends(lost, of) => self.end(),
            _ => return false,
        }
        true
    }

    /// Whether the brake is set.
    pub fn is_set(&self) -> bool {
        self.set_at.is_some()
    }

    /// The sums.
    pub fn totals(&self) -> FleetTotals {
        self.totals
    }

    /// Whether a number counts that is not the present one.
    pub fn has_fallen(&self) -> bool {
        !self.fallen.is_empty()
    }

    /// Takes what a person has released.
    pub fn take_release(&mut self, noted: &NotedFleet) {
        self.end();
        for noted in &noted.pairs {
            if let Some(known) = self.pair_mut(&noted.view, &noted.service) {
                known.past.clone_from(&noted.pair.past);
            }
        }
        self.recount();
    }

    /// The reference of the services that an input has fewer instances of, while the brake is set.
    pub fn reference(&self, input: &InstanceCounts) -> Option<InstanceCounts> {
        if !self.is_set() {
            return None;
        }
        let mut lost: BTreeMap<ViewId, BTreeMap<String, u32>> = BTreeMap::new();
        for view in input.views() {
            for (service, pair) in self.fallen_in(view) {
                let reference = pair.reference();
                if input.number(view, service) < reference {
                    let services = lost.entry(view.clone()).or_default();
                    services.insert(service.to_owned(), reference);
                }
            }
        }
        (!lost.is_empty()).then(|| lost.into_iter().collect())
    }

    /// The numbers for the store, which adds the leased runs.
    pub fn noted(&self) -> NotedFleet {
        let views = self
            .fallen
            .iter()
            .filter_map(|view| self.views.get_key_value(view));
        let pairs = views.flat_map(|(view, numbers)| {
            numbers.fallen().map(|(service, pair)| NotedPair {
                view: view.clone(),
                datacenter: numbers.datacenter.clone(),
                service: service.to_owned(),
                pair: pair.clone(),
            })
        });
        NotedFleet {
            setting: Some(self.setting),
            set_at: self.set_at,
            lost: self.totals.lost,
            of: self.totals.of,
            pairs: pairs.collect(),
            leased: Vec::new(),
        }
    }

    fn end(&mut self) {
        self.set_at = None;
        for view in std::mem::take(&mut self.fallen) {
            let numbers = self.views.get_mut(&view);
            for (_service, pair) in numbers
                .into_iter()
                .flat_map(|view| view.services.iter_mut())
            {
                pair.loosen();
            }
        }
        self.recount();
    }

    fn recount(&mut self) {
        self.totals = FleetTotals::default();
        self.fallen.clear();
        for (view, numbers) in &self.views {
            for (_service, pair) in numbers.services.iter() {
                self.totals.add(pair);
            }
            if numbers.fallen().next().is_some() {
                self.fallen.insert(view.clone());
            }
        }
    }
}

impl FleetTotals {
    fn add(&mut self, pair: &Pair) {
        self.lost += u64::from(pair.lost());
        self.of += u64::from(pair.reference());
    }

    fn subtract(&mut self, pair: &Pair) {
        self.lost -= u64::from(pair.lost());
        self.of -= u64::from(pair.reference());
    }
}

#[cfg(test)]
mod tests;
