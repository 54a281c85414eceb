//! Rules about which effects need the consent of a person (docs/runs.md#consent).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::callers::UnknownWord;
use crate::spelled;

spelled! {
    /// Which effects of a task need the consent of a person. Each rule includes the rules before it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ApprovalRule {
        /// None.
        #[default]
        Never = "never",
        /// Effects that destroy or replace an object, remove an object from the state, or ask a provider for an action.
        Destroy = "destroy",
        /// All that change something.
        Always = "always",
    }
}

impl FromStr for ApprovalRule {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|rule| rule.as_str() == text);
        found.ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// Rule and time of the files for tasks without their own: part of the configuration in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDefaults {
    /// Rule of tasks that have none themselves.
    pub rule: ApprovalRule,
    /// Time after which a consent that was not used expires.
    pub expires: Duration,
}

impl Default for ApprovalDefaults {
    fn default() -> Self {
        Self {
            rule: ApprovalRule::Never,
            expires: Duration::from_hours(24),
        }
    }
}

impl ApprovalDefaults {
    /// The rule in force for a task: its own in the present declaration, else the default, but never less strict than
    /// that of the file's task of the same name, which the API has deleted.
    pub fn rule_of(self, own: Option<ApprovalRule>, deleted: Option<ApprovalRule>) -> ApprovalRule {
        own.unwrap_or(self.rule).max(deleted.unwrap_or_default())
    }
}

impl fmt::Display for ApprovalDefaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, consents expire after {} s",
            self.rule.as_str(),
            self.expires.as_secs()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::ApprovalRule::{Always, Destroy, Never};
    use super::*;

    #[test]
    fn the_file_of_a_deleted_task_counts_for_its_successor() {
        let defaults = |rule| ApprovalDefaults {
            rule,
            ..ApprovalDefaults::default()
        };
        assert_eq!(defaults(Destroy).rule_of(None, None), Destroy);
        assert_eq!(defaults(Destroy).rule_of(Some(Never), None), Never);
        assert_eq!(defaults(Never).rule_of(None, Some(Always)), Always);
        assert_eq!(defaults(Always).rule_of(None, Some(Destroy)), Always);
    }
}
