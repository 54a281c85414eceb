//! Errors of files.

use std::io;
use std::path::PathBuf;

/// A file or directory could not be used.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} {}", path.display())]
pub struct FileError {
    /// The failed action: `read`, `write`, …
    pub action: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// Reason of the failure.
    #[source]
    pub source: io::Error,
}

impl FileError {
    /// Names the file of an error, for `map_err`.
    pub fn of(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self {
            action,
            path,
            source,
        }
    }
}
