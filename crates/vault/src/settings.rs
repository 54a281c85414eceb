//! Settings for reaching Vault.

use std::path::PathBuf;
use std::time::Duration;

use cts_tls::ClientFiles;
use secrecy::SecretString;

/// Everything about the way to Vault, resolved: file, environment and defaults are the caller's business.
#[derive(Debug, Clone)]
pub struct VaultSettings {
    /// URL of Vault or of its agent.
    pub address: String,
    /// Namespace of Vault Enterprise, empty for none.
    pub namespace: String,
    /// The token, if no file has it.
    pub token: Option<SecretString>,
    /// File with the token, read for every request: its writer may replace the token.
    pub token_file: Option<PathBuf>,
    pub renew_token: bool,
    /// Whether the token wraps the real one, which is unwrapped once.
    pub unwrap_token: bool,
    /// Authorities, certificate and key.
    pub tls: ClientFiles,
    /// Name that Vault's certificate must carry, and that is sent as SNI.
    pub server_name: Option<String>,
    /// Time for a connection to be made, TLS included.
    pub connect_timeout: Duration,
    /// Time for one answer.
    pub timeout: Duration,
}
