//! Settings for reaching a server.

use std::time::Duration;

use cts_core::remote_server_url;
use cts_tls::ClientFiles;
use reqwest::Url;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret as _, SecretString};

use crate::error::SettingsError;

/// Everything about the way to a server, resolved: file, environment and defaults are the caller's business.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Host name, with or without `https://`, with or without a port.
    pub hostname: String,
    /// Token of a team or user. White space around it is ignored.
    pub token: SecretString,
    /// Authorities, certificate and key, for every host that the server refers to.
    pub tls: ClientFiles,
    /// Name that the certificate of `hostname` must carry, and that is sent as SNI.
    pub server_name: Option<String>,
    /// Value of `User-Agent`.
    pub user_agent: String,
    pub limits: Limits,
    /// Whether `http://` is accepted, for the server and everything it refers to. Only tests set it.
    pub allow_plain_http: bool,
}

/// Time limits of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time for a connection to be made, TLS included.
    pub connect_timeout: Duration,
    /// Time for one answer of the API.
    pub timeout: Duration,
    /// Time for one upload or download.
    pub transfer_timeout: Duration,
    /// Pause before the first retry after a failure; further ones grow up to ten seconds.
    pub first_pause: Duration,
    /// Time from the first failure of a call after which no further try begins.
    pub retry_for: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            transfer_timeout: Duration::from_mins(10),
            first_pause: Duration::from_millis(700),
            retry_for: Duration::from_mins(3),
        }
    }
}

impl ServerSettings {
    /// Settings with the system's authorities and the default limits.
    pub fn new(hostname: impl Into<String>, token: SecretString) -> Self {
        Self {
            hostname: hostname.into(),
            token,
            tls: ClientFiles::default(),
            server_name: None,
            user_agent: concat!("cts/", env!("CARGO_PKG_VERSION")).to_owned(),
            limits: Limits::default(),
            allow_plain_http: false,
        }
    }

    /// Checks host name and token without any file or connection.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.address()?;
        bearer(&self.token)?;
        Ok(())
    }

    /// URL of the host, without a path.
    pub(crate) fn address(&self) -> Result<Url, SettingsError> {
        remote_server_url(&self.hostname, self.allow_plain_http)
            .map_err(SettingsError::InvalidHostname)
    }
}

/// The header that a token is sent in.
pub(crate) fn bearer(token: &SecretString) -> Result<HeaderValue, SettingsError> {
    let token = token.expose_secret().trim();
    if token.is_empty() {
        return Err(SettingsError::EmptyToken);
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_invalid| SettingsError::InvalidToken)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(hostname: &str, token: &str) -> ServerSettings {
        ServerSettings::new(hostname, SecretString::from(token))
    }

    #[test]
    fn a_hostname_is_a_server_and_plain_http_needs_the_switch() {
        let refused = settings("app.example.net/api", "t").check().unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("the hostname must be a server alone")
        );
        let mut settings = settings("http://127.0.0.1:80", "t");
        let refused = settings.check().unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("the hostname begins with http://")
        );
        settings.allow_plain_http = true;
        settings.check().unwrap();
    }

    #[test]
    fn a_token_fits_into_a_header_and_is_never_shown() {
        assert!(settings("h", " t\n").check().is_ok());
        let refused = settings("h", " ").check();
        assert!(matches!(refused, Err(SettingsError::EmptyToken)));
        let settings = settings("h", "secret\nsecret");
        assert!(matches!(settings.check(), Err(SettingsError::InvalidToken)));
        assert!(!format!("{settings:?}").contains("secret\\n"));
        let header = bearer(&SecretString::from("atlas")).unwrap();
        assert!(!format!("{header:?}").contains("atlas"));
    }
}
