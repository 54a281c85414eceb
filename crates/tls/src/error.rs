//! Errors of the files.

use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat};
use rustls::pki_types::pem;
use rustls::server::VerifierBuilderError;

use crate::validity::Validity;

/// The TLS settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not there or not readable.
    #[error("cannot read the TLS file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is damaged.
    #[error("{} is not in PEM form", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// Where it fails.
        source: pem::Error,
    },
    /// A file is something else than it should be.
    #[error("{} holds no {what} in PEM form", path.display())]
    Absent {
        /// The file.
        path: PathBuf,
        /// Expected content.
        what: &'static str,
    },
    /// A certificate in a file is damaged.
    #[error("{} holds a certificate that cannot be read", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why.
        source: x509_parser::nom::Err<x509_parser::error::X509Error>,
    },
    /// The file of the authorities holds a certificate that cannot be one of an authority.
    #[error("{} holds a certificate that cannot be an authority's", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// Clients' certificates cannot be checked with the authorities.
    #[error("clients cannot be checked with the authorities in {}", path.display())]
    ClientCheck {
        /// File or directory of the authorities.
        path: PathBuf,
        /// Why.
        source: VerifierBuilderError,
    },
    /// Certificate and key are not of one pair.
    #[error("the key {} does not belong to the certificate {}", key.display(), cert.display())]
    Mismatch {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// Certificate and key are read and yet of no use.
    #[error("the certificate {} with the key {} cannot be used", cert.display(), key.display())]
    Identity {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// A certificate has ended, and its predecessor has not.
    #[error("the certificate of {} in {} ended at {end}, and the earlier one is still valid", subject, path.display())]
    Ended {
        /// The file.
        path: PathBuf,
        /// Subject of the certificate.
        subject: String,
        /// Its end.
        end: String,
    },
    /// The cryptography has no protocol version in common with what is asked of it.
    #[error("TLS cannot be set up")]
    SetUp(#[source] rustls::Error),
    /// The name to expect in servers' certificates is no name.
    #[error("the server name {0:?} is neither a DNS name nor an IP address")]
    ServerName(String),
}

impl TlsError {
    pub(crate) fn ended(life: Validity) -> Self {
        let Validity {
            path, subject, end, ..
        } = life;
        let end = DateTime::from_timestamp(end, 0).unwrap_or_default();
        Self::Ended {
            path,
            subject,
            end: end.to_rfc3339_opts(SecondsFormat::Secs, true),
        }
    }

    /// The one file that has to be looked at, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. }
            | Self::Pem { path, .. }
            | Self::Absent { path, .. }
            | Self::Certificate { path, .. }
            | Self::Authority { path, .. }
            | Self::Ended { path, .. }
            | Self::ClientCheck { path, .. } => Some(path),
            Self::Mismatch { .. }
            | Self::Identity { .. }
            | Self::SetUp(_)
            | Self::ServerName(_) => None,
        }
    }
}
