//! Lost instances: whether an input may be applied without an operator's consent
//! (docs/runs.md#the-guard-against-lost-instances).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::run::input::RunInput;
use crate::task::shrink_limit::{MaxShrink, ShrinkLimit};
use crate::view::{ItemKind, ViewId};
use crate::words::identity::CauseId;

/// Number of instances of each service in an input, by the view that shows the service.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InstanceCounts(BTreeMap<ViewId, BTreeMap<String, u32>>);

/// Instance counts that an input is compared with before it is applied.
///
/// Each of them counts separately: a failed attempt leaves the previously applied input, a successful attempt
/// replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline {
    /// The last applied input, with the counts of released services reduced to the released counts; `None` if the
    /// counts are not known.
    pub applied: Option<InstanceCounts>,
    /// The input that is being applied.
    pub running: Option<InstanceCounts>,
    /// Instance counts that an operator released, by service, as long as a different input may be applied before the
    /// released input.
    pub released: Option<InstanceCounts>,
}

/// A service that lost more instances than allowed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Loss {
    /// The service.
    pub service: String,
    /// Largest number of instances in the inputs that were last applied or are being applied.
    pub applied: u32,
    /// Instances in the waiting input.
    pub now: u32,
}

/// An input that is not applied until an operator consents or the data recover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Time when the block of the task began.
    pub since: DateTime<Utc>,
    /// Losses that block the task; at least one.
    pub losses: Vec<Loss>,
    /// The instances of the waiting input.
    pub counts: InstanceCounts,
    /// The reference of the brake of the fleet, if the brake holds the input; the shrink limit of the task may hold it
    /// too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brake: Option<InstanceCounts>,
    /// The newest causes of the waiting input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseId>,
}

impl Baseline {
    /// The services that lost more instances than allowed, compared with the last applied input or the input being
    /// applied, and that were not released.
    ///
    /// Only views that both inputs have are compared: a task that starts to watch different services loses nothing.
    pub fn losses(&self, guard: ShrinkLimit, now: &InstanceCounts) -> Vec<Loss> {
        let losses = self.lost(guard, now).into_iter();
        let held = losses.filter(|(view, loss)| {
            let released = self.released.as_ref();
            let released = released.and_then(|counts| counts.0.get(*view)?.get(&loss.service));
            released.is_none_or(|&released| guard.forbids(released, loss.now))
        });
        held.map(|(_, loss)| loss).collect()
    }

    /// The services of which an input takes instances away that the brake of the fleet holds: it has fewer than the
    /// `reference`, and fewer than the input that was applied last or is being applied.
    pub fn braked(&self, reference: &InstanceCounts, now: &InstanceCounts) -> Vec<Loss> {
        let any = ShrinkLimit {
            min_instances: None,
            max_shrink: Some(MaxShrink::Instances(0)),
        };
        let lost = self.lost(any, now).into_iter();
        let held = lost.filter(|(view, loss)| {
            let released = self.released.as_ref();
            let released = released.and_then(|counts| counts.0.get(*view)?.get(&loss.service));
            loss.now < reference.number(view, &loss.service)
                && released.is_none_or(|&released| loss.now < released)
        });
        held.map(|(_view, loss)| loss).collect()
    }

    /// The losses of an input that its task or the brake holds, with the reference of the brake if it has one: each
    /// service of a view once.
    pub fn held(
        &self,
        guard: ShrinkLimit,
        brake: Option<&InstanceCounts>,
        now: &InstanceCounts,
    ) -> (Vec<Loss>, bool) {
        let mut losses = self.losses(guard, now);
        let braked = brake.map_or_else(Vec::new, |reference| self.braked(reference, now));
        let by_brake = !braked.is_empty();
        for loss in braked {
            if !losses.contains(&loss) {
                losses.push(loss);
            }
        }
        (losses, by_brake)
    }

    /// Returns the rest of the release once an input with the counts `now` is let through: the part that this input
    /// needs.
    #[must_use]
    pub fn let_through(&self, guard: ShrinkLimit, now: &InstanceCounts) -> Option<InstanceCounts> {
        let released = self.released.as_ref()?;
        let lost = self.lost(guard, now);
        let needed = lost.into_iter().filter_map(|(view, loss)| {
            let count = *released.0.get(view)?.get(&loss.service)?;
            Some((view.clone(), loss.service, count))
        });
        InstanceCounts::of_services(needed)
    }

    /// Returns the rest of the release once an attempt has ended: the part that still could not be applied without a
    /// release.
    #[must_use]
    pub fn settled(&self, guard: ShrinkLimit) -> Option<InstanceCounts> {
        self.let_through(guard, self.released.as_ref()?)
    }

    /// The baseline after a release of a blocked input.
    #[must_use]
    pub fn release(mut self, blocked: &Blocked) -> Self {
        let services: BTreeSet<&str> = blocked
            .losses
            .iter()
            .map(|it| it.service.as_str())
            .collect();
        let mut released = self.released.take().unwrap_or_default();
        for (view, has) in &blocked.counts.0 {
            for &service in &services {
                let now = has.get(service).copied().unwrap_or_default();
                let applied = self
                    .applied
                    .as_mut()
                    .and_then(|counts| counts.0.get_mut(view));
                if let Some(had) = applied.and_then(|had| had.get_mut(service)) {
                    *had = now.min(*had);
                }
                let released = released.0.entry(view.clone()).or_default();
                released.insert(service.to_owned(), now);
            }
        }
        self.released = Some(released).filter(|released| !released.0.is_empty());
        self
    }

    /// All losses that the shrink limit forbids, with their views.
    fn lost<'a>(&'a self, guard: ShrinkLimit, now: &InstanceCounts) -> Vec<(&'a ViewId, Loss)> {
        let mut worst: BTreeMap<(&ViewId, &String), u32> = BTreeMap::new();
        for counts in [&self.applied, &self.running].into_iter().flatten() {
            for (view, had) in &counts.0 {
                let Some(has) = now.0.get(view) else { continue };
                for (service, &had) in had {
                    let now = has.get(service).copied().unwrap_or_default();
                    if guard.forbids(had, now) {
                        let worst = worst.entry((view, service)).or_default();
                        *worst = had.max(*worst);
                    }
                }
            }
        }
        let loss = |((view, service), applied): ((&'a ViewId, &'a String), u32)| {
            let now = now.0.get(view).and_then(|has| has.get(service));
            let loss = Loss {
                service: service.clone(),
                applied,
                now: now.copied().unwrap_or_default(),
            };
            (view, loss)
        };
        worst.into_iter().map(loss).collect()
    }
}

impl Blocked {
    /// Compares the same input with a new baseline; returns `None` if the input is no longer blocked.
    #[must_use]
    pub fn again(&self, guard: ShrinkLimit, baseline: &Baseline) -> Option<Self> {
        let (losses, by_brake) = baseline.held(guard, self.brake.as_ref(), &self.counts);
        (!losses.is_empty()).then(|| Self {
            losses,
            brake: self.brake.clone().filter(|_reference| by_brake),
            ..self.clone()
        })
    }

    /// Returns whether no loss is larger than the one that a caller has `seen` for its service.
    pub fn is_within(&self, seen: &[Loss]) -> bool {
        let counts = |losses: &[Loss]| {
            let mut counts: BTreeMap<String, Vec<u32>> = BTreeMap::new();
            for loss in losses {
                counts
                    .entry(loss.service.clone())
                    .or_default()
                    .push(loss.now);
            }
            for counts in counts.values_mut() {
                counts.sort_unstable();
            }
            counts
        };
        let seen = counts(seen);
        counts(&self.losses).iter().all(|(service, now)| {
            // A service in several views has a separate loss in each.
            let seen = seen.get(service).map_or(&[][..], Vec::as_slice);
            now.len() <= seen.len() && now.iter().zip(seen).all(|(now, seen)| now >= seen)
        })
    }
}

impl InstanceCounts {
    /// Number of instances of each service in a stored input, by the bytes of its
    /// [contents](crate::FrozenInput::contents); `None` if these do not form an input.
    pub fn of_contents<'a>(contents: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Instance {
            name: String,
        }
        let mut contents = contents.into_iter();
        let definition = RunInput::definition_in(contents.next()?).ok()?;
        let mut counts = Self::default();
        for dependency in definition.dependencies() {
            let shown = contents.next()?;
            if dependency.view.item_kind() != ItemKind::Instances {
                continue;
            }
            let instances: Vec<Instance> = serde_json::from_slice(shown).ok()?;
            let services = counts.0.entry(dependency.view.id()).or_default();
            for instance in instances {
                *services.entry(instance.name).or_default() += 1;
            }
        }
        Some(counts)
    }

    /// The views, which may have no instances.
    pub(crate) fn views(&self) -> impl Iterator<Item = &ViewId> {
        self.0.keys()
    }

    /// The part of these counts in the views that `others` has.
    #[must_use]
    pub fn within(&self, others: &Self) -> Self {
        let views = self
            .0
            .iter()
            .filter(|(view, _)| others.0.contains_key(*view));
        views
            .map(|(view, services)| (view.clone(), services.clone()))
            .collect()
    }

    /// Number of instances of a service in a view.
    pub fn number(&self, view: &ViewId, service: &str) -> u32 {
        let services = self.0.get(view);
        services
            .and_then(|it| it.get(service))
            .copied()
            .unwrap_or_default()
    }

    /// Each service with its view and its number of instances.
    pub(crate) fn into_pairs(self) -> impl Iterator<Item = (ViewId, String, u32)> {
        self.0.into_iter().flat_map(|(view, services)| {
            let services = services.into_iter();
            services.map(move |(service, number)| (view.clone(), service, number))
        })
    }

    fn of_services(counts: impl IntoIterator<Item = (ViewId, String, u32)>) -> Option<Self> {
        let mut views = Self::default();
        for (view, service, count) in counts {
            views.0.entry(view).or_default().insert(service, count);
        }
        (!views.0.is_empty()).then_some(views)
    }
}

impl FromIterator<(ViewId, BTreeMap<String, u32>)> for InstanceCounts {
    /// Views, which may have no instances, each with its services.
    fn from_iter<I: IntoIterator<Item = (ViewId, BTreeMap<String, u32>)>>(views: I) -> Self {
        Self(views.into_iter().collect())
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            service,
            applied,
            now,
        } = self;
        write!(
            f,
            "{service} has {now} of the {applied} instances that were applied last"
        )
    }
}

/// Describes the losses in one line: the largest, and the number of the rest.
///
/// `None` without losses.
pub fn losses_text(losses: &[Loss]) -> Option<String> {
    let lost = |loss: &&Loss| loss.applied.saturating_sub(loss.now);
    let worst = losses.iter().max_by_key(lost)?;
    Some(match losses.len() - 1 {
        0 => worst.to_string(),
        more => format!("{worst} (and {more} more)"),
    })
}

#[cfg(test)]
mod tests;
