//! The variables of a generated root module, which are also arguments of its module call
//! (docs/terraform.md#variables-and-providers).

use crate::task::spec::TaskDefinition;
use crate::view::condition::{Condition, ModuleInput};
use crate::words::identity::TaskName;

/// Names that Terraform reserves in module calls.
const RESERVED: [&str; 8] = [
    "count",
    "depends_on",
    "for_each",
    "lifecycle",
    "locals",
    "providers",
    "source",
    "version",
];

/// A name cannot be used for a variable of a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VariableProblem {
    /// The name is not valid in Terraform.
    #[error(
        "variable {0:?} cannot be set: a name of Terraform is a letter or an underscore, then letters, digits, underscores \
         and hyphens"
    )]
    NoName(String),
    /// Terraform reserves the name.
    #[error("variable `{0}` cannot be set: Terraform keeps that name for itself")]
    Reserved(String),
    /// The module already gets an input with this name.
    #[error("variable `{0}` cannot be set: the module gets what the task watches by it")]
    Input(String),
    /// The root module has a different variable with that name.
    #[error(
        "variable `{0}` cannot be set: the root module has a variable of that name for the provider of the task"
    )]
    Provider(String),
}

impl TaskDefinition {
    /// The variables that pass the watched data to the module. Every module has `services`.
    pub fn input_variables(&self) -> Vec<&'static str> {
        let of_condition = match &self.condition {
            Condition::CatalogServices(condition) if condition.use_as_module_input => {
                Some("catalog_services")
            }
            Condition::ConsulKv(condition) if condition.use_as_module_input => Some("consul_kv"),
            _ => None,
        };
        let mut inputs = self.module_inputs.iter();
        let has_keys = inputs.any(|input| matches!(input, ModuleInput::ConsulKv(_)));
        let of_input = (has_keys && of_condition != Some("consul_kv")).then_some("consul_kv");
        let others = of_condition.into_iter().chain(of_input);
        std::iter::once("services").chain(others).collect()
    }

    /// Returns why no variable of the module can have this name; `None` if the name can be used.
    pub fn variable_problem(&self, name: &str) -> Option<VariableProblem> {
        let owned = || name.to_owned();
        // Variable names, like task names, are unquoted in the root module.
        if TaskName::new(name).is_err() {
            return Some(VariableProblem::NoName(owned()));
        }
        if RESERVED.contains(&name) {
            return Some(VariableProblem::Reserved(owned()));
        }
        if self.input_variables().contains(&name) {
            return Some(VariableProblem::Input(owned()));
        }
        let mut providers = self.providers.iter();
        let is_provider = providers.any(|provider| provider.name == name);
        is_provider.then(|| VariableProblem::Provider(owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::condition::KvQuery;

    #[test]
    fn names_that_are_taken_are_refused() {
        let keys = ModuleInput::ConsulKv(KvQuery::default());
        let task = TaskDefinition {
            providers: vec!["aws.east".into()],
            ..TaskDefinition::sample(Condition::NoCondition, vec![keys])
        };
        let problem = |name: &str| task.variable_problem(name);
        for name in [
            "size",
            "my-size",
            "_x",
            "catalog_services",
            "east",
            "aws.east2x",
        ] {
            let expected = name
                .contains('.')
                .then(|| VariableProblem::NoName(name.into()));
            assert_eq!(problem(name), expected, "{name}");
        }
        for name in RESERVED {
            assert_eq!(problem(name), Some(VariableProblem::Reserved(name.into())));
        }
        for name in ["services", "consul_kv"] {
            assert_eq!(problem(name), Some(VariableProblem::Input(name.into())));
        }
        assert_eq!(
            problem("aws"),
            Some(VariableProblem::Provider("aws".into()))
        );
        for name in ["", "a b", "${x}", "1a"] {
            assert_eq!(problem(name), Some(VariableProblem::NoName(name.into())));
        }
    }

    #[test]
    fn every_module_gets_services() {
        let nothing = TaskDefinition::sample(Condition::NoCondition, Vec::new());
        assert_eq!(nothing.input_variables(), ["services"]);
    }
}
