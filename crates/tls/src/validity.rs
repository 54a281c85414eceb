//! Times between which certificates are valid.

use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::contents::{Contents, certificates};
use crate::error::TlsError;

/// The life of a certificate, in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validity {
    /// File with the certificate.
    pub path: PathBuf,
    /// Its subject.
    pub subject: String,
    /// First second of its life.
    pub begin: i64,
    /// Last second of its life.
    pub end: i64,
}

impl Contents {
    /// Lives of all certificates: those of the identity, then those of the authorities. Fails if the files cannot be
    /// used.
    pub fn validities(&self) -> Result<Vec<Validity>, TlsError> {
        self.identity()?;
        self.authorities()?;
        let mut lives = Vec::new();
        for (path, content) in self.certificate_files() {
            for certificate in certificates(path, content)? {
                lives.push(validity(path, &certificate)?);
            }
        }
        Ok(lives)
    }
}

fn validity(path: &Path, certificate: &CertificateDer<'_>) -> Result<Validity, TlsError> {
    let parsed = X509Certificate::from_der(certificate);
    let (_rest, parsed) = parsed.map_err(|source| TlsError::Certificate {
        path: path.to_owned(),
        source,
    })?;
    let validity = parsed.validity();
    Ok(Validity {
        path: path.to_owned(),
        subject: parsed.subject().to_string(),
        begin: validity.not_before.timestamp(),
        end: validity.not_after.timestamp(),
    })
}
