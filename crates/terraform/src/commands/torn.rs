//! Terraform's own files that a full disk or a power loss has left torn. Terraform refuses to continue with torn files,
//! and `init` writes new files (docs/terraform.md#the-task-directory).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::attempt::Attempt;
use crate::data_files::{BACKEND_FILE, LOCK_FILE};
use crate::directory::remove_if_present;
use crate::error::FileError;

/// The file in the data directory in which Terraform lists the modules that it has installed.
const MODULES_FILE: &str = "modules/modules.json";

/// Whether the next command would fail because of a torn file.
pub(crate) fn is_torn(attempt: &Attempt) -> bool {
    // Terraform reports the file that cannot be read.
    files(attempt).any(|(path, sound)| read_torn(&path, sound).unwrap_or_default())
}

/// Removes torn files; must be called before `init`.
///
/// A torn record of a backend counts as missing: if the state of the directory is to move to another backend, the state
/// is looked for at the place in the configuration.
pub(crate) fn remove_torn(attempt: &Attempt) -> Result<(), FileError> {
    for (path, sound) in files(attempt) {
        if read_torn(&path, sound).map_err(FileError::of("read", &path))? {
            tracing::warn!(task_name = %attempt.task, path = %path.display(), "removing a file of Terraform that is torn, as a full disk or a power loss leaves it; init makes it anew");
            remove_if_present(&path)?;
        }
    }
    Ok(())
}

fn files(attempt: &Attempt) -> impl Iterator<Item = (PathBuf, fn(&[u8]) -> bool)> {
    let data = attempt.data_directory();
    let json =
        [BACKEND_FILE, MODULES_FILE].map(|name| (data.join(name), is_json as fn(&[u8]) -> bool));
    let lock = attempt.directory.path().join(LOCK_FILE);
    json.into_iter().chain([(lock, is_text as _)])
}

fn read_torn(path: &Path, sound: fn(&[u8]) -> bool) -> io::Result<bool> {
    match fs::read(path) {
        Ok(content) => Ok(!sound(&content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn is_json(content: &[u8]) -> bool {
    serde_json::from_slice::<Value>(content).is_ok()
}

/// A person may have edited the lock file, and must get Terraform's error about a mistake in it. Zeros are
/// from a power loss.
fn is_text(content: &[u8]) -> bool {
    !content.contains(&0)
}
