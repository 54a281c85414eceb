//! The only place that names environment variables (spec/config.md 2, 9.5).

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

use crate::consul::ConsulConfig;
use crate::sink::Sink;

const ADDRESS: &str = "CONSUL_HTTP_ADDR";
const TOKENS: [&str; 2] = ["CONSUL_TOKEN", "CONSUL_HTTP_TOKEN"];
const TOKEN_FILE: &str = "CONSUL_HTTP_TOKEN_FILE";
const BASIC_AUTH: &str = "CONSUL_HTTP_AUTH";
const HTTPS: &str = "CONSUL_HTTP_SSL";
const NAMESPACE: &str = "CONSUL_NAMESPACE";
const PARTITION: &str = "CONSUL_PARTITION";
const CA_CERT: &str = "CONSUL_CACERT";
const CA_PATH: &str = "CONSUL_CAPATH";
const CLIENT_CERT: &str = "CONSUL_CLIENT_CERT";
const CLIENT_KEY: &str = "CONSUL_CLIENT_KEY";
const TLS_SERVER_NAME: &str = "CONSUL_TLS_SERVER_NAME";
/// Ours. The name is for messages.
pub(crate) const DATABASE_URL: &str = "CTS_DATABASE_URL";

/// The environment as the configuration sees it: trimmed, and empty is unset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment<'a> {
    variables: &'a BTreeMap<String, String>,
}

impl<'a> Environment<'a> {
    pub(crate) fn new(variables: &'a BTreeMap<String, String>) -> Self {
        Self { variables }
    }

    fn get(self, name: &str) -> Option<String> {
        let value = self.variables.get(name)?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    pub(crate) fn consul_address(self) -> Option<String> {
        self.get(ADDRESS)
    }

    pub(crate) fn consul_token(self) -> Option<String> {
        TOKENS.iter().find_map(|name| self.get(name))
    }

    /// A file whose content beats any other token. The name of the variable is for messages.
    pub(crate) fn consul_token_file(self) -> Option<(&'static str, PathBuf)> {
        Some((TOKEN_FILE, self.get(TOKEN_FILE)?.into()))
    }

    /// User and password.
    pub(crate) fn consul_basic_auth(self) -> Option<(String, String)> {
        let written = self.get(BASIC_AUTH)?;
        let (user, password) = written.split_once(':').unwrap_or((&written, ""));
        Some((user.to_owned(), password.to_owned()))
    }

    pub(crate) fn consul_https(self, sink: &Sink) -> bool {
        match self.get(HTTPS).as_deref() {
            None | Some("0" | "f" | "F" | "FALSE" | "false" | "False") => false,
            Some("1" | "t" | "T" | "TRUE" | "true" | "True") => true,
            Some(other) => {
                sink.warning_outside(format!(
                    "environment variable {HTTPS} is ignored: it must be true or false, not {other:?}"
                ));
                false
            }
        }
    }

    pub(crate) fn consul_namespace(self) -> Option<String> {
        self.get(NAMESPACE)
    }

    pub(crate) fn consul_partition(self) -> Option<String> {
        self.get(PARTITION)
    }

    pub(crate) fn consul_ca_cert(self) -> Option<String> {
        self.get(CA_CERT)
    }

    pub(crate) fn consul_ca_path(self) -> Option<String> {
        self.get(CA_PATH)
    }

    pub(crate) fn consul_client_cert(self) -> Option<String> {
        self.get(CLIENT_CERT)
    }

    pub(crate) fn consul_client_key(self) -> Option<String> {
        self.get(CLIENT_KEY)
    }

    /// May hold a password.
    pub(crate) fn database_url(self) -> Option<String> {
        self.get(DATABASE_URL)
    }

    pub(crate) fn consul_tls_server_name(self) -> Option<String> {
        self.get(TLS_SERVER_NAME)
    }
}

/// What Terraform's `consul` backend finds in the environment of its process (spec/config.md 9.5).
pub(crate) fn of_consul_backend(consul: &ConsulConfig) -> Vec<(String, SecretString)> {
    let mut variables = vec![(
        ADDRESS.to_owned(),
        SecretString::from(consul.address.clone()),
    )];
    if let Some(token) = &consul.token {
        let value = SecretString::from(token.expose_secret());
        variables.push(("CONSUL_HTTP_TOKEN".to_owned(), value));
    }
    if consul.tls.enabled {
        let tls = &consul.tls;
        for (name, value) in [
            (CA_CERT, &tls.ca_cert),
            (CA_PATH, &tls.ca_path),
            (CLIENT_CERT, &tls.cert),
            (CLIENT_KEY, &tls.key),
            (TLS_SERVER_NAME, &tls.server_name),
        ] {
            if !value.is_empty() {
                variables.push((name.to_owned(), SecretString::from(value.as_str())));
            }
        }
    }
    variables
}
