//! Directories that become visible complete or not at all.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use cts_core::Digest;
use tempfile::TempDir;

use crate::limits::Limits;
use crate::unpack::{DIRECTORY_MODE, UnpackError, create_directory, unpack_into};

/// Names of directories that are being filled or removed start with this.
pub(crate) const STAGING_PREFIX: &str = ".staging-";

/// A bundle in a temporary directory; removed when dropped, if it was not published.
#[derive(Debug)]
pub(crate) struct Staged {
    directory: TempDir,
    pub(crate) hash: Digest,
}

impl Staged {
    pub(crate) fn unpack(
        bytes: &[u8],
        beside: &Path,
        limits: &Limits,
    ) -> Result<Self, UnpackError> {
        let directory = staging_directory(beside).map_err(UnpackError::write(beside))?;
        let target = directory.path().join("bundle");
        create_directory(&target)?;
        let hash = unpack_into(bytes, &target, limits)?;
        Ok(Self { directory, hash })
    }

    pub(crate) fn publish(&self, into: &Path) -> Result<(), UnpackError> {
        match fs::rename(self.directory.path().join("bundle"), into) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) => Err(UnpackError::write(into)(error)),
            Ok(()) => Ok(()),
        }
    }
}

/// Unpacks `bytes` as the new directory `into`, an absolute path, and returns the hash of the unpacked
/// content, which is [`crate::Bundle::hash`] of an unchanged archive.
///
/// The directory appears complete or not at all. An existing directory that is not empty stays as it is: a
/// directory that is named by its hash has the same content. Blocks while it writes.
pub fn unpack(bytes: &[u8], into: &Path, limits: &Limits) -> Result<Digest, UnpackError> {
    let beside = into.parent().unwrap_or(Path::new("/"));
    let staged = Staged::unpack(bytes, beside, limits)?;
    staged.publish(into)?;
    Ok(staged.hash)
}

/// An empty temporary directory in `beside`, which is created if needed.
pub(crate) fn staging_directory(beside: &Path) -> io::Result<TempDir> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(beside)?;
    tempfile::Builder::new()
        .prefix(STAGING_PREFIX)
        .permissions(Permissions::from_mode(DIRECTORY_MODE))
        .tempdir_in(beside)
}
