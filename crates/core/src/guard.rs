//! The limit on lost instances: whether an input may be applied without an operator's consent
//! (docs/runs.md#the-guard-against-lost-instances).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::input::RunInput;
use crate::view::{ItemKind, ViewId};

/// How many instances of a service a task may lose at once, against the input that was applied last.
///
/// No part of what its runs depend on: another guard is no new input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShrinkLimit {
    /// A service that has fewer instances than this may lose none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_instances: Option<u32>,
    /// A service may lose no more than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_shrink: Option<MaxShrink>,
}

/// The most that a service may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum MaxShrink {
    /// This number of instances.
    Instances(u32),
    /// This percentage of its instances before, at most 100.
    Percent(u8),
}

/// A text is neither a number nor a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is neither a number of instances, as in 3, nor a part of them, as in \"50%\"")]
pub struct InvalidMaxShrink;

/// How many instances each service has in an input, by the view that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InstanceCounts(BTreeMap<ViewId, BTreeMap<String, u32>>);

/// Instance counts that an input is compared with before it is applied.
///
/// Each of these counts for itself: a failed attempt leaves the input that was applied before it, and a
/// successful one takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline {
    /// The input that was applied last, in which services that an operator has released have no more than what was released;
    /// `None` if nothing is known of it.
    pub applied: Option<InstanceCounts>,
    /// The input that is being applied.
    pub running: Option<InstanceCounts>,
    /// Instance counts that an operator has released, by service, as long as something else than that input may
    /// be applied before it.
    pub released: Option<InstanceCounts>,
}

/// A service that has lost more than it may.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Loss {
    /// The service.
    pub service: String,
    /// Instances in the input that was applied last or is being applied: the most of what it may not fall from.
    pub applied: u32,
    /// Instances in the one that waits.
    pub now: u32,
}

/// An input that is not applied before an operator consents or the data recover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Time when the task was held first.
    pub since: DateTime<Utc>,
    /// Losses that hold the task; at least one.
    pub losses: Vec<Loss>,
    /// The instances of the input that waits.
    pub counts: InstanceCounts,
}

impl ShrinkLimit {
    /// Returns whether no limit is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn forbids(&self, applied: u32, now: u32) -> bool {
        let lost = applied.saturating_sub(now);
        if lost == 0 {
            return false;
        }
        let too_few = self.min_instances.is_some_and(|min| now < min);
        let too_many = self.max_shrink.is_some_and(|max| match max {
            MaxShrink::Instances(most) => lost > most,
            MaxShrink::Percent(most) => {
                u64::from(lost) * 100 > u64::from(applied) * u64::from(most)
            }
        });
        too_few || too_many
    }
}

impl Baseline {
    /// The services that have lost more than they may, against what was applied last or against what is being applied, and
    /// that were not released.
    ///
    /// Only views are compared that both inputs have: a task that is to watch something else loses nothing.
    pub fn losses(&self, guard: ShrinkLimit, now: &InstanceCounts) -> Vec<Loss> {
        let losses = self.lost(guard, now).into_iter();
        let held = losses.filter(|(view, loss)| {
            let released = self.released.as_ref();
            let released = released.and_then(|counts| counts.0.get(*view)?.get(&loss.service));
            released.is_none_or(|&released| guard.forbids(released, loss.now))
        });
        held.map(|(_, loss)| loss).collect()
    }

    /// Returns the rest of the release once an input with so many instances is let through: the part that this
    /// input needs.
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

    /// Returns the rest of the release once an attempt has ended: the part that could not be applied yet
    /// without a release.
    #[must_use]
    pub fn settled(&self, guard: ShrinkLimit) -> Option<InstanceCounts> {
        self.let_through(guard, self.released.as_ref()?)
    }

    /// The baseline after a release of what is held.
    #[must_use]
    pub fn release(mut self, hold: &Blocked) -> Self {
        let services: BTreeSet<&str> = hold.losses.iter().map(|it| it.service.as_str()).collect();
        let mut released = self.released.take().unwrap_or_default();
        for (view, has) in &hold.counts.0 {
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

    /// All losses that the guard forbids, with their views.
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
    /// Compares the same input with another baseline; returns `None` if nothing holds the input any more.
    #[must_use]
    pub fn again(&self, guard: ShrinkLimit, baseline: &Baseline) -> Option<Self> {
        let losses = baseline.losses(guard, &self.counts);
        (!losses.is_empty()).then(|| Self {
            losses,
            ..self.clone()
        })
    }

    /// Returns whether the losses are no larger than the ones that a caller has `seen`, service by service.
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
            // One service in several views has a loss in each.
            let seen = seen.get(service).map_or(&[][..], Vec::as_slice);
            now.len() <= seen.len() && now.iter().zip(seen).all(|(now, seen)| now >= seen)
        })
    }
}

impl InstanceCounts {
    /// How many instances each service has in a stored input, by the bytes of its
    /// [contents](crate::FrozenInput::contents); `None` if they are not those of an input.
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

    fn of_services(counts: impl IntoIterator<Item = (ViewId, String, u32)>) -> Option<Self> {
        let mut views = Self::default();
        for (view, service, count) in counts {
            views.0.entry(view).or_default().insert(service, count);
        }
        (!views.0.is_empty()).then_some(views)
    }
}

impl FromIterator<(ViewId, BTreeMap<String, u32>)> for InstanceCounts {
    /// Views, which may show no instance, each with its services.
    fn from_iter<I: IntoIterator<Item = (ViewId, BTreeMap<String, u32>)>>(views: I) -> Self {
        Self(views.into_iter().collect())
    }
}

impl fmt::Display for MaxShrink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instances(most) => write!(f, "{most}"),
            Self::Percent(most) => write!(f, "{most}%"),
        }
    }
}

impl FromStr for MaxShrink {
    type Err = InvalidMaxShrink;

    fn from_str(text: &str) -> Result<Self, InvalidMaxShrink> {
        let parsed = match text.strip_suffix('%') {
            Some(percent) => percent
                .parse()
                .ok()
                .filter(|percent| *percent <= 100)
                .map(Self::Percent),
            None => text.parse().ok().map(Self::Instances),
        };
        // Numbers of the library may have a sign.
        parsed
            .filter(|_| !text.starts_with('+'))
            .ok_or(InvalidMaxShrink)
    }
}

impl From<MaxShrink> for String {
    fn from(max: MaxShrink) -> Self {
        max.to_string()
    }
}

impl TryFrom<String> for MaxShrink {
    type Error = InvalidMaxShrink;

    fn try_from(text: String) -> Result<Self, InvalidMaxShrink> {
        text.parse()
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

/// Describes the losses in one line: the worst, and the number of the others.
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn in_view(view: &str, services: &[(&str, u32)]) -> InstanceCounts {
        let services = services.iter();
        let services = services.map(|(name, count)| ((*name).to_owned(), *count));
        [(ViewId::new(view), services.collect())]
            .into_iter()
            .collect()
    }

    fn counts(services: &[(&str, u32)]) -> InstanceCounts {
        in_view("v", services)
    }

    fn applied(counts: InstanceCounts) -> Baseline {
        Baseline {
            applied: Some(counts),
            ..Baseline::default()
        }
    }

    fn web(count: u32) -> InstanceCounts {
        counts(&[("web", count)])
    }

    fn holds(guard: ShrinkLimit, before: u32, now: u32) -> bool {
        let losses = applied(web(before)).losses(guard, &web(now));
        !losses.is_empty()
    }

    fn min(instances: u32) -> ShrinkLimit {
        ShrinkLimit {
            min_instances: Some(instances),
            ..ShrinkLimit::default()
        }
    }

    fn max(text: &str) -> ShrinkLimit {
        ShrinkLimit {
            max_shrink: Some(text.parse().unwrap()),
            ..ShrinkLimit::default()
        }
    }

    #[test]
    fn what_may_be_lost_is_a_number_or_a_part() {
        for (guard, applied, now, held) in [
            (max("50%"), 10, 5, false),
            (max("50%"), 10, 4, true),
            (max("50%"), 1, 0, true),
            (max("0%"), 10, 9, true),
            (max("100%"), 10, 0, false),
            (max("2"), 10, 8, false),
            (max("2"), 10, 7, true),
            (max("0"), 10, 9, true),
            (min(3), 10, 3, false),
            (min(3), 10, 2, true),
            (min(3), 2, 2, false),
            (min(3), 2, 1, true),
            (min(3), 0, 2, false),
            (min(3), 1, 2, false),
            (ShrinkLimit::default(), 10, 0, false),
        ] {
            assert_eq!(
                holds(guard, applied, now),
                held,
                "{guard:?} {applied} {now}"
            );
        }
    }

    #[test]
    fn each_service_is_looked_at_and_a_view_that_is_not_watched_any_more_is_not() {
        let applied = applied(counts(&[("api", 4), ("db", 2), ("web", 9)]));
        let now = counts(&[("db", 2), ("web", 4), ("new", 1)]);
        let losses = applied.losses(max("50%"), &now);
        let text: Vec<_> = losses.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "api has 0 of the 4 instances that were applied last",
                "web has 4 of the 9 instances that were applied last",
            ]
        );
        let text_of_all = losses_text(&losses).unwrap();
        assert_eq!(
            text_of_all,
            "web has 4 of the 9 instances that were applied last (and 1 more)"
        );
        assert_eq!(losses_text(&losses[..1]).unwrap(), text[0]);
        assert_eq!(losses_text(&[]), None);
        let nothing = InstanceCounts::default();
        assert_eq!(applied.losses(max("50%"), &nothing), []);
        let elsewhere = in_view("w", &[]);
        assert_eq!(applied.losses(max("50%"), &elsewhere), []);
    }

    fn hold(baseline: &Baseline, guard: ShrinkLimit, now: u32) -> Blocked {
        Blocked {
            since: DateTime::default(),
            losses: baseline.losses(guard, &web(now)),
            counts: web(now),
        }
    }

    #[test]
    fn what_was_applied_last_counts_and_what_runs_as_well() {
        let baseline = |applied, running| Baseline {
            applied: Some(web(applied)),
            running: Some(web(running)),
            released: None,
        };
        let lost = |baseline: Baseline, now| {
            let losses = baseline.losses(max("50%"), &web(now)).into_iter();
            losses.map(|loss| loss.applied).collect::<Vec<_>>()
        };
        assert_eq!(lost(baseline(8, 7), 4), [0; 0]);
        assert_eq!(lost(baseline(8, 7), 3), [8]);
        assert_eq!(
            lost(baseline(8, 4), 2),
            [8],
            "small steps, none of them applied"
        );
        assert_eq!(lost(baseline(4, 10), 4), [10]);
        assert_eq!(lost(baseline(9, 10), 1), [10], "the most");
    }

    #[test]
    fn a_release_lasts_until_what_ran_before_it_is_past() {
        let guard = max("50%");
        let before = Baseline {
            applied: Some(web(8)),
            running: Some(web(7)),
            released: None,
        };
        let released = before.clone().release(&hold(&before, guard, 1));
        assert_eq!(released.applied, Some(web(1)));
        assert_eq!(released.losses(guard, &web(1)), []);
        assert_eq!(released.losses(guard, &web(2)), []);
        assert_eq!(
            released.losses(guard, &web(0)).len(),
            1,
            "it was for what was held"
        );
        // The run succeeds that was under way, and the release is still needed.
        let after = Baseline {
            applied: Some(web(7)),
            running: None,
            released: released.let_through(guard, &web(1)),
        };
        assert_eq!(after.losses(guard, &web(1)), []);
        assert_eq!(after.settled(guard), Some(web(1)));
        // Then what was released.
        let applied = Baseline {
            applied: Some(web(1)),
            ..after.clone()
        };
        assert_eq!(applied.settled(guard), None);
        // Or the instances are back first: a later loss is a new one.
        assert_eq!(after.let_through(guard, &web(7)), None);
        // Losses of a service that was not released are never forgiven.
        let two = |web, api| counts(&[("web", web), ("api", api)]);
        let both = Baseline {
            applied: Some(two(8, 8)),
            ..applied
        };
        let held = Blocked {
            since: DateTime::default(),
            losses: both.losses(guard, &two(1, 8)),
            counts: two(1, 8),
        };
        let losses = both.release(&held).losses(guard, &two(1, 3));
        assert_eq!(losses.len(), 1);
        assert_eq!(losses[0].service, "api");
    }

    #[test]
    fn what_a_caller_has_seen_is_compared_by_service() {
        let loss = |service: &str, now| Loss {
            service: service.to_owned(),
            applied: 9,
            now,
        };
        let hold = |losses: &[Loss]| Blocked {
            since: DateTime::default(),
            losses: losses.to_vec(),
            counts: InstanceCounts::default(),
        };
        let held = hold(&[loss("web", 3), loss("api", 1)]);
        assert!(held.is_within(&[loss("api", 1), loss("web", 3)]));
        assert!(held.is_within(&[loss("api", 0), loss("web", 2), loss("db", 0)]));
        assert!(
            !held.is_within(&[loss("api", 1), loss("web", 4)]),
            "more is lost"
        );
        assert!(!held.is_within(&[loss("web", 3)]), "another service");
        assert!(!held.is_within(&[]));
        let views = hold(&[loss("web", 3), loss("web", 1)]);
        assert!(views.is_within(&[loss("web", 1), loss("web", 3)]));
        assert!(!views.is_within(&[loss("web", 1)]));
    }

    fn counted(hold: &Blocked) -> Option<u32> {
        let services = hold.counts.0.values().next()?;
        Some(services.get("web").copied().unwrap_or_default())
    }

    /// A step in the life of a task.
    #[derive(Debug, Clone)]
    enum Happens {
        Seen(u32),
        Leased,
        Applied,
        Failed,
        Retried,
        Released,
    }

    fn happens() -> impl Strategy<Value = Happens> {
        prop_oneof![
            4 => (0_u32..12).prop_map(Happens::Seen),
            3 => Just(Happens::Leased),
            2 => Just(Happens::Applied),
            2 => Just(Happens::Failed),
            2 => Just(Happens::Retried),
            1 => Just(Happens::Released),
        ]
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for text in [
            "",
            "%",
            "-1",
            "101%",
            "5.5",
            "1.5%",
            "half",
            "+3",
            " 3",
            "50 %",
            "99999999999",
        ] {
            assert_eq!(text.parse::<MaxShrink>(), Err(InvalidMaxShrink), "{text:?}");
        }
        for text in ["0", "3", "0%", "100%"] {
            assert_eq!(text.parse::<MaxShrink>().unwrap().to_string(), text);
        }
    }

    proptest! {
        /// Whatever the order of applies and failures, what is applied has lost no more than it may against what was applied
        /// last, unless an operator has released it, and what is held goes on once nothing forbids it any more.
        #[test]
        fn no_order_of_attempts_walks_past_the_limit(
            percent in 0_u8..=100, first in 0_u32..12, steps in proptest::collection::vec(happens(), 0..40),
        ) {
            let guard = max(&format!("{percent}%"));
            let mut last = first;
            let mut least_released: Option<u32> = None;
            let mut baseline = applied(web(first));
            let (mut queued, mut running, mut held): (Option<u32>, Option<u32>, Option<Blocked>) = (None, None, None);
            for step in steps {
                let mut look = None;
                match step {
                    Happens::Seen(now) => look = Some(now),
                    Happens::Leased => if running.is_none() && let Some(input) = queued.take() {
                        running = Some(input);
                        baseline.running = Some(web(input));
                    },
                    Happens::Applied => if let Some(input) = running.take() {
                        let permitted = !guard.forbids(last, input)
                            || least_released.is_some_and(|released| !guard.forbids(released, input));
                        prop_assert!(permitted, "{} of {}", input, last);
                        if least_released.is_some_and(|released| input <= released) {
                            least_released = None;
                        }
                        last = input;
                        (baseline.applied, baseline.running) = (Some(web(input)), None);
                        baseline.released = baseline.settled(guard);
                        held = held.and_then(|hold| hold.again(guard, &baseline).ok_or(()).map_err(|()| look = counted(&hold)).ok());
                    },
                    Happens::Failed => if running.take().is_some() {
                        baseline.running = None;
                        baseline.released = baseline.settled(guard);
                        held = held.and_then(|hold| hold.again(guard, &baseline).ok_or(()).map_err(|()| look = counted(&hold)).ok());
                    },
                    Happens::Retried => if let Some(input) = running.take() {
                        queued = queued.or(Some(input));
                        baseline.running = None;
                        baseline.released = baseline.settled(guard);
                        held = held.and_then(|hold| hold.again(guard, &baseline).ok_or(()).map_err(|()| look = counted(&hold)).ok());
                    },
                    Happens::Released => if let Some(hold) = held.take() {
                        look = counted(&hold);
                        least_released = look.into_iter().chain(least_released).min();
                        baseline = baseline.release(&hold);
                    },
                }
                if let Some(now) = look {
                    let looked = hold(&baseline, guard, now);
                    if looked.losses.is_empty() {
                        baseline.released = baseline.let_through(guard, &web(now));
                        queued = Some(now);
                        held = None;
                    } else {
                        held = Some(looked);
                    }
                }
                let is_free = held.as_ref().is_none_or(|hold| hold.again(guard, &baseline).is_some());
                prop_assert!(is_free, "what is held is held for a reason");
            }
        }

        #[test]
        fn what_loses_nothing_is_never_held_and_losing_more_is_no_way_out(
            min_instances in proptest::option::of(0_u32..12),
            percent in proptest::option::of(0_u8..=100),
            applied in 0_u32..12,
            now in 0_u32..12,
        ) {
            let guard = ShrinkLimit { min_instances, max_shrink: percent.map(MaxShrink::Percent) };
            if now >= applied {
                prop_assert!(!holds(guard, applied, now));
            } else if holds(guard, applied, now) && now > 0 {
                prop_assert!(holds(guard, applied, now - 1));
            }
            prop_assert!(!holds(guard, now, now), "what was released is applied");
        }

        #[test]
        fn a_guard_is_stored_and_read(min in proptest::option::of(any::<u32>()), most in any::<u32>()) {
            let guard = ShrinkLimit { min_instances: min, max_shrink: Some(MaxShrink::Instances(most)) };
            let stored = serde_json::to_string(&guard).unwrap();
            prop_assert_eq!(serde_json::from_str::<ShrinkLimit>(&stored).unwrap(), guard);
        }
    }
}
