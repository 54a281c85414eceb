//! Files in a task directory and in its data directory, by which Terraform and cts recognise completed steps.

use std::fs;
use std::path::{Path, PathBuf};

use cts_core::Digest;

use crate::attempt::Attempt;
use crate::directory::remove_if_present;
use crate::error::FileError;

/// File in the data directory in which Terraform keeps the name of the chosen workspace.
pub(crate) const WORKSPACE_FILE: &str = "environment";

/// Identifies the root module and the lock file for which the data directory was initialised. The file lies with the
/// results of `init`, so deleting them deletes this too.
pub(crate) const FINGERPRINT_FILE: &str = "cts-initialised";

/// File in the task directory in which Terraform keeps versions and checksums of providers.
pub(crate) const LOCK_FILE: &str = ".terraform.lock.hcl";

/// Takes the place of the identity of a lock file if no lock file exists.
pub(crate) const NO_LOCK: &str = "-";

/// Names the backend, and the number of the task's moves, for which the state was found right.
pub(crate) const MARKER_FILE: &str = "cts-state";

/// Terraform's record of the backend that the directory was verified for last, while the directory is
/// initialised for another backend.
pub(crate) const PREVIOUS_FILE: &str = "cts-previous-backend.json";

/// File in the data directory in which Terraform keeps the arguments of the backend.
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
