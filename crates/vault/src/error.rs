//! Errors of requests to Vault. No text has a token or a secret in it.

use std::io;
use std::path::PathBuf;

use cts_http::InvalidServerName;
use cts_tls::{TlsError, answers_in_plain_text};

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The address is invalid, or has a user in it.
    #[error("the address of Vault is not an http:// or https:// URL")]
    InvalidAddress,
    /// The server name cannot be used for SNI.
    #[error(transparent)]
    InvalidServerName(#[from] InvalidServerName),
    /// The namespace cannot be sent.
    #[error("the namespace of Vault has characters that no HTTP header can carry")]
    InvalidNamespace,
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The HTTP library refuses the settings.
    #[error("cannot set up the HTTP client for Vault")]
    Build(#[source] reqwest::Error),
}

/// Vault did not give what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// No answer, or not all of it.
    #[error("cannot reach Vault{}", plain_text(.0))]
    Unreachable(#[source] reqwest::Error),
    /// Vault is sealed, or is a standby that cannot answer.
    #[error("Vault is sealed, or has no active node (503)")]
    Sealed,
    /// Vault refused.
    #[error("Vault refuses with {status}{}", shown(errors))]
    Refused {
        status: u16,
        /// Errors that Vault reports, one line each.
        errors: Vec<String>,
    },
    /// Vault redirects to another host, which the token is not meant for.
    #[error(
        "Vault redirects to {0}, and the token goes to no other host than that of vault.address: name the active node or a \
         load balancer there"
    )]
    Redirected(String),
    /// No token is available.
    #[error("there is no token for Vault")]
    NoToken,
    /// The token's file cannot be read, or is empty.
    #[error("cannot read the token for Vault from {}", path.display())]
    TokenFile {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The token cannot be sent.
    #[error("the token for Vault has characters that no HTTP header can carry")]
    InvalidToken,
    /// The wrapped token was not unwrapped.
    #[error("cannot unwrap the token for Vault: it may have expired, or been unwrapped before")]
    Unwrap(#[source] Box<Self>),
    /// No path of Vault is written like this.
    #[error("Vault has no path {0:?}")]
    InvalidPath(String),
    /// The answer is not the documented JSON.
    #[error("cannot decode the answer of Vault")]
    Decode(#[source] serde_json::Error),
    /// The answer does not end where any should have.
    #[error("the answer of Vault is longer than {limit} bytes")]
    TooLong {
        /// Most bytes that are read.
        limit: usize,
    },
}

/// The remedy, if the server does not speak TLS.
fn plain_text(error: &reqwest::Error) -> &'static str {
    if answers_in_plain_text(error) {
        ", which answers in plain HTTP: the address should begin with http://"
    } else {
        ""
    }
}

impl VaultError {
    /// Returns whether Vault has nothing at the path.
    pub(crate) const fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

fn shown(errors: &[String]) -> String {
    match errors {
        [] => String::new(),
        errors => format!(": {}", errors.join("; ")),
    }
}
