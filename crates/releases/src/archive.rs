//! The executable in the archive of a release.

use std::fs::File;
use std::io::{self, Read as _, Write};

use zip::ZipArchive;
use zip::result::ZipError;

/// More files than any release has.
const MOST_FILES: usize = 100;

/// The archive is not that of a release.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is not a zip archive, or a damaged one.
    #[error("it is no whole zip archive")]
    Zip(#[source] ZipError),
    /// The archive has more files than a release.
    #[error("it has {found} files")]
    TooMany {
        /// How many.
        found: usize,
    },
    /// The archive has an entry that is not a plain file in its top directory.
    #[error("it has {name:?}, which is no plain file")]
    NotPlain {
        /// Its name in the archive.
        name: String,
    },
    /// The archive lacks the executable.
    #[error("it has no file {name:?}")]
    Missing { name: &'static str },
    /// The executable is larger than any real one.
    #[error("{name:?} in it is larger than {limit} bytes")]
    TooLarge {
        /// The executable.
        name: &'static str,
        /// The most that is unpacked.
        limit: u64,
    },
    /// The executable cannot be read or written.
    #[error("{name:?} cannot be unpacked")]
    Unpack {
        /// The executable.
        name: &'static str,
        #[source]
        source: io::Error,
    },
}

/// Writes the file `name` of an archive to `target`. Other plain files are ignored; any other entry makes the
/// archive invalid.
pub(crate) fn unpack(
    archive: File,
    name: &'static str,
    target: &mut impl Write,
    limit: u64,
) -> Result<(), ArchiveError> {
    let mut archive = ZipArchive::new(archive).map_err(ArchiveError::Zip)?;
    if archive.len() > MOST_FILES {
        let found = archive.len();
        return Err(ArchiveError::TooMany { found });
    }
    let mut executable = None;
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(ArchiveError::Zip)?;
        if !file.is_file() || !is_plain_name(file.name_raw()) {
            let name = String::from_utf8_lossy(file.name_raw()).into_owned();
            return Err(ArchiveError::NotPlain { name });
        }
        if file.name_raw() == name.as_bytes() {
            executable = Some(index);
        }
    }
    let index = executable.ok_or(ArchiveError::Missing { name })?;
    let file = archive.by_index(index).map_err(ArchiveError::Zip)?;
    // The size that the archive gives is not trusted.
    let written = io::copy(&mut file.take(limit.saturating_add(1)), target)
        .map_err(|source| ArchiveError::Unpack { name, source })?;
    if written > limit {
        return Err(ArchiveError::TooLarge { name, limit });
    }
    Ok(())
}

fn is_plain_name(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_graphic() && !b"/\\:".contains(byte);
    !name.is_empty() && name != b"." && name != b".." && name.iter().all(plain)
}
