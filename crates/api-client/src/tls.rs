//! The files of TLS.

use cts_tls::{Authorities, ClientFiles, IdentityFiles};

use crate::error::SetupError;
use crate::settings::TlsSettings;

/// The files that are named.
pub(crate) fn files(settings: &TlsSettings) -> Result<ClientFiles, SetupError> {
    let identity = match (&settings.client_cert, &settings.client_key) {
        (None, None) => None,
        (Some(cert), Some(key)) => Some(IdentityFiles {
            cert: cert.clone(),
            key: key.clone(),
        }),
        (Some(_), None) => return Err(SetupError::CertificateWithoutKey),
        (None, Some(_)) => return Err(SetupError::KeyWithoutCertificate),
    };
    Ok(ClientFiles {
        authorities: Authorities::of(settings.ca_cert.as_deref(), settings.ca_path.as_deref()),
        identity,
        verify: settings.verify,
    })
}
