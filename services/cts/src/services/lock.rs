//! One process per directory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::failure::Failure;

/// Use of a directory. No task can have the name of a lock file, because that has a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Database,
    /// Task directories are in it.
    Tasks,
}

impl Use {
    const fn file(self) -> &'static str {
        match self {
            Self::Database => "cts.lock",
            Self::Tasks => "worker.lock",
        }
    }

    const fn setting(self) -> &'static str {
        match self {
            Self::Database => "`working_dir`, such as working_dir = \"/var/lib/cts-2\"",
            Self::Tasks => {
                "`worker.working_dir`, or for `cts worker` -working-dir, such as -working-dir /var/lib/cts-2"
            }
        }
    }
}

/// Held while a process works in a directory. The operating system releases the lock when the process ends, in any way.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: Flock<File>,
}

impl DirectoryLock {
    /// Makes the directory if it is missing and takes its lock.
    pub(crate) fn take(directory: &Path, purpose: Use) -> Result<Self, Failure> {
        let path = directory.join(purpose.file());
        let failed = |source| Failure::Path {
            path: path.clone(),
            source,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(directory)
            .map_err(failed)?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Self { _file: file }),
            Err((_file, Errno::EWOULDBLOCK)) => Err(Failure::Locked {
                directory: directory.to_owned(),
                setting: purpose.setting(),
            }),
            Err((_file, errno)) => Err(failed(errno.into())),
        }
    }
}
