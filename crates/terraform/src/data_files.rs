//! Files in a task directory and in its data directory, by which Terraform and cts know what was done there.

use std::fs;
use std::path::{Path, PathBuf};

use cts_core::Digest;

use crate::attempt::Attempt;
use crate::directory::remove_if_present;
use crate::error::FileError;

/// Where Terraform keeps the name of the chosen workspace, inside its data directory.
pub(crate) const WORKSPACE_FILE: &str = "environment";

/// Says for which root module the data directory was initialised, and with which lock file. The file lies
/// with the results of `init`, so deleting them deletes this too.
pub(crate) const FINGERPRINT_FILE: &str = "cts-initialised";

/// Where Terraform keeps versions and checksums of providers, in the task directory.
pub(crate) const LOCK_FILE: &str = ".terraform.lock.hcl";

/// Takes the place of the identity of a lock file if no lock file exists.
pub(crate) const NO_LOCK: &str = "-";

/// Names the backend, and the number of the task's moves, for which the state was found right.
pub(crate) const MARKER_FILE: &str = "cts-state";

/// Terraform's record of the backend that the directory was verified for last, while the directory is
/// initialised for another backend.
pub(crate) const PREVIOUS_FILE: &str = "cts-previous-backend.json";

/// Where Terraform keeps the arguments of the backend, in its data directory.
pub(crate) const BACKEND_FILE: &str = "terraform.tfstate";

/// Identifies the content of the lock file in a task directory.
pub(crate) fn lock_digest(directory: &Path) -> String {
    match fs::read(directory.join(LOCK_FILE)) {
        Ok(content) => Digest::of(&content).to_string(),
        Err(_) => NO_LOCK.to_owned(),
    }
}

/// Whether a data directory is complete.
pub(crate) fn is_initialised(data_directory: &Path) -> bool {
    data_directory.join(FINGERPRINT_FILE).exists()
}

pub(crate) fn workspace_file(attempt: &Attempt) -> PathBuf {
    attempt.data_directory().join(WORKSPACE_FILE)
}

pub(crate) fn forget_workspace(attempt: &Attempt) -> Result<(), FileError> {
    remove_if_present(&workspace_file(attempt))
}
