//! The files of certificates and keys.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::certs_error::CertsError;

/// A certificate and its key.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// Decides where the files of a role are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// In the directory of the authority, named after the role.
    Flat,
    /// In its own directory, for services that must not see the keys of other services.
    PerRole,
}

/// Decides who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Certificate,
    Key,
}

impl Pair {
    /// The files for this name.
    pub(super) fn of(directory: &Path, name: &str) -> Self {
        Self {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}-key.pem")),
        }
    }

    /// The files of a role.
    pub(super) fn of_role(directory: &Path, role: &str, layout: Layout) -> Self {
        match layout {
            Layout::Flat => Self::of(directory, role),
            Layout::PerRole => Self {
                certificate: directory.join(role).join("cert.pem"),
                key: directory.join(role).join("key.pem"),
            },
        }
    }

    /// Whether both files exist.
    pub(super) fn is_complete(&self) -> bool {
        self.existing().len() == 2
    }

    /// Returns the existing files.
    pub(super) fn existing(&self) -> Vec<PathBuf> {
        let both = [&self.certificate, &self.key].into_iter();
        both.filter(|path| path.symlink_metadata().is_ok())
            .cloned()
            .collect()
    }
}

/// Makes the directory, for its owner only, unless there is one.
pub(super) fn make_directory(directory: &Path) -> Result<(), CertsError> {
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    made.map_err(|source| failed(directory, source))
}

/// Writes a whole file, and replaces an earlier file atomically.
pub(super) fn write(path: &Path, text: &str, kind: Kind) -> Result<(), CertsError> {
    let mode = match kind {
        Kind::Certificate => 0o644,
        Kind::Key => 0o600,
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let written = || -> io::Result<()> {
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    written().map_err(|source| failed(path, source))
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, CertsError> {
    fs::read_to_string(path).map_err(|source| failed(path, source))
}

fn failed(path: &Path, source: io::Error) -> CertsError {
    CertsError::Path {
        path: path.to_owned(),
        source,
    }
}
