//! One process at a time installs into a directory.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::{FileError, ReleaseError};

/// Name of the lock file. The file stays, because another process may be about to lock it.
const LOCK: &str = ".cts-install.lock";

/// Prefix of the names of unfinished files.
pub(crate) const UNFINISHED: &str = ".cts-install-";

const POLL: Duration = Duration::from_millis(100);

/// The right to install into a directory; ends when it is dropped, and with the process.
#[derive(Debug)]
pub struct InstallLock {
    directory: PathBuf,
    _file: File,
}

impl InstallLock {
    /// Makes the directory if needed, waits up to `limit` for other processes that install into it, and
    /// removes unfinished files of killed processes.
    pub async fn take(directory: &Path, limit: Duration) -> Result<Self, ReleaseError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(directory)
            .map_err(FileError::of("make the directory", directory))?;
        let path = directory.join(LOCK);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(FileError::of("open", &path))?;
        let give_up_at = Instant::now() + limit;
        let mut waits = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => {
                    return Err(FileError::of("lock", path)(source).into());
                }
                Err(TryLockError::WouldBlock) if Instant::now() >= give_up_at => {
                    let directory = directory.to_owned();
                    return Err(ReleaseError::Locked { directory, limit });
                }
                Err(TryLockError::WouldBlock) => {
                    if !waits {
                        tracing::info!(
                            target: "driver.terraform",
                            directory = %directory.display(),
                            "waiting for another process that installs there"
                        );
                        waits = true;
                    }
                    sleep(POLL).await;
                }
            }
        }
        remove_unfinished(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            _file: file,
        })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Removes unfinished files. Only the holder of the lock has such files, so all that exist are left from dead
/// processes.
fn remove_unfinished(directory: &Path) -> Result<(), FileError> {
    let entries = fs::read_dir(directory).map_err(FileError::of("read", directory))?;
    for entry in entries {
        let entry = entry.map_err(FileError::of("read", directory))?;
        let is_unfinished = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(UNFINISHED.as_bytes());
        if is_unfinished {
            let path = entry.path();
            fs::remove_file(&path).map_err(FileError::of("remove", &path))?;
        }
    }
    Ok(())
}
