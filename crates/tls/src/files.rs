//! Names of the files.

use std::path::{Path, PathBuf};

/// A certificate with its key, both in PEM form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The certificate, followed by the ones that lead to its authority.
    pub cert: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

impl IdentityFiles {
    /// Returns the files of a certificate and a key as configured: one alone holds both.
    pub fn of(cert: Option<&Path>, key: Option<&Path>) -> Option<Self> {
        let pair = cert.or(key).zip(key.or(cert));
        pair.map(|(cert, key)| Self {
            cert: cert.to_owned(),
            key: key.to_owned(),
        })
    }
}

/// Where the certificates of trusted authorities are, in PEM form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorities {
    /// One file with any number of certificates.
    File(PathBuf),
    /// Every file below a directory. A file without a certificate is an error (docs/configuration.md#tls);
    /// links to directories are left out, since they may lead in a circle.
    Directory(PathBuf),
}

impl Authorities {
    /// Returns the authorities of a file or a directory as configured: if both are given, the file counts
    /// alone.
    pub fn of(file: Option<&Path>, directory: Option<&Path>) -> Option<Self> {
        let file = file.map(|path| Self::File(path.to_owned()));
        file.or_else(|| directory.map(|path| Self::Directory(path.to_owned())))
    }

    /// The file or directory.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Directory(path) => path,
        }
    }
}

/// The files to read together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Authorities to trust.
    pub authorities: Option<Authorities>,
    /// Certificate and key to show to the other side.
    pub identity: Option<IdentityFiles>,
}
