//! The declarations of a module that affect its root module.

use std::collections::BTreeSet;

use crate::engine::provider::ProviderId;

/// The declarations of a module that affect its root module (docs/terraform.md#variablestf). Empty for a module with
/// unknown files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModuleInterface {
    /// Whether the type of the variable `services` has the attribute `ports`.
    pub takes_ports: bool,
    /// The providers that must be passed to the module, each with its alias (`configuration_aliases`).
    pub provider_aliases: BTreeSet<ProviderId>,
}

impl ModuleInterface {
    /// Whether the module can tell these instances of one provider apart: it declares the alias of each. At most one
    /// of them may be without an alias.
    pub fn distinguishes<'p>(&self, instances: impl IntoIterator<Item = &'p ProviderId>) -> bool {
        let mut instances = instances.into_iter();
        instances.all(|id| id.alias.is_none() || self.provider_aliases.contains(id))
    }
}
