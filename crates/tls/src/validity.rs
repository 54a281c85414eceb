//! Times between which certificates are valid.

use std::path::PathBuf;

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
