//! The guard against a loss of instances: whether an input may be applied without a person's consent
//! (docs/runs.md#the-guard-against-lost-instances).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::view::ViewId;

/// How many instances of a service a task may lose at once, against the input that was applied last.
///
/// No part of what its runs depend on: another guard is no new input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShrinkGuard {
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
    /// So many instances.
    Instances(u32),
    /// So many in a hundred of those it had, at most 100.
    Percent(u8),
}

/// A text is neither a number nor a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is neither a number of instances, as in 3, nor a part of them, as in \"50%\"")]
pub struct InvalidMaxShrink;

/// How many instances each service has in an input, by the view that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InstanceCounts(BTreeMap<ViewId, BTreeMap<String, u32>>);

/// A service that has lost more than it may.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Loss {
    /// The service.
    pub service: String,
    /// Instances in the input that was applied last.
    pub applied: u32,
    /// Instances in the one that waits.
    pub now: u32,
}

/// An input that is not applied before a person consents or the data recover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// When the task was held first.
    pub since: DateTime<Utc>,
    /// Why; at least one.
    pub losses: Vec<Loss>,
    /// The instances of the input that waits.
    pub counts: InstanceCounts,
}

impl ShrinkGuard {
    /// Whether it guards nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The services that have lost more than they may.
    ///
    /// Only views are compared that both inputs have: a task that is to watch something else loses nothing.
    pub fn losses(&self, applied: &InstanceCounts, now: &InstanceCounts) -> Vec<Loss> {
        let mut losses = Vec::new();
        for (view, had) in &applied.0 {
            let Some(has) = now.0.get(view) else { continue };
            for (service, &applied) in had {
                let now = has.get(service).copied().unwrap_or_default();
                if self.forbids(applied, now) {
                    losses.push(Loss {
                        service: service.clone(),
                        applied,
                        now,
                    });
                }
            }
        }
        losses
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

/// The losses in one line: the worst, and how many more there are.
///
/// `None` if there are none.
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

    fn holds(guard: ShrinkGuard, applied: u32, now: u32) -> bool {
        let losses = guard.losses(&counts(&[("web", applied)]), &counts(&[("web", now)]));
        !losses.is_empty()
    }

    fn min(instances: u32) -> ShrinkGuard {
        ShrinkGuard {
            min_instances: Some(instances),
            ..ShrinkGuard::default()
        }
    }

    fn max(text: &str) -> ShrinkGuard {
        ShrinkGuard {
            max_shrink: Some(text.parse().unwrap()),
            ..ShrinkGuard::default()
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
            (ShrinkGuard::default(), 10, 0, false),
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
        let applied = counts(&[("api", 4), ("db", 2), ("web", 9)]);
        let losses = max("50%").losses(&applied, &counts(&[("db", 2), ("web", 4), ("new", 1)]));
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
        assert_eq!(max("50%").losses(&applied, &InstanceCounts::default()), []);
        let elsewhere = in_view("w", &[]);
        assert_eq!(max("50%").losses(&applied, &elsewhere), []);
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
        #[test]
        fn what_loses_nothing_is_never_held_and_losing_more_is_no_way_out(
            min_instances in proptest::option::of(0_u32..12),
            percent in proptest::option::of(0_u8..=100),
            applied in 0_u32..12,
            now in 0_u32..12,
        ) {
            let guard = ShrinkGuard { min_instances, max_shrink: percent.map(MaxShrink::Percent) };
            if now >= applied {
                prop_assert!(!holds(guard, applied, now));
            } else if holds(guard, applied, now) && now > 0 {
                prop_assert!(holds(guard, applied, now - 1));
            }
            prop_assert!(!holds(guard, now, now), "what was released is applied");
        }

        #[test]
        fn a_guard_is_stored_and_read(min in proptest::option::of(any::<u32>()), most in any::<u32>()) {
            let guard = ShrinkGuard { min_instances: min, max_shrink: Some(MaxShrink::Instances(most)) };
            let stored = serde_json::to_string(&guard).unwrap();
            prop_assert_eq!(serde_json::from_str::<ShrinkGuard>(&stored).unwrap(), guard);
        }
    }
}
