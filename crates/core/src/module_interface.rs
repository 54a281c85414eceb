//! The declarations of a module that its root module follows.

use std::collections::BTreeSet;

use crate::provider::ProviderId;

/// The declarations of a module that its root module follows (docs/terraform.md#variablestf). A module whose files are
/// not known declares none of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModuleInterface {
    /// Whether the type of the variable `services` has the attribute `ports`.
    pub takes_ports: bool,
    /// The providers that the module must be called with, each with its alias (`configuration_aliases`).
    pub provider_aliases: BTreeSet<ProviderId>,
}

impl ModuleInterface {
    /// Whether the module can tell these instances of one provider apart: it declares the alias of each. One of them may
    /// be without an alias.
    pub fn distinguishes<'p>(&self, instances: impl IntoIterator<Item = &'p ProviderId>) -> bool {
        let mut instances = instances.into_iter();
        instances.all(|id| id.alias.is_none() || self.provider_aliases.contains(id))
    }
}
