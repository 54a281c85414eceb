//! The client's side.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;

use crate::contents::{Contents, cryptography};
use crate::error::TlsError;
use crate::files::{Authorities, Files, IdentityFiles};
use crate::verifiers::{Servers, server_check};

/// Certificates that a client of an HTTP server trusts and shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFiles {
    /// Authorities whose certificates are trusted; without them the ones that the system trusts.
    pub authorities: Option<Authorities>,
    /// Certificate and key that the client shows to servers that ask for them.
    pub identity: Option<IdentityFiles>,
    /// Whether servers' certificates are checked. The files must be in order even if they are not.
    pub verify: bool,
}

impl Default for ClientFiles {
    fn default() -> Self {
        Self {
            authorities: None,
            identity: None,
            verify: true,
        }
    }
}

impl ClientFiles {
    /// Reads the files now, blocking. `protocols` are the ones that the client speaks (ALPN), best first.
    ///
    /// The certificates that the system trusts are read with the first handshake.
    pub fn read_now(&self, protocols: &[&str]) -> Result<ClientConfig, TlsError> {
        let files = Files {
            authorities: self.authorities.clone(),
            identity: self.identity.clone(),
        };
        let contents = files.read_now()?;
        let trusted = contents.authorities()?;
        let check = server_check(match trusted {
            _ if !self.verify => Servers::Unchecked,
            Some(trusted) => Servers::Trusted(trusted),
            None => Servers::System,
        });
        let builder = ClientConfig::builder_with_provider(cryptography())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::SetUp)?
            .dangerous()
            .with_custom_certificate_verifier(check);
        let mut config = match contents.identity()? {
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|source| contents.unusable(source))?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        Ok(config)
    }
}

impl Contents {
    /// The check of servers' certificates by these authorities; an error if no files were named.
    pub fn server_check(&self) -> Result<Option<Arc<dyn ServerCertVerifier>>, TlsError> {
        let trusted = self.authorities()?;
        Ok(trusted.map(|trusted| server_check(Servers::Trusted(trusted))))
    }
}
