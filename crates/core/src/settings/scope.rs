//! The blocks that a task uses.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::provider::ProviderId;
use crate::task::spec::TaskDefinition;

/// Name of the block of the state backend.
pub const BACKEND_BLOCK: &str = "backend";

/// Beginning of the names of `required_providers` entries.
pub(super) const REQUIRED_PROVIDER: &str = "required_provider ";

/// The blocks that the runs of a task use, by name, in the order of the task. Tasks with the same blocks have the
/// same settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SettingsScope(Vec<String>);

impl SettingsScope {
    /// The blocks that this task names.
    pub fn of(definition: &TaskDefinition) -> Self {
        let mut blocks = vec![BACKEND_BLOCK.to_owned()];
        for id in &definition.providers {
            blocks.push(provider_block(id));
            let required = required_provider(&id.name);
            if !blocks.contains(&required) {
                blocks.push(required);
            }
        }
        Self(blocks)
    }

    /// The names of the blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for SettingsScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// Name of the provider block that `id` selects for a task.
pub fn provider_block(id: &ProviderId) -> String {
    format!("provider {id}")
}

/// Returns the block name for the `required_providers` entry of a provider.
pub fn required_provider(name: &str) -> String {
    format!("{REQUIRED_PROVIDER}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::condition::Condition;

    #[test]
    fn the_scope_of_a_task_has_each_block_that_it_names_once() {
        let mut definition = TaskDefinition::sample(Condition::NoCondition, Vec::new());
        definition.providers = vec!["aws.east".into(), "aws.west".into(), "dns".into()];
        let scope = SettingsScope::of(&definition);
        assert_eq!(
            scope.to_string(),
            "backend, provider aws.east, required_provider aws, provider aws.west, provider dns, required_provider dns"
        );
        let stored = serde_json::to_string(&scope).unwrap();
        assert_eq!(
            serde_json::from_str::<SettingsScope>(&stored).unwrap(),
            scope
        );
    }
}
