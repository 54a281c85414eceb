//! Directories that hold states for a moment, and the file of a plan.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cts_core::Chain;

use crate::error::FileError;

/// Name of the file of a saved plan in the task directory.
pub(crate) const SAVED_PLAN: &str = "saved.tfplan";

/// Names of scratch directories in the task directory; the next run finds the directories that a kill left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The state of the task is read.
    Look,
    /// The state of another place, until it is pushed.
    Fetch,
    /// The backend is initialised in a directory without states.
    Init,
}

impl Purpose {
    const ALL: [Self; 3] = [Self::Look, Self::Fetch, Self::Init];

    const fn name(self) -> &'static str {
        match self {
            Self::Look => ".cts-state",
            Self::Fetch => ".cts-state-to-move",
            Self::Init => ".cts-backend",
        }
    }
}

/// A directory that only its owner may read. Removed when dropped.
#[derive(Debug)]
pub(crate) struct ScratchDirectory {
    path: PathBuf,
}

impl ScratchDirectory {
    /// Creates the directory for this purpose in the directory of a task; a directory that a kill left is removed
    /// first.
    pub(crate) fn new(task_directory: &Path, purpose: Purpose) -> Result<Self, FileError> {
        let path = task_directory.join(purpose.name());
        remove(&path).map_err(FileError::of("remove", &path))?;
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(FileError::of("create", &path))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(path = %self.path.display(), error = %Chain(&error), "a directory with a state is left behind");
        }
    }
}

/// Removes the directories and the plan that a killed worker has left in a task directory.
pub(crate) fn remove_left(task_directory: &Path) -> Result<(), FileError> {
    let plan = task_directory.join(SAVED_PLAN);
    match fs::remove_file(&plan) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed.map_err(FileError::of("remove", &plan))?,
    }
    for purpose in Purpose::ALL {
        let path = task_directory.join(purpose.name());
        remove(&path).map_err(FileError::of("remove", &path))?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
