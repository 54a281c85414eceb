//! Versions that `security.strict` demands (docs/configuration.md#strict-mode).

use cts_core::{FAKE_SYNC, ProviderId, TaskDefinition};
use serde_json::{Map, Value};

use crate::allowed_sources::is_registry_source;
use crate::local_module::is_local;

/// Requires exact versions of modules and providers.
#[derive(Debug, Clone)]
pub(crate) struct RequiredPins {
    /// `required_providers` of the driver.
    providers: Map<String, Value>,
}

impl RequiredPins {
    pub(crate) fn new(providers: &Map<String, Value>) -> Self {
        Self {
            providers: providers.clone(),
        }
    }

    /// The problem with the module of a task.
    pub(crate) fn module_problem(task: &TaskDefinition) -> Option<String> {
        unpinned_module(task).map(|problem| {
            format!(
                "security.strict: the module of task {:?} {problem}",
                task.name.as_str()
            )
        })
    }

    /// The problem with a provider of a task.
    pub(crate) fn provider_problem(
        &self,
        task: &TaskDefinition,
        id: &ProviderId,
    ) -> Option<String> {
        let name = &id.name;
        let version = match self.providers.get(name) {
            Some(Value::Object(required)) => required.get("version"),
            constraint => constraint,
        };
        let version = version.and_then(Value::as_str);
        if name == FAKE_SYNC || version.is_some_and(is_exact) {
            return None;
        }
        Some(format!(
            "security.strict: the provider `{name}` of task {:?} has no exact version: write `version = \"1.2.3\"`, with the number that it shall have, for `{name}` in `required_providers` of the driver",
            task.name.as_str()
        ))
    }

    pub(crate) fn problems(&self, task: &TaskDefinition) -> Vec<String> {
        let providers = task.providers.iter();
        let providers = providers.filter_map(|id| self.provider_problem(task, id));
        Self::module_problem(task)
            .into_iter()
            .chain(providers)
            .collect()
    }
}

/// Why the module of a task is not one fixed version; `None` if it is. Local modules are pinned by their content.
pub fn unpinned_module(task: &TaskDefinition) -> Option<&'static str> {
    let source = task.module.as_str();
    let query = source.split_once('?').map_or("", |(_, query)| query);
    if is_local(source) {
        None
    } else if is_registry_source(source) {
        (!is_exact(&task.version)).then_some(
            "has no exact version: write `version = \"1.2.3\"`, with the number that it shall have",
        )
    } else if is_git(source) {
        (!has(query, "ref"))
            .then_some("comes from git without a version: write `?ref=` and a tag or commit at the end of `module`")
    } else if source.starts_with("hg::") {
        (!has(query, "rev"))
            .then_some("comes from Mercurial without a version: write `?rev=` and a revision at the end of `module`")
    } else {
        Some(
            "comes from where versions cannot be pinned: use a module of a registry with `version`, of git with `?ref=`, or a local one",
        )
    }
}

fn is_git(source: &str) -> bool {
    const BEGINNINGS: [&str; 4] = ["git::", "git@", "github.com/", "bitbucket.org/"];
    BEGINNINGS.iter().any(|begin| source.starts_with(begin))
}

/// The first value counts for Terraform.
fn has(query: &str, name: &str) -> bool {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .is_some_and(|(_, value)| !value.is_empty())
}

/// `1.2.3` or `= 1.2.3`, with a pre-release if there is one.
fn is_exact(constraint: &str) -> bool {
    let version = constraint.trim();
    let version = version.strip_prefix('=').unwrap_or(version).trim_start();
    let (numbers, suffix) = match version.find(['-', '+']) {
        Some(end) => (&version[..end], Some(&version[end + 1..])),
        None => (version, None),
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_of_suffix = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    let is_suffix = |suffix: &str| !suffix.is_empty() && suffix.bytes().all(is_of_suffix);
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && suffix.is_none_or(is_suffix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_version_has_three_numbers() {
        for exact in ["1.2.3", "=1.2.3", " = 1.2.3 ", "1.2.3-rc.1", "1.2.3+build"] {
            assert!(is_exact(exact), "{exact}");
        }
        for other in [
            "",
            "1",
            "1.2",
            "~> 1.2.3",
            ">= 1.2.3",
            "1.2.x",
            "1.2.3, < 2",
            "!= 1.2.3",
            "v1.2.3",
            "1.2.3-",
            "==1.2.3",
            "1.2.3.4",
        ] {
            assert!(!is_exact(other), "{other}");
        }
    }

    #[test]
    fn a_query_names_a_version() {
        assert!(has("depth=1&ref=v1", "ref"));
        for query in ["", "ref", "ref=", "ref=&ref=v1", "xref=v1", "Ref=v1"] {
            assert!(!has(query, "ref"), "{query}");
        }
    }
}
