//! Reads the files and understands them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::pem::{self};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::tls::files::{IdentityFiles, TlsError};

/// The cryptography of all connections. Named each time, because the choice by default panics when a
/// second one comes into the build.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The files to read together.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) ca_cert: Option<PathBuf>,
    pub(super) identity: Option<IdentityFiles>,
}

/// What stood in them. Holds a private key, so it has no `Debug`.
#[derive(PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) ca_cert: Option<Vec<u8>>,
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Files {
    pub(super) async fn read(&self) -> Result<Contents, TlsError> {
        let ca_cert = match &self.ca_cert {
            Some(path) => Some(read(path).await?),
            None => None,
        };
        let identity = match &self.identity {
            Some(files) => Some((read(&files.cert).await?, read(&files.key).await?)),
            None => None,
        };
        Ok(Contents { ca_cert, identity })
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    tokio::fs::read(path)
        .await
        .map_err(|source| TlsError::Read {
            path: path.to_owned(),
            source,
        })
}

/// The authorities in the file at `path`.
pub(super) fn authorities(path: &Path, contents: &[u8]) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, contents)? {
        roots
            .add(certificate)
            .map_err(|source| TlsError::Authority {
                path: path.to_owned(),
                source,
            })?;
    }
    Ok(Arc::new(roots))
}

/// A certificate with those behind it, and its key.
pub(super) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

pub(super) fn identity(
    files: &IdentityFiles,
    (cert, key): &(Vec<u8>, Vec<u8>),
) -> Result<Identity, TlsError> {
    let chain = certificates(&files.cert, cert)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::Absent {
            path: files.key.clone(),
            what: "private key",
        },
        source => TlsError::Pem {
            path: files.key.clone(),
            source,
        },
    })?;
    Ok((chain, key))
}

/// What is wrong with an identity that is in order as far as its files go.
pub(super) fn unusable(files: &IdentityFiles, source: rustls::Error) -> TlsError {
    let IdentityFiles { cert, key } = files.clone();
    match source {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch { cert, key },
        source => TlsError::Identity { cert, key, source },
    }
}

fn certificates(path: &Path, contents: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates = CertificateDer::pem_slice_iter(contents)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| TlsError::Pem {
            path: path.to_owned(),
            source,
        })?;
    if certificates.is_empty() {
        return Err(TlsError::Absent {
            path: path.to_owned(),
            what: "certificate",
        });
    }
    Ok(certificates)
}
