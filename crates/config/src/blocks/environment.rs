//! The only place that names environment variables (docs/configuration.md#environment, #driver-terraform).

use std::collections::BTreeMap;
use std::path::PathBuf;

use cts_core::go::parse_bool;
use secrecy::{ExposeSecret, SecretString};

use crate::blocks::client_tls::{ClientTls, SuppliedTls};
use crate::blocks::consul::ConsulConfig;
use crate::report::sink::Sink;

/// The setting that a variable supplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    ConsulAddress,
    ConsulToken,
    ConsulTokenFile,
    ConsulBasicAuth,
    ConsulHttps,
    ConsulNamespace,
    ConsulPartition,
    ConsulCaCert,
    ConsulCaPath,
    ConsulCert,
    ConsulKey,
    ConsulServerName,
    VaultAddress,
    VaultNamespace,
    VaultToken,
    VaultRenewToken,
    VaultUnwrapToken,
    VaultCaCert,
    VaultCaPath,
    VaultCert,
    VaultKey,
    VaultServerName,
    VaultSkipVerify,
    CloudHostname,
    CloudOrganization,
    CloudToken,
    PanosUsername,
    Home,
    DatabaseUrl,
}

impl Setting {
    /// The variable that supplies it; the first where there are two.
    pub(crate) fn variable(self) -> &'static str {
        let found = VARIABLES.iter().find(|(_, supplied)| *supplied == self);
        found.map_or("", |(name, _)| name)
    }
}

/// Every variable that the configuration looks at; of two for one setting the first wins.
const VARIABLES: [(&str, Setting); 30] = [
    ("CONSUL_HTTP_ADDR", Setting::ConsulAddress),
    ("CONSUL_TOKEN", Setting::ConsulToken),
    ("CONSUL_HTTP_TOKEN", Setting::ConsulToken),
    ("CONSUL_HTTP_TOKEN_FILE", Setting::ConsulTokenFile),
    ("CONSUL_HTTP_AUTH", Setting::ConsulBasicAuth),
    ("CONSUL_HTTP_SSL", Setting::ConsulHttps),
    ("CONSUL_NAMESPACE", Setting::ConsulNamespace),
    ("CONSUL_PARTITION", Setting::ConsulPartition),
    ("CONSUL_CACERT", Setting::ConsulCaCert),
    ("CONSUL_CAPATH", Setting::ConsulCaPath),
    ("CONSUL_CLIENT_CERT", Setting::ConsulCert),
    ("CONSUL_CLIENT_KEY", Setting::ConsulKey),
    ("CONSUL_TLS_SERVER_NAME", Setting::ConsulServerName),
    ("VAULT_ADDR", Setting::VaultAddress),
    ("VAULT_NAMESPACE", Setting::VaultNamespace),
    ("VAULT_TOKEN", Setting::VaultToken),
    ("VAULT_RENEW_TOKEN", Setting::VaultRenewToken),
    ("VAULT_UNWRAP_TOKEN", Setting::VaultUnwrapToken),
    ("VAULT_CACERT", Setting::VaultCaCert),
    ("VAULT_CAPATH", Setting::VaultCaPath),
    ("VAULT_CLIENT_CERT", Setting::VaultCert),
    ("VAULT_CLIENT_KEY", Setting::VaultKey),
    ("VAULT_TLS_SERVER_NAME", Setting::VaultServerName),
    ("VAULT_SKIP_VERIFY", Setting::VaultSkipVerify),
    ("TFC_HOSTNAME", Setting::CloudHostname),
    ("TFC_ORGANIZATION", Setting::CloudOrganization),
    ("TFC_TOKEN", Setting::CloudToken),
    ("PANOS_USERNAME", Setting::PanosUsername),
    ("HOME", Setting::Home),
    ("CTS_DATABASE_URL", Setting::DatabaseUrl),
];

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
        VARIABLES
            .iter()
            .filter(|(_, supplied)| *supplied == setting)
            .find_map(|(name, _)| {
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

    /// User and password.
    pub(crate) fn consul_basic_auth(self) -> Option<(String, String)> {
        let (_, written) = self.find(Setting::ConsulBasicAuth)?;
        let (user, password) = written.split_once(':').unwrap_or((written, ""));
        Some((user.to_owned(), password.to_owned()))
    }

    /// `verify` has no variable: the one of the client library has no effect in the original.
    pub(crate) fn consul_tls(self) -> SuppliedTls {
        SuppliedTls {
            verify: None,
            ca_cert: self.text(Setting::ConsulCaCert),
            ca_path: self.text(Setting::ConsulCaPath),
            cert: self.text(Setting::ConsulCert),
            key: self.text(Setting::ConsulKey),
            server_name: self.text(Setting::ConsulServerName),
        }
    }

    pub(crate) fn vault_tls(self, sink: &Sink) -> SuppliedTls {
        let skip = self.flag(Setting::VaultSkipVerify, sink);
        SuppliedTls {
            verify: skip.map(|skip| !skip),
            ca_cert: self.text(Setting::VaultCaCert),
            ca_path: self.text(Setting::VaultCaPath),
            cert: self.text(Setting::VaultCert),
            key: self.text(Setting::VaultKey),
            server_name: self.text(Setting::VaultServerName),
        }
    }
}

/// The variables that Terraform's `consul` backend finds in the environment of its process
/// (docs/configuration.md#driver-terraform).
pub(crate) fn of_consul_backend(consul: &ConsulConfig) -> Vec<(String, SecretString)> {
    let mut variables = vec![(
        Setting::ConsulAddress.variable().to_owned(),
        SecretString::from(consul.address.clone()),
    )];
    if let Some(token) = &consul.token {
        let value = SecretString::from(token.expose_secret());
        variables.push((BACKEND_TOKEN.to_owned(), value));
    }
    if let Some(auth) = &consul.auth {
        let value = format!("{}:{}", auth.username, auth.password.expose_secret());
        let name = Setting::ConsulBasicAuth.variable().to_owned();
        variables.push((name, SecretString::from(value)));
    }
    if consul.tls.enabled {
        variables.extend(of_tls(&consul.tls));
    }
    variables
}

fn of_tls(tls: &ClientTls) -> impl Iterator<Item = (String, SecretString)> + '_ {
    [
        (Setting::ConsulCaCert, &tls.ca_cert),
        (Setting::ConsulCaPath, &tls.ca_path),
        (Setting::ConsulCert, &tls.cert),
        (Setting::ConsulKey, &tls.key),
        (Setting::ConsulServerName, &tls.server_name),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(setting, value)| {
        let name = setting.variable().to_owned();
        (name, SecretString::from(value.as_str()))
    })
}
