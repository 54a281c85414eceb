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
    /// The rule of the files for a task: its own, else the default, but never less strict than that of the file's task
    /// of the same name, which the API has deleted. The API can only make it stricter.
    pub fn rule_of(self, own: Option<ApprovalRule>, deleted: Option<ApprovalRule>) -> FileRule {
        let (rule, source) = match own {
            Some(rule) => (rule, RuleSource::Task),
            None => (self.rule, RuleSource::Default),
        };
        match deleted {
            Some(deleted) if deleted > rule => FileRule {
                rule: deleted,
                source: RuleSource::DeletedTask,
            },
            _ => FileRule { rule, source },
        }
    }
}

/// The rule of the files for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRule {
    /// The rule.
    pub rule: ApprovalRule,
    /// The setting that the rule is from.
    pub source: RuleSource,
}

impl FileRule {
    /// The rule in force for a task whose API declaration has the rule `api`.
    pub fn in_force(self, api: Option<ApprovalRule>) -> ApprovalRule {
        self.rule.max(api.unwrap_or_default())
    }

    /// Returns the rule to store for a request with the rule `wanted`: `None` if the rule of the files says the same.
    pub fn accept(self, wanted: ApprovalRule) -> Result<Option<ApprovalRule>, LaxerRule> {
        if wanted < self.rule {
            return Err(LaxerRule {
                wanted,
                files: self,
            });
        }
        Ok(Some(wanted).filter(|wanted| *wanted > self.rule))
    }
}

spelled! {
    /// Settings of files that determine the rule of a task. The names are for display.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum RuleSource {
        /// The key of the task.
        Task = "`approval` of the task in the configuration",
        /// The key of the top level.
        Default = "`approval` at the top level of the configuration",
        /// The key of the task of this name that the API has deleted.
        DeletedTask = "`approval` of the configured task of this name, which the API has deleted",
    }
}

/// A request declares a rule that is less strict than that of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`approval` cannot be {:?}: {:?} is in force by {}, and the API can only make it stricter",
    .wanted.as_str(), .files.rule.as_str(), .files.source.as_str()
)]
pub struct LaxerRule {
    wanted: ApprovalRule,
    files: FileRule,
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
        let cases = [
            (Destroy, None, None, Destroy, RuleSource::Default),
            (Destroy, Some(Never), None, Never, RuleSource::Task),
            (Never, None, Some(Always), Always, RuleSource::DeletedTask),
            (Always, None, Some(Destroy), Always, RuleSource::Default),
        ];
        for (default, own, deleted, rule, source) in cases {
            let found = defaults(default).rule_of(own, deleted);
            assert_eq!(found, FileRule { rule, source });
        }
    }

    #[test]
    fn the_api_makes_rules_only_stricter() {
        let files = FileRule {
            rule: Destroy,
            source: RuleSource::Default,
        };
        assert_eq!(files.accept(Always), Ok(Some(Always)));
        assert_eq!(files.accept(Destroy), Ok(None));
        assert_eq!(
            files.accept(Never).unwrap_err().to_string(),
            "`approval` cannot be \"never\": \"destroy\" is in force by `approval` at the top level of the \
             configuration, and the API can only make it stricter"
        );
        let in_force = [None, Some(Never), Some(Always)].map(|api| files.in_force(api));
        assert_eq!(in_force, [Destroy, Destroy, Always]);
    }
}
