//! The TLS files of a service and of a client.

use std::path::PathBuf;

use cts_tls::{Authorities, IdentityFiles, ServerFiles};

/// The TLS settings of a service (`services.tls`): one identity for its servers and its clients. All files are in PEM
/// form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the authorities that other services' certificates come from.
    pub ca_cert: PathBuf,
    /// The own certificate, followed by the certificates that lead to its authority.
    pub cert: PathBuf,
    /// The private key of the own certificate.
    pub key: PathBuf,
    /// The name that servers' certificates must hold; without it the host of each server's address.
    pub server_name: Option<String>,
    /// Whether clients must show a certificate.
    pub verify_incoming: bool,
}

/// The TLS settings of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTlsFiles {
    /// Certificates of the authorities that servers' certificates come from.
    pub ca_cert: PathBuf,
    /// Certificate and key that the client shows to servers that request them.
    pub identity: Option<IdentityFiles>,
    /// The name that servers' certificates must hold; without it the host of each server's address.
    pub server_name: Option<String>,
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

impl From<&TlsFiles> for ServerFiles {
    fn from(files: &TlsFiles) -> Self {
        let clients = || Authorities::File(files.ca_cert.clone());
        Self {
            identity: files.identity(),
            clients: files.verify_incoming.then(clients),
            protocols: vec!["h2"],
        }
    }
}
