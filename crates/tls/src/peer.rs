//! The names in the certificate that the other side has shown.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::contents::certificates;
use crate::error::TlsError;

/// Names in a certificate. The certificate itself was verified by the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeerCertificate {
    /// The common name of its subject; empty if it has none.
    pub common_name: String,
    /// Its DNS names, in order.
    pub dns_names: Vec<String>,
    /// Its IP addresses, in order.
    pub addresses: Vec<IpAddr>,
}

impl PeerCertificate {
    /// Reads the first certificate of a file in PEM form, blocking.
    pub fn read_file_now(path: &Path) -> Result<Self, TlsError> {
        let content = fs::read(path).map_err(|source| TlsError::Read {
            path: path.to_owned(),
            source,
        })?;
        let certificates = certificates(path, &content)?;
        Ok(certificates.first().map(Self::read).unwrap_or_default())
    }

    /// Reads the names of a certificate; of one that cannot be read there are none.
    pub fn read(certificate: &CertificateDer<'_>) -> Self {
        let Ok((_rest, parsed)) = X509Certificate::from_der(certificate) else {
            return Self::default();
        };
        let common_name = parsed.subject().iter_common_name().next();
        let common_name = common_name.and_then(|name| name.as_str().ok());
        let names = parsed.subject_alternative_name().ok().flatten();
        let names = names
            .into_iter()
            .flat_map(|names| &names.value.general_names);
        let mut read = Self {
            common_name: common_name.unwrap_or_default().to_owned(),
            ..Self::default()
        };
        for name in names {
            match name {
                GeneralName::DNSName(name) => read.dns_names.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => read.addresses.extend(address(bytes)),
                _ => {}
            }
        }
        read
    }

    /// DNS names and IP addresses, for display.
    pub fn names(&self) -> String {
        let addresses = self.addresses.iter().map(IpAddr::to_string);
        let all: Vec<String> = self.dns_names.iter().cloned().chain(addresses).collect();
        if all.is_empty() {
            return "none".to_owned();
        }
        all.join(", ")
    }

    /// The name to show: the common name, else the first DNS name.
    pub fn name(&self) -> &str {
        if self.common_name.is_empty() {
            return self.dns_names.first().map_or("", String::as_str);
        }
        &self.common_name
    }
}

/// Four or sixteen bytes; others are no address.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_other| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}
