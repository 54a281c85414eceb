//! Why an engine cannot be used (docs/terraform.md#the-executable).

use std::path::PathBuf;

use cts_core::EngineKind;
use cts_releases::{KeyError, ReleaseError};
use cts_terraform::FindError;
use semver::Version;

/// No engine can be used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The installed engine cannot be used.
    #[error("{} cannot be used", engine.title())]
    Unusable {
        engine: EngineKind,
        #[source]
        source: FindError,
    },
    /// No engine is installed, and none can be installed.
    #[error(
        "there is no {} in {}, and {version} cannot be installed from {site}; put the executable there{}, or name a mirror in driver.terraform.releases_url",
        engine.executable(),
        directory.display(),
        if *on_path { " or on PATH" } else { "" }
    )]
    NotInstalled {
        engine: EngineKind,
        /// Directory in which the engine was expected.
        directory: PathBuf,
        version: String,
        /// Site from which the version would be installed.
        site: String,
        /// Whether the `PATH` was searched.
        on_path: bool,
        #[source]
        source: InstallError,
    },
    /// The engine is too old for the configured backend.
    #[error("{} {version} does not support {backend} backend in automation; a newer version does", engine.title())]
    Backend {
        engine: EngineKind,
        backend: String,
        version: Version,
    },
}

/// An engine was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// No release has such a version.
    #[error("no release has the version {version:?}")]
    Version {
        version: String,
        #[source]
        source: semver::Error,
    },
    /// A file of `release_keys` cannot be read.
    #[error("cannot read {}", path.display())]
    KeyFile {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A key cannot be used.
    #[error("the key {path} cannot be used")]
    Key {
        /// Where it is from.
        path: String,
        #[source]
        source: KeyError,
    },
    /// The release cannot be had.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The downloaded file does not run here.
    #[error("what the site has does not run here")]
    DoesNotRun(#[source] FindError),
    /// The release reports a different version.
    #[error("the site has {found} as this version")]
    OtherVersion {
        /// The version that the release reports.
        found: Version,
    },
}
