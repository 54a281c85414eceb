//! A file for a secret.

use std::fs::{File, OpenOptions, remove_file};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A new file that only its owner can read. The file is removed again unless it was written.
#[derive(Debug)]
pub(super) struct NewFile {
    path: PathBuf,
    file: File,
    written: bool,
}

impl NewFile {
    /// Creates the file; an existing file or link is refused.
    pub(super) fn make(path: &Path) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(|error| {
            Failure::Call(format!(
                "the file {} cannot be made: {error}; nothing was done",
                path.display()
            ))
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            written: false,
        })
    }

    /// Writes the content, and waits until the disk has it.
    pub(super) fn write(&mut self, content: &str) -> Result<(), Failure> {
        let written = self.file.write_all(content.as_bytes());
        written
            .and_then(|()| self.file.sync_all())
            .map_err(|error| {
                Failure::Call(format!(
                    "the file {} cannot be written: {error}",
                    self.path.display()
                ))
            })?;
        self.written = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.written {
            // There is nothing in it.
            let _gone = remove_file(&self.path);
        }
    }
}
