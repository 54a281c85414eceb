//! Contents of the files, and their meaning.

mod lives;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::error::TlsError;
use crate::files::{Files, IdentityFiles};
use crate::trust::Trusted;

/// The cryptography of all connections. Named each time, because the choice by default panics when a
/// second one comes into the build.
pub fn cryptography() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// A certificate with the ones that follow it, and its key.
pub type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The contents of some [`Files`] at one moment. Holds a private key, so it has no `Debug`.
#[derive(PartialEq, Eq)]
#[expect(
    missing_debug_implementations,
    reason = "there is nothing in it that may be shown"
)]
pub struct Contents {
    files: Files,
    authorities: Vec<(PathBuf, Vec<u8>)>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Contents {
    pub(crate) fn new(
        files: Files,
        authorities: Vec<(PathBuf, Vec<u8>)>,
        identity: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Self {
        Self {
            files,
            authorities,
            identity,
        }
    }

    /// Returns the trusted authorities, at least one certificate; `None` if no files were named.
    pub(crate) fn authorities(&self) -> Result<Option<Trusted>, TlsError> {
        let Some(given) = &self.files.authorities else {
            return Ok(None);
        };
        let mut roots = RootCertStore::empty();
        let mut all = Vec::new();
        for (path, content) in &self.authorities {
            for certificate in certificates(path, content)? {
                let added = roots.add(certificate.clone());
                added.map_err(|source| TlsError::Authority {
                    path: path.clone(),
                    source,
                })?;
                all.push(certificate);
            }
        }
        if roots.is_empty() {
            return Err(absent(given.path(), "certificate"));
        }
        Ok(Some(Trusted::new(roots, all)))
    }

    /// Certificate and key, which belong together; `None` if no files were named.
    pub fn identity(&self) -> Result<Option<Identity>, TlsError> {
        let Some((files, (cert, key))) = self.files.identity.as_ref().zip(self.identity.as_ref())
        else {
            return Ok(None);
        };
        let chain = certificates(&files.cert, cert)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            pem::Error::NoItemsFound => absent(&files.key, "private key"),
            source => TlsError::Pem {
                path: files.key.clone(),
                source,
            },
        })?;
        let pair = CertifiedKey::from_der(chain.clone(), key.clone_key(), &cryptography());
        pair.map_err(|source| unusable(files, source))?;
        Ok(Some((chain, key)))
    }

    /// The texts of the files of the certificate and of the key.
    pub fn identity_pem(&self) -> Option<(&[u8], &[u8])> {
        let (cert, key) = self.identity.as_ref()?;
        Some((cert, key))
    }

    /// The files with certificates, and their contents.
    pub(crate) fn certificate_files(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        let identity = self.files.identity.as_ref().zip(self.identity.as_ref());
        let identity =
            identity.map(|(files, (cert, _key))| (files.cert.as_path(), cert.as_slice()));
        let authorities = self.authorities.iter();
        let authorities = authorities.map(|(path, content)| (path.as_path(), content.as_slice()));
        identity.into_iter().chain(authorities)
    }

    /// Returns the problem of an identity whose files are in order for themselves.
    pub(crate) fn unusable(&self, source: rustls::Error) -> TlsError {
        match &self.files.identity {
            Some(files) => unusable(files, source),
            None => TlsError::SetUp(source),
        }
    }
}

fn unusable(files: &IdentityFiles, source: rustls::Error) -> TlsError {
    let IdentityFiles { cert, key } = files.clone();
    match source {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch { cert, key },
        source => TlsError::Identity { cert, key, source },
    }
}

fn absent(path: &Path, what: &'static str) -> TlsError {
    TlsError::Absent {
        path: path.to_owned(),
        what,
    }
}

pub(crate) fn certificates(
    path: &Path,
    contents: &[u8],
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates = CertificateDer::pem_slice_iter(contents)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| TlsError::Pem {
            path: path.to_owned(),
            source,
        })?;
    if certificates.is_empty() {
        return Err(absent(path, "certificate"));
    }
    Ok(certificates)
}
