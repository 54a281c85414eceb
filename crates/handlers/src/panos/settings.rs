//! How a firewall is reached: the block, then the environment, then the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::http::ClientError;

/// Timeout of one request, if none is configured.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest timeout of a request, in seconds.
const LONGEST_TIMEOUT: u64 = 3600;

/// Most bytes of a file of settings.
const LONGEST_FILE: u64 = 1 << 20;

/// A setting is missing or wrong. No text has a value in it.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// A required setting is missing everywhere.
    #[error(
        "there is no `{name}`: neither in the block, nor as {variable}, nor in `json_config_file`"
    )]
    Missing {
        /// Name in the block.
        name: &'static str,
        /// Name in the environment.
        variable: String,
    },
    /// Neither a key nor a password is set.
    #[error(
        "there is neither a `password` nor an `api_key`, in the block, the environment or `json_config_file`"
    )]
    NoCredential,
    /// A value is not valid.
    #[error("`{name}` must be {expected}")]
    Invalid {
        /// Name in the block.
        name: &'static str,
        /// The values that are valid.
        expected: &'static str,
    },
    /// The file cannot be read.
    #[error("cannot read {}, the `json_config_file`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file is no JSON object.
    #[error("{}, the `json_config_file`, is not a JSON object of at most {LONGEST_FILE} bytes", path.display())]
    Json {
        /// The file.
        path: PathBuf,
    },
    /// The client cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// The key or password that authenticates cts at the firewall.
#[derive(Debug, Clone)]
pub(super) enum Credential {
    Key(SecretString),
    Password(SecretString),
}

#[derive(Debug)]
pub(super) struct Settings {
    pub(super) url: Url,
    /// The administrator whose changes are committed.
    pub(super) username: String,
    pub(super) credential: Credential,
    pub(super) verify: bool,
    pub(super) timeout: Duration,
    /// Serial number of the firewall, if the address is that of a Panorama that passes requests on.
    pub(super) target: Option<String>,
}

/// The places of settings.
struct Sources<'a> {
    block: &'a Map<String, Value>,
    environment: &'a BTreeMap<String, String>,
    file: Map<String, Value>,
}

impl Settings {
    /// Reads `json_config_file`, blocking.
    pub(super) fn read(
        block: &Map<String, Value>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, SettingError> {
        let file = match block.get("json_config_file").and_then(text_of) {
            Some(path) => read_file(Path::new(&path))?,
            None => Map::new(),
        };
        let sources = Sources {
            block,
            environment,
            file,
        };
        let username = sources.required("username")?;
        let key = sources.text("api_key").map(SecretString::from);
        let password = sources.text("password").map(SecretString::from);
        let credential = match (key, password) {
            (Some(key), _) => Credential::Key(key),
            (None, Some(password)) => Credential::Password(password),
            (None, None) => return Err(SettingError::NoCredential),
        };
        let seconds = sources.number("timeout", LONGEST_TIMEOUT)?;
        let verify = match sources.flag("verify_certificate")? {
            Some(verify) => verify,
            None => sources.flag("skip_verify_certificate")? == Some(false),
        };
        Ok(Self {
            url: sources.url()?,
            username,
            credential,
            verify,
            timeout: seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs),
            target: sources.text("target"),
        })
    }
}

impl Sources<'_> {
    /// The first value that is set and not empty.
    fn text(&self, name: &str) -> Option<String> {
        let variable = self.environment.get(&variable(name));
        let variable = || variable.filter(|value| !value.is_empty()).cloned();
        let in_block = self.block.get(name).and_then(text_of);
        let in_file = || self.file.get(name).and_then(text_of);
        in_block.or_else(variable).or_else(in_file)
    }

    fn required(&self, name: &'static str) -> Result<String, SettingError> {
        self.text(name).ok_or_else(|| SettingError::Missing {
            name,
            variable: variable(name),
        })
    }

    /// A number from 1; 0 counts as not set.
    fn number(&self, name: &'static str, most: u64) -> Result<Option<u64>, SettingError> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let number = text.parse::<u64>().ok().filter(|number| *number <= most);
        let number = number.ok_or(SettingError::Invalid {
            name,
            expected: "a number that is not too large",
        })?;
        Ok((number > 0).then_some(number))
    }

    fn flag(&self, name: &'static str) -> Result<Option<bool>, SettingError> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Ok(Some(true)),
            "false" | "0" | "no" => Ok(Some(false)),
            _ => Err(SettingError::Invalid {
                name,
                expected: "true or false",
            }),
        }
    }

    fn url(&self) -> Result<Url, SettingError> {
        let invalid = |name, expected| SettingError::Invalid { name, expected };
        let protocol = self.text("protocol").unwrap_or_else(|| "https".to_owned());
        if !matches!(protocol.as_str(), "http" | "https") {
            return Err(invalid("protocol", "\"http\" or \"https\""));
        }
        let host = self.required("hostname")?;
        let no_host = || invalid("hostname", "a host name or an address");
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]%".contains(&byte);
        if !host.bytes().all(is_host) {
            return Err(no_host());
        }
        let port = self.number("port", u64::from(u16::MAX))?;
        let port = port.and_then(|port| u16::try_from(port).ok());
        let bare_v6 = host.contains(':') && host.parse::<std::net::Ipv6Addr>().is_ok();
        let host = if bare_v6 { format!("[{host}]") } else { host };
        let url = format!("{protocol}://{host}/api/").parse::<Url>();
        let mut url = url.map_err(|_invalid| no_host())?;
        if port.is_some() {
            url.set_port(port).map_err(|()| no_host())?;
        }
        Ok(url)
    }
}

fn variable(name: &str) -> String {
    format!("PANOS_{}", name.to_ascii_uppercase())
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn read_file(path: &Path) -> Result<Map<String, Value>, SettingError> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?
            .take(LONGEST_FILE)
            .read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let bytes = read().map_err(|source| SettingError::File {
        path: path.to_owned(),
        source,
    })?;
    // The library's error may quote the content of the file.
    serde_json::from_slice(&bytes).map_err(|_quoting| SettingError::Json {
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use serde_json::json;

    use super::*;

    fn read(block: Value, environment: &[(&str, &str)]) -> Result<Settings, SettingError> {
        let Value::Object(block) = block else {
            panic!("it is an object")
        };
        let environment = environment.iter();
        let environment =
            environment.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings::read(&block, &environment.collect())
    }

    #[test]
    fn the_block_beats_the_environment_and_that_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("panos.json");
        let written = json!({
            "hostname": "of-file", "username": "of-file", "password": "of-file", "port": 1,
            "verify_certificate": true,
        });
        std::fs::write(&file, written.to_string()).unwrap();
        let block = json!({ "hostname": "of-block", "username": "", "json_config_file": file });
        let environment = [
            ("PANOS_HOSTNAME", "of-environment"),
            ("PANOS_USERNAME", "of-environment"),
            ("PANOS_PASSWORD", ""),
            ("PANOS_PORT", "8443"),
            ("PANOS_TIMEOUT", "0"),
        ];
        let settings = read(block, &environment).unwrap();
        assert_eq!(settings.url.as_str(), "https://of-block:8443/api/");
        assert_eq!(settings.username, "of-environment");
        let Credential::Password(password) = settings.credential else {
            panic!("it is a password")
        };
        assert_eq!(password.expose_secret(), "of-file");
        assert!(settings.verify);
        assert_eq!(settings.timeout, DEFAULT_TIMEOUT);
    }

    #[test]
    fn a_key_beats_a_password_and_certificates_are_checked_if_that_is_said() {
        let given = |more: Value| {
            let mut block =
                json!({ "hostname": "::1", "username": "u", "password": "p", "api_key": "k" });
            block
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            read(block, &[]).unwrap()
        };
        let settings = given(json!({ "protocol": "http", "timeout": "3" }));
        assert!(matches!(settings.credential, Credential::Key(_)));
        assert_eq!(settings.url.as_str(), "http://[::1]/api/");
        assert_eq!(settings.timeout, Duration::from_secs(3));
        assert!(!settings.verify);
        assert!(given(json!({ "verify_certificate": true })).verify);
        assert!(given(json!({ "skip_verify_certificate": false })).verify);
        assert!(!given(json!({ "skip_verify_certificate": true })).verify);
    }

    #[test]
    fn names_missing_or_wrong_settings_without_their_values() {
        let whole = json!({ "hostname": "h", "username": "u", "password": "p" });
        let cases = [
            (json!({ "username": null }), "there is no `username`"),
            (json!({ "hostname": "" }), "PANOS_HOSTNAME"),
            (json!({ "password": "" }), "neither a `password`"),
            (json!({ "port": 65_536 }), "`port` must be"),
            (json!({ "timeout": "soon" }), "`timeout` must be"),
            (json!({ "protocol": "ftp" }), "`protocol` must be"),
            (json!({ "hostname": "u:p@h/x" }), "`hostname` must be"),
            (json!({ "hostname": "[" }), "`hostname` must be"),
            (
                json!({ "verify_certificate": "maybe" }),
                "`verify_certificate` must be",
            ),
            (
                json!({ "json_config_file": "/nowhere/x" }),
                "cannot read /nowhere/x",
            ),
        ];
        for (change, expected) in cases {
            let mut block = whole.clone();
            block
                .as_object_mut()
                .unwrap()
                .extend(change.as_object().unwrap().clone());
            let error = read(block, &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(
                !error.contains("maybe") && !error.contains("u:p"),
                "{error}"
            );
        }
    }
}
