//! The Terraform state backend of all tasks (docs/configuration.md#driver-terraform).

use std::fmt;

use serde_json::{Map, Value};

/// A `backend` block of the generated root module. Arguments may hold credentials, so `Debug` shows
/// only the kind.
#[derive(Clone, PartialEq)]
pub struct Backend {
    /// Label, one of [`Backend::KINDS`].
    pub kind: String,
    /// Arguments as Terraform gets them; for `consul` the defaults are already filled in.
    pub arguments: Map<String, Value>,
}

impl Backend {
    /// The kinds that are accepted.
    pub const KINDS: [&'static str; 9] = [
        "azurerm",
        "consul",
        "cos",
        "gcs",
        "kubernetes",
        "local",
        "manta",
        "pg",
        "s3",
    ];
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
