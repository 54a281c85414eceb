//! Errors of the installation of a release.

use std::path::PathBuf;
use std::time::Duration;

pub use cts_core::FileError;
use cts_core::plain_reason;
use reqwest::StatusCode;

use crate::archive::ArchiveError;
use crate::keys::KeyError;

/// A release was not installed.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The vendors release nothing for this kind of machine.
    #[error("there are no releases for this operating system and processor")]
    NoPlatform,
    /// The HTTP client cannot be made.
    #[error("cannot make an HTTP client")]
    Client(#[source] reqwest::Error),
    /// The site does not answer, or the answer broke off.
    #[error("cannot fetch {url}: {}", plain_reason(failure))]
    Unreachable {
        url: String,
        /// Why not. The text has its innermost cause.
        failure: reqwest::Error,
    },
    /// The site answers with another status.
    #[error("{url} is answered with {status}")]
    Status { url: String, status: StatusCode },
    /// A file is larger than any real one of its kind.
    #[error("{url} is larger than {limit} bytes")]
    TooLarge {
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The installation took too long.
    #[error("it took longer than {} s", limit.as_secs())]
    TooSlow { limit: Duration },
    /// The checksums have no signature.
    #[error("there is no signature of {url}")]
    NoSignature { url: String },
    /// The checksums are not signed by a key that counts.
    #[error("the signature of {url} does not count")]
    Signature {
        url: String,
        #[source]
        source: KeyError,
    },
    /// The checksums do not name the archive exactly once.
    #[error("{url} has no checksum for {archive}")]
    NotListed { url: String, archive: String },
    /// The checksum of the archive is not the signed one.
    #[error("{url} has the checksum {found} instead of {expected}")]
    Checksum {
        url: String,
        expected: String,
        /// The checksum of the downloaded archive.
        found: String,
    },
    /// The content of the archive is not that of a release.
    #[error("{url} cannot be unpacked")]
    Archive {
        url: String,
        #[source]
        source: ArchiveError,
    },
    /// Another process has installed into the directory for too long.
    #[error("another process has been installing into {} for {} s", directory.display(), limit.as_secs())]
    Locked {
        directory: PathBuf,
        /// How long this process has waited.
        limit: Duration,
    },
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}
