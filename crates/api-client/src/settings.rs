//! From options and environment to settings (docs/cli.md#options-of-all-of-them).

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use cts_core::go::parse_bool;

use crate::token::TokenSource;

const DEFAULT_ADDRESS: &str = "http://localhost:8558";
const ADDRESS: &str = "CTS_ADDRESS";
const CA_CERT: &str = "CTS_CACERT";
const CA_PATH: &str = "CTS_CAPATH";
const CLIENT_CERT: &str = "CTS_CLIENT_CERT";
const CLIENT_KEY: &str = "CTS_CLIENT_KEY";
const SSL_VERIFY: &str = "CTS_SSL_VERIFY";
const TOKEN: &str = "CTS_TOKEN";

/// The caller's options. Absent ones come from the environment, and then from defaults.
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    /// URL of the API.
    pub http_addr: Option<String>,
    /// Deprecated: a port for the address of the environment or the default. Without effect if
    /// [`http_addr`](Self::http_addr) is set.
    pub port: Option<u16>,
    /// File with the authorities to trust. An empty path counts as absent, here and in the other three.
    pub ca_cert: Option<PathBuf>,
    /// Directory of such files.
    pub ca_path: Option<PathBuf>,
    /// File with the client certificate.
    pub client_cert: Option<PathBuf>,
    /// File with its key.
    pub client_key: Option<PathBuf>,
    /// Whether the server's certificate is checked.
    pub ssl_verify: Option<bool>,
    pub token_file: Option<PathBuf>,
}

/// How the API is reached. Nothing in it has been checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// URL of the API; a path after the host goes before every request.
    pub address: String,
    /// Takes the place of the port in the address.
    pub port: Option<u16>,
    /// TLS, read whatever the address is.
    pub tls: TlsSettings,
    /// The token that requests carry.
    pub token: Option<TokenSource>,
}

/// TLS towards the API. Certificate and key are of use only together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// PEM file with the authorities to trust instead of the system's.
    pub ca_cert: Option<PathBuf>,
    /// Directory of such files, searched with all directories in it; ignored if [`ca_cert`](Self::ca_cert) is
    /// set.
    pub ca_path: Option<PathBuf>,
    /// PEM file with the client certificate.
    pub client_cert: Option<PathBuf>,
    /// PEM file with its key.
    pub client_key: Option<PathBuf>,
    /// Whether the server's certificate is checked.
    pub verify: bool,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            address: DEFAULT_ADDRESS.to_owned(),
            port: None,
            tls: TlsSettings::default(),
            token: None,
        }
    }
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            ca_cert: None,
            ca_path: None,
            client_cert: None,
            client_key: None,
            verify: true,
        }
    }
}

/// A warning for the caller, which stops nothing. Displays as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsWarning {
    /// The deprecated `port` was given.
    DeprecatedPort {
        /// Whether it had no effect, because an address was given too.
        ignored: bool,
    },
    /// `CTS_SSL_VERIFY` holds no boolean; it does not count.
    UnreadableVerify {
        /// The value of the variable.
        value: String,
    },
}

impl fmt::Display for SettingsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeprecatedPort { ignored: false } => f.write_str(
                "Warning: the option -port is deprecated, use -http-addr to say where the API is",
            ),
            Self::DeprecatedPort { ignored: true } => f.write_str(
                "Warning: the option -port is deprecated and has no effect beside -http-addr",
            ),
            Self::UnreadableVerify { value } => write!(
                f,
                "Warning: {SSL_VERIFY} is {value:?}, which is neither true nor false; \
                 certificates are verified"
            ),
        }
    }
}

impl ClientSettings {
    /// Options before environment before defaults. An address in the environment counts even if it is
    /// empty; the other variables do not.
    pub fn resolve(
        options: &ClientOptions,
        environment: &BTreeMap<String, String>,
    ) -> (Self, Vec<SettingsWarning>) {
        let mut warnings = Vec::new();
        if options.port.is_some() {
            warnings.push(SettingsWarning::DeprecatedPort {
                ignored: options.http_addr.is_some(),
            });
        }
        let path = |option: &Option<PathBuf>, name: &str| {
            let given = option.clone().filter(|path| !path.as_os_str().is_empty());
            given.or_else(|| {
                let value = environment.get(name).filter(|value| !value.is_empty());
                value.map(PathBuf::from)
            })
        };
        let verify = options.ssl_verify.unwrap_or_else(|| {
            let value = environment.get(SSL_VERIFY).map_or("", String::as_str);
            parse_bool(value).unwrap_or_else(|| {
                if !value.is_empty() {
                    let value = value.to_owned();
                    warnings.push(SettingsWarning::UnreadableVerify { value });
                }
                true
            })
        });
        let tls = TlsSettings {
            ca_cert: path(&options.ca_cert, CA_CERT),
            ca_path: path(&options.ca_path, CA_PATH),
            client_cert: path(&options.client_cert, CLIENT_CERT),
            client_key: path(&options.client_key, CLIENT_KEY),
            verify,
        };
        let (address, port) = if let Some(address) = &options.http_addr {
            (address.clone(), None)
        } else {
            let from_environment = environment.get(ADDRESS).cloned();
            let address = from_environment.unwrap_or_else(|| DEFAULT_ADDRESS.to_owned());
            (address, options.port)
        };
        let settings = Self {
            address,
            port,
            tls,
            token: token_source(options.token_file.as_deref(), environment),
        };
        (settings, warnings)
    }
}

/// Where the token comes from: the file of an option, else `CTS_TOKEN`.
pub fn token_source(
    file: Option<&Path>,
    environment: &BTreeMap<String, String>,
) -> Option<TokenSource> {
    TokenSource::of(file, environment.get(TOKEN).map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn uses_defaults_without_options_and_environment() {
        let (settings, warnings) =
            ClientSettings::resolve(&ClientOptions::default(), &environment(&[]));
        assert_eq!(settings, ClientSettings::default());
        assert_eq!(warnings, []);
    }

    #[test]
    fn options_come_before_the_environment() {
        let variables = environment(&[
            ("CTS_ADDRESS", "http://env"),
            ("CTS_CACERT", "env.pem"),
            ("CTS_CAPATH", "env"),
            ("CTS_CLIENT_CERT", "env-cert.pem"),
            ("CTS_CLIENT_KEY", "env-key.pem"),
            ("CTS_SSL_VERIFY", "F"),
            ("CTS_TOKEN", "cts_env"),
        ]);
        let (from_environment, warnings) =
            ClientSettings::resolve(&ClientOptions::default(), &variables);
        let expected = ClientSettings {
            address: "http://env".into(),
            port: None,
            tls: TlsSettings {
                ca_cert: Some("env.pem".into()),
                ca_path: Some("env".into()),
                client_cert: Some("env-cert.pem".into()),
                client_key: Some("env-key.pem".into()),
                verify: false,
            },
            token: TokenSource::of(None, Some("cts_env")),
        };
        assert_eq!(from_environment, expected);
        assert_eq!(warnings, []);

        let options = ClientOptions {
            http_addr: Some("http://option".into()),
            client_cert: Some("cert.pem".into()),
            // Empty is not given.
            client_key: Some(PathBuf::new()),
            ssl_verify: Some(true),
            token_file: Some("token".into()),
            ..ClientOptions::default()
        };
        let (settings, _) = ClientSettings::resolve(&options, &variables);
        assert_eq!(settings.address, "http://option");
        assert_eq!(settings.tls.client_cert, Some("cert.pem".into()));
        assert_eq!(settings.tls.client_key, Some("env-key.pem".into()));
        assert!(settings.tls.verify);
        assert_eq!(settings.token, Some(TokenSource::File("token".into())));
    }

    #[test]
    fn an_empty_address_is_an_address_and_an_empty_path_is_none() {
        let variables = environment(&[
            ("CTS_ADDRESS", ""),
            ("CTS_CACERT", ""),
            ("CTS_SSL_VERIFY", ""),
        ]);
        let (settings, warnings) = ClientSettings::resolve(&ClientOptions::default(), &variables);
        assert_eq!(settings.address, "");
        assert_eq!(settings.tls, TlsSettings::default());
        assert_eq!(warnings, []);
    }

    #[test]
    fn a_port_is_for_the_address_that_was_not_given_as_an_option() {
        let mut options = ClientOptions {
            port: Some(9),
            ..ClientOptions::default()
        };
        let variables = environment(&[("CTS_ADDRESS", "http://env:1")]);
        let (settings, warnings) = ClientSettings::resolve(&options, &variables);
        assert_eq!(
            (settings.address.as_str(), settings.port),
            ("http://env:1", Some(9))
        );
        assert_eq!(
            warnings,
            [SettingsWarning::DeprecatedPort { ignored: false }]
        );
        options.http_addr = Some("http://option:2".into());
        let (settings, warnings) = ClientSettings::resolve(&options, &variables);
        assert_eq!(
            (settings.address.as_str(), settings.port),
            ("http://option:2", None)
        );
        assert_eq!(
            warnings,
            [SettingsWarning::DeprecatedPort { ignored: true }]
        );
    }

    #[test]
    fn verification_stays_on_when_the_environment_is_unclear() {
        let variables = environment(&[("CTS_SSL_VERIFY", "no")]);
        let (settings, warnings) = ClientSettings::resolve(&ClientOptions::default(), &variables);
        assert!(settings.tls.verify);
        let value = "no".to_owned();
        assert_eq!(warnings, [SettingsWarning::UnreadableVerify { value }]);
    }
}
