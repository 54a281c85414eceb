//! The limit on lost instances (docs/runs.md#the-guard-against-lost-instances).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Number of instances of a service that a task may lose at once, compared with the last applied input.
///
/// Not a part of the input of runs: a changed limit gives no new input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShrinkLimit {
    /// A service with fewer instances than this may lose none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_instances: Option<u32>,
    /// Largest loss of a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_shrink: Option<MaxShrink>,
}

/// Largest loss of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum MaxShrink {
    /// This number of instances.
    Instances(u32),
    /// This percentage of the previous instances, at most 100.
    Percent(u8),
}

/// A text is neither a number nor a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is neither a number of instances, as in 3, nor a part of them, as in \"50%\"")]
pub struct InvalidMaxShrink;

impl ShrinkLimit {
    /// Returns whether no limit is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the limit forbids that a service goes from `applied` instances to `now`.
    pub fn forbids(&self, applied: u32, now: u32) -> bool {
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
        // The number parser of the standard library accepts a sign.
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
