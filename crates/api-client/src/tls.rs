//! The files of TLS, read once when a client is made.

use std::path::{Path, PathBuf};

use reqwest::{Certificate, ClientBuilder, Identity};

use crate::error::{SetupError, TlsFileError};
use crate::settings::TlsSettings;

/// What the files hold.
#[derive(Debug)]
pub(crate) struct TlsParts {
    authorities: Option<Vec<Certificate>>,
    identity: Option<Identity>,
    verify: bool,
}

impl TlsParts {
    /// Reads the files that are named.
    pub(crate) fn read(settings: &TlsSettings) -> Result<Self, SetupError> {
        let identity = match (&settings.client_cert, &settings.client_key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some(identity(cert, key)?),
            (Some(_), None) => return Err(SetupError::CertificateWithoutKey),
            (None, Some(_)) => return Err(SetupError::KeyWithoutCertificate),
        };
        let authorities = match (&settings.ca_cert, &settings.ca_path) {
            (Some(file), _) => Some(certificates(file)?),
            (None, Some(directory)) => Some(certificates_below(directory)?),
            (None, None) => None,
        };
        Ok(Self {
            authorities,
            identity,
            verify: settings.verify,
        })
    }

    pub(crate) fn apply(self, mut builder: ClientBuilder) -> ClientBuilder {
        builder = builder.tls_danger_accept_invalid_certs(!self.verify);
        if let Some(authorities) = self.authorities {
            builder = builder.tls_certs_only(authorities);
        }
        if let Some(identity) = self.identity {
            builder = builder.identity(identity);
        }
        builder
    }
}

fn identity(cert: &Path, key: &Path) -> Result<Identity, TlsFileError> {
    let mut pem = read(cert)?;
    pem.push(b'\n');
    pem.extend(read(key)?);
    pem.push(b'\n');
    Identity::from_pem(&pem).map_err(|source| TlsFileError::UnusablePair {
        cert: cert.to_owned(),
        key: key.to_owned(),
        source,
    })
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, TlsFileError> {
    let unusable = |source| TlsFileError::NoCertificate {
        path: path.to_owned(),
        source,
    };
    let found =
        Certificate::from_pem_bundle(&read(path)?).map_err(|error| unusable(Some(error)))?;
    if found.is_empty() {
        return Err(unusable(None));
    }
    Ok(found)
}

/// The certificates of all files below `directory`. Every file has to hold some, so that none is missed
/// without a word.
fn certificates_below(directory: &Path) -> Result<Vec<Certificate>, TlsFileError> {
    let mut files = Vec::new();
    collect_files(directory, &mut files)?;
    files.sort();
    let mut found = Vec::new();
    for file in &files {
        found.extend(certificates(file)?);
    }
    if found.is_empty() {
        return Err(TlsFileError::NoCertificate {
            path: directory.to_owned(),
            source: None,
        });
    }
    Ok(found)
}

/// Links to directories are not followed: where secrets are mounted there are some that show the same
/// files once more.
fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), TlsFileError> {
    let failed = |source| TlsFileError::Read {
        path: directory.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            collect_files(&path, files)?;
        } else if !path.is_dir() {
            files.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, TlsFileError> {
    std::fs::read(path).map_err(|source| TlsFileError::Read {
        path: path.to_owned(),
        source,
    })
}
