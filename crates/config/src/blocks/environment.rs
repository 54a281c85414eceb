//! The only place that names environment variables (docs/configuration.md#environment, #driver-terraform).

use std::collections::BTreeMap;
use std::path::PathBuf;

use cts_core::go::parse_bool;
use secrecy::{ExposeSecret, SecretString};

use crate::blocks::client_tls::ClientTls;
use crate::blocks::consul::{BasicAuth, ConsulConfig};
use crate::report::sink::Sink;

/// A setting that the environment supplies, by the names of its variables; the first one that is set wins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting(&'static [&'static str]);

/// Every variable that the configuration looks at.
impl Setting {
    pub(crate) const CONSUL_ADDRESS: Self = Self(&["CONSUL_HTTP_ADDR"]);
    pub(crate) const CONSUL_TOKEN: Self = Self(&["CONSUL_TOKEN", "CONSUL_HTTP_TOKEN"]);
    pub(crate) const CONSUL_TOKEN_FILE: Self = Self(&["CONSUL_HTTP_TOKEN_FILE"]);
    pub(crate) const CONSUL_BASIC_AUTH: Self = Self(&["CONSUL_HTTP_AUTH"]);
    pub(crate) const CONSUL_HTTPS: Self = Self(&["CONSUL_HTTP_SSL"]);
    pub(crate) const CONSUL_NAMESPACE: Self = Self(&["CONSUL_NAMESPACE"]);
    pub(crate) const CONSUL_PARTITION: Self = Self(&["CONSUL_PARTITION"]);
    pub(crate) const CONSUL_CA_CERT: Self = Self(&["CONSUL_CACERT"]);
    pub(crate) const CONSUL_CA_PATH: Self = Self(&["CONSUL_CAPATH"]);
    pub(crate) const CONSUL_CERT: Self = Self(&["CONSUL_CLIENT_CERT"]);
    pub(crate) const CONSUL_KEY: Self = Self(&["CONSUL_CLIENT_KEY"]);
    pub(crate) const CONSUL_SERVER_NAME: Self = Self(&["CONSUL_TLS_SERVER_NAME"]);
    pub(crate) const VAULT_ADDRESS: Self = Self(&["VAULT_ADDR"]);
    pub(crate) const VAULT_NAMESPACE: Self = Self(&["VAULT_NAMESPACE"]);
    pub(crate) const VAULT_TOKEN: Self = Self(&["VAULT_TOKEN"]);
    pub(crate) const VAULT_RENEW_TOKEN: Self = Self(&["VAULT_RENEW_TOKEN"]);
    pub(crate) const VAULT_UNWRAP_TOKEN: Self = Self(&["VAULT_UNWRAP_TOKEN"]);
    pub(crate) const VAULT_CA_CERT: Self = Self(&["VAULT_CACERT"]);
    pub(crate) const VAULT_CA_PATH: Self = Self(&["VAULT_CAPATH"]);
    pub(crate) const VAULT_CERT: Self = Self(&["VAULT_CLIENT_CERT"]);
    pub(crate) const VAULT_KEY: Self = Self(&["VAULT_CLIENT_KEY"]);
    pub(crate) const VAULT_SERVER_NAME: Self = Self(&["VAULT_TLS_SERVER_NAME"]);
    pub(crate) const VAULT_SKIP_VERIFY: Self = Self(&["VAULT_SKIP_VERIFY"]);
    pub(crate) const CLOUD_HOSTNAME: Self = Self(&["TFC_HOSTNAME"]);
    pub(crate) const CLOUD_ORGANIZATION: Self = Self(&["TFC_ORGANIZATION"]);
    pub(crate) const CLOUD_TOKEN: Self = Self(&["TFC_TOKEN"]);
    pub(crate) const PANOS_USERNAME: Self = Self(&["PANOS_USERNAME"]);
    pub(crate) const HOME: Self = Self(&["HOME"]);
    pub(crate) const DATABASE_URL: Self = Self(&["CTS_DATABASE_URL"]);
    pub(crate) const DATABASE_URL_FILE: Self = Self(&["CTS_DATABASE_URL_FILE"]);

    /// The variable that supplies it; the first where there are two.
    pub(crate) fn variable(self) -> &'static str {
        self.0.first().copied().unwrap_or_default()
    }
}

/// In which Terraform's `consul` backend looks; it does not know the first of the two above.
const BACKEND_TOKEN: &str = "CONSUL_HTTP_TOKEN";

/// The environment as the configuration sees it: trimmed, and empty is unset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment<'a> {
    variables: &'a BTreeMap<String, String>,
}

impl<'a> Environment<'a> {
    pub(crate) fn new(variables: &'a BTreeMap<String, String>) -> Self {
        Self { variables }
    }

    /// The variable that supplies `setting`, and its value.
    fn find(self, setting: Setting) -> Option<(&'static str, &'a str)> {
        setting.0.iter().find_map(|name| {
            let value = self.variables.get(*name)?.trim();
            (!value.is_empty()).then_some((*name, value))
        })
    }

    /// The value for `setting`; may be a secret.
    pub(crate) fn text(self, setting: Setting) -> Option<String> {
        self.find(setting).map(|(_, value)| value.to_owned())
    }

    /// A switch; any other value is ignored, with a warning.
    pub(crate) fn flag(self, setting: Setting, sink: &Sink) -> Option<bool> {
        let (name, value) = self.find(setting)?;
        let flag = parse_bool(value);
        if flag.is_none() {
            sink.warning_outside(format!(
                "environment variable {name} is ignored: it must be true or false, not {value:?}"
            ));
        }
        flag
    }

    /// The name of the variable, for messages, and the file that it names.
    pub(crate) fn file(self, setting: Setting) -> Option<(&'static str, PathBuf)> {
        let (name, path) = self.find(setting)?;
        Some((name, path.into()))
    }

    pub(crate) fn consul_basic_auth(self) -> Option<BasicAuth> {
        let (_, written) = self.find(Setting::CONSUL_BASIC_AUTH)?;
        let (username, password) = written.split_once(':').unwrap_or((written, ""));
        Some(BasicAuth {
            username: username.to_owned(),
            password: SecretString::from(password),
        })
    }

    /// `verify` has no variable: the one of the client library has no effect in the original.
    pub(crate) fn consul_tls(self) -> ClientTls {
        let text = |setting| self.text(setting).unwrap_or_default();
        ClientTls {
            ca_cert: text(Setting::CONSUL_CA_CERT),
            ca_path: text(Setting::CONSUL_CA_PATH),
            cert: text(Setting::CONSUL_CERT),
            key: text(Setting::CONSUL_KEY),
            server_name: text(Setting::CONSUL_SERVER_NAME),
            ..ClientTls::default()
        }
    }

    pub(crate) fn vault_tls(self, sink: &Sink) -> ClientTls {
        let skip = self.flag(Setting::VAULT_SKIP_VERIFY, sink);
        let text = |setting| self.text(setting).unwrap_or_default();
        ClientTls {
            verify: skip != Some(true),
            ca_cert: text(Setting::VAULT_CA_CERT),
            ca_path: text(Setting::VAULT_CA_PATH),
            cert: text(Setting::VAULT_CERT),
            key: text(Setting::VAULT_KEY),
            server_name: text(Setting::VAULT_SERVER_NAME),
            ..ClientTls::default()
        }
    }
}

/// The variables that Terraform's `consul` backend finds in the environment of its process
/// (docs/configuration.md#driver-terraform).
pub(crate) fn of_consul_backend(consul: &ConsulConfig) -> Vec<(String, SecretString)> {
    let mut variables = vec![(
        Setting::CONSUL_ADDRESS.variable().to_owned(),
        SecretString::from(consul.address.clone()),
    )];
    if let Some(token) = &consul.token {
        let value = SecretString::from(token.expose_secret());
        variables.push((BACKEND_TOKEN.to_owned(), value));
    }
    if let Some(auth) = &consul.auth {
        let value = format!("{}:{}", auth.username, auth.password.expose_secret());
        let name = Setting::CONSUL_BASIC_AUTH.variable().to_owned();
        variables.push((name, SecretString::from(value)));
    }
    if consul.tls.enabled {
        variables.extend(of_tls(&consul.tls));
    }
    variables
}

fn of_tls(tls: &ClientTls) -> impl Iterator<Item = (String, SecretString)> + '_ {
    [
        (Setting::CONSUL_CA_CERT, &tls.ca_cert),
        (Setting::CONSUL_CA_PATH, &tls.ca_path),
        (Setting::CONSUL_CERT, &tls.cert),
        (Setting::CONSUL_KEY, &tls.key),
        (Setting::CONSUL_SERVER_NAME, &tls.server_name),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(setting, value)| {
        let name = setting.variable().to_owned();
        (name, SecretString::from(value.as_str()))
    })
}
