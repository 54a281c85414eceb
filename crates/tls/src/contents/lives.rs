//! The lives of the certificates in the files.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::{Contents, certificates};
use crate::error::TlsError;
use crate::validity::Validity;

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

    /// The first certificate that ended before `now`, while its predecessor in `known` is still valid: the certificate
    /// of the identity, or the authority that ends last. Certificates that follow the one of the identity may have
    /// ended, as old roots that servers still send.
    pub(crate) fn ended_unlike(&self, known: &Self, now: i64) -> Option<Validity> {
        let pairs = self.deciding_lives().into_iter();
        let pairs = pairs.zip(known.deciding_lives());
        let mut pairs = pairs.filter_map(|(new, old)| Some((new?, old?)));
        let ended = pairs.find(|(new, old)| new.end < now && now <= old.end);
        ended.map(|(new, _old)| new)
    }

    /// The lives that decide until when the identity and the authorities are of use; `None` for unreadable ones.
    fn deciding_lives(&self) -> [Option<Validity>; 2] {
        let lives_in = |(path, content)| -> Vec<Validity> {
            let read = certificates(path, content).unwrap_or_default();
            let lives = read.iter().map(|certificate| validity(path, certificate));
            lives.flatten().collect()
        };
        let mut files = self.certificate_files();
        let identity = self.identity_pem().and_then(|_pem| files.next());
        [
            identity.and_then(|file| lives_in(file).into_iter().next()),
            files.flat_map(lives_in).max_by_key(|life| life.end),
        ]
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
