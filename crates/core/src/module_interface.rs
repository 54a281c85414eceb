//! The declarations of a module that its root module follows.

/// The declarations of a module that its root module follows (docs/terraform.md#variablestf). A module whose files are
/// not known declares none of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModuleInterface {
    /// Whether the type of the variable `services` has the attribute `ports`.
    pub takes_ports: bool,
}
