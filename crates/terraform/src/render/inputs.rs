//! Values of Consul that a module gets, in the order in which they are written
//! (docs/terraform.md#terraformtfvars).

use cts_core::{Condition, ModuleInput, ServicesQuery, TaskDefinition, View};

/// An input that a task watches.
pub(super) struct Input<'a> {
    pub(super) kind: InputKind<'a>,
    /// Whether the module gets the input; changes of other inputs still run the task.
    pub(super) is_rendered: bool,
    /// The views that the task watches for this input.
    pub(super) views: Vec<View>,
}

/// The variable that the module gets.
#[derive(Clone, Copy)]
pub(super) enum InputKind<'a> {
    /// `services`.
    Services(&'a ServicesQuery),
    /// `catalog_services`.
    CatalogServices,
    /// `consul_kv`.
    ConsulKv,
}

impl InputKind<'_> {
    /// The name of the variable.
    pub(super) const fn variable(self) -> &'static str {
        match self {
            Self::Services(_) => "services",
            Self::CatalogServices => "catalog_services",
            Self::ConsulKv => "consul_kv",
        }
    }
}

/// The inputs of a task: the deprecated list of services, the condition, then module inputs as configured.
pub(super) fn inputs(definition: &TaskDefinition) -> Vec<Input<'_>> {
    let mut inputs: Vec<Input<'_>> = condition(&definition.condition).into_iter().collect();
    inputs.extend(definition.module_inputs.iter().map(|input| Input {
        kind: match input {
            ModuleInput::Services(services) => InputKind::Services(services),
            ModuleInput::ConsulKv(_) => InputKind::ConsulKv,
        },
        is_rendered: true,
        views: input.views(),
    }));
    if !definition.services.is_empty() {
        // The sort is stable: the rest stays in order.
        inputs.sort_by_key(|input| !matches!(input.kind, InputKind::Services(_)));
    }
    inputs
}

fn condition(condition: &Condition) -> Option<Input<'_>> {
    let (kind, is_rendered) = match condition {
        Condition::NoCondition | Condition::Schedule(_) => return None,
        Condition::Services(services) => (
            InputKind::Services(&services.query),
            services.use_as_module_input,
        ),
        Condition::CatalogServices(catalog) => {
            (InputKind::CatalogServices, catalog.use_as_module_input)
        }
        Condition::ConsulKv(kv) => (InputKind::ConsulKv, kv.use_as_module_input),
    };
    Some(Input {
        kind,
        is_rendered,
        views: condition.views(),
    })
}
