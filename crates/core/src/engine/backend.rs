//! The Terraform state backend of all tasks (docs/configuration.md#driver-terraform).

use std::fmt;

use serde_json::{Map, Value};

/// A `backend` block of the generated root module. Arguments may hold credentials, so `Debug` shows
/// only the kind.
#[derive(Clone, PartialEq)]
pub struct Backend {
    /// Label, one of [`Backend::KINDS`].
    pub kind: String,
    /// Arguments as passed to Terraform; for `consul` the defaults are already filled in.
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

    /// The arguments of all kinds that are credentials (docs/terraform.md#credentials): no other argument of any
    /// backend has one of these names.
    pub const CREDENTIALS: [&'static str; 21] = [
        "access_key",
        "access_token",
        "client_certificate_password",
        "client_key",
        "client_secret",
        "conn_str",
        "credentials",
        "encryption_key",
        "http_auth",
        "key_material",
        "oidc_request_token",
        "oidc_token",
        "password",
        "sas_token",
        "secret_access_key",
        "secret_id",
        "secret_key",
        "security_token",
        "session_token",
        "sse_customer_key",
        "token",
    ];

    /// Whether the argument with this name is a credential with a value.
    pub fn is_credential(name: &str, value: &Value) -> bool {
        let says_nothing = value.is_null() || value == &Value::from("");
        Self::CREDENTIALS.contains(&name) && !says_nothing
    }

    /// The values of its credentials.
    pub fn credentials(&self) -> impl Iterator<Item = &Value> {
        let arguments = self.arguments.iter();
        let credentials = arguments.filter(|(name, value)| Self::is_credential(name, value));
        credentials.map(|(_name, value)| value)
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
