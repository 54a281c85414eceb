//! Which files there are, and what can be wrong with them.

use std::io;
use std::path::PathBuf;

use rustls::pki_types::pem;
use rustls::server::VerifierBuilderError;

/// The TLS settings of a service (`services.tls`): one identity for what it serves and what it calls.
/// All files are in PEM form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the authorities that other services' certificates come from.
    pub ca_cert: PathBuf,
    /// The own certificate, and behind it those that lead to its authority.
    pub cert: PathBuf,
    /// The private key of the own certificate.
    pub key: PathBuf,
    /// The name that servers' certificates must hold; without it the host of each one's address.
    pub server_name: Option<String>,
    /// Whether clients must show a certificate.
    pub verify_incoming: bool,
}

/// The TLS settings of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTlsFiles {
    /// Certificates of the authorities that servers' certificates come from.
    pub ca_cert: PathBuf,
    /// What the client shows to servers that ask for it.
    pub identity: Option<IdentityFiles>,
    /// The name that servers' certificates must hold; without it the host of each one's address.
    pub server_name: Option<String>,
}

/// A certificate with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The certificate, and behind it those that lead to its authority.
    pub cert: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

impl TlsFiles {
    /// The files of the own identity.
    pub fn identity(&self) -> IdentityFiles {
        IdentityFiles {
            cert: self.cert.clone(),
            key: self.key.clone(),
        }
    }
}

impl From<&TlsFiles> for ClientTlsFiles {
    fn from(files: &TlsFiles) -> Self {
        Self {
            ca_cert: files.ca_cert.clone(),
            identity: Some(files.identity()),
            server_name: files.server_name.clone(),
        }
    }
}

/// The TLS settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not there or not readable.
    #[error("cannot read the TLS file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is damaged.
    #[error("{} is not in PEM form", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// Where it fails.
        source: pem::Error,
    },
    /// A file is something else than it should be.
    #[error("{} holds no {what} in PEM form", path.display())]
    Absent {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// The file of the authorities holds a certificate that cannot be one of an authority.
    #[error("{} holds a certificate that cannot be an authority's", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// Clients' certificates cannot be checked with the authorities.
    #[error("clients cannot be checked with the authorities in {}", path.display())]
    ClientCheck {
        /// The file of the authorities.
        path: PathBuf,
        /// Why.
        source: VerifierBuilderError,
    },
    /// Certificate and key are not of one pair.
    #[error("the key {} does not belong to the certificate {}", key.display(), cert.display())]
    Mismatch {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// Certificate and key are read and yet of no use.
    #[error("the certificate {} with the key {} cannot be used", cert.display(), key.display())]
    Identity {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// The cryptography has no protocol version in common with what is asked of it.
    #[error("TLS cannot be set up")]
    SetUp(#[source] rustls::Error),
    /// The name to expect in servers' certificates is no name.
    #[error("the server name {0:?} is neither a DNS name nor an IP address")]
    ServerName(String),
}
