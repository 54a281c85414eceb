//! The names in the certificate that the other side has shown.

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Names in a certificate. The certificate itself was verified by the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeerCertificate {
    /// The common name of its subject; empty if it has none.
    pub common_name: String,
    /// Its DNS names, in order.
    pub dns_names: Vec<String>,
}

impl PeerCertificate {
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
        let dns_names = names.filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        });
        Self {
            common_name: common_name.unwrap_or_default().to_owned(),
            dns_names: dns_names.collect(),
        }
    }

    /// The name to show: the common name, else the first DNS name.
    pub fn name(&self) -> &str {
        if self.common_name.is_empty() {
            return self.dns_names.first().map_or("", String::as_str);
        }
        &self.common_name
    }
}
