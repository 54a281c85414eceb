//! Settings of the driver.

use std::time::Duration;

use cts_hcp_terraform::{ServerSettings, SettingsError};
use cts_tls::ClientFiles;
use secrecy::{ExposeSecret as _, SecretString};

use super::rules::WorkspaceSettings;
use crate::values::is_template;

/// Time for a connection to be made, TLS included.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which one call is tried. If the server is unavailable for longer, the run waits, and reports that.
pub(crate) const RETRY_FOR: Duration = Duration::from_secs(15);

/// The server, and the workspaces of the tasks there.
#[derive(Debug, Clone)]
pub struct RemoteSettings {
    /// Host name, with or without `https://`.
    pub hostname: String,
    /// Organization that has the workspaces.
    pub organization: String,
    /// Token of a team or user, or a template that yields the token.
    pub token: SecretString,
    /// Names and tags of the workspaces.
    pub workspaces: WorkspaceSettings,
    /// Authorities, certificate and key.
    pub tls: ClientFiles,
    /// Name that the server's certificate must carry.
    pub server_name: Option<String>,
}

/// The settings of the driver cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RemoteSettingsError {
    /// The token is needed by workers only, so the configuration may lack it.
    #[error("workers need its `token`, or the environment variable TFC_TOKEN")]
    NoToken,
    /// Server or token.
    #[error(transparent)]
    Server(#[from] SettingsError),
}

impl RemoteSettings {
    /// Checks everything that shows without a connection.
    pub(crate) fn check(&self) -> Result<(), RemoteSettingsError> {
        let token = self.token.expose_secret();
        if token.is_empty() {
            return Err(RemoteSettingsError::NoToken);
        }
        // The value of a template is checked when it is known.
        let token = if is_template(token) { "-" } else { token };
        ServerSettings::new(&self.hostname, SecretString::from(token)).check()?;
        Ok(())
    }
}
