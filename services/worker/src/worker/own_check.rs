//! The own check of a worker (docs/runs.md#workers-that-cannot-work): whether its machine can do what every run needs.
//!
//! The check is made after an attempt has failed before Terraform, by an error that can be the fault of the machine.
//! While the check fails, the worker takes no new runs; the check is repeated until it succeeds.

use std::convert::Infallible;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use cts_core::runs::EarlyFailure;
use cts_core::{Backoff, Chain, WorkerProblem, excerpt, whole_milliseconds};
use cts_terraform::{Executable, FindError};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};

use crate::health::Health;
use crate::options::Driver;
use crate::shared::Shared;

/// The file that the check writes; no task can have this name, because it has a dot.
const FILE: &str = ".own-check";

/// Bytes that the check writes: a disk on which a bundle and a root module do not fit counts as full.
const BYTES: usize = 1 << 20;

/// Longest time for one check.
const LONGEST: Duration = Duration::from_secs(20);

/// Pauses between checks that fail.
const PAUSES: Backoff =
    Backoff::new(Duration::from_secs(1), Duration::from_secs(15)).with_jitter(0.2);

/// Characters of the reason.
const REASON_LENGTH: usize = 500;

/// Why the own check fails.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error("cannot write, sync and remove a file in {directory}")]
    Disk {
        directory: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot write, sync and remove a file")]
    Writing(#[from] JoinError),
    #[error("cannot start the engine")]
    Engine(#[from] FindError),
    #[error("it took longer than {} s", LONGEST.as_secs())]
    TooSlow,
}

impl Health {
    /// Judges an attempt that failed before Terraform by an error that can be the fault of the machine.
    pub(crate) async fn judge(&self, shared: &Shared) -> EarlyFailure {
        let _one = self.checking.lock().await;
        if !self.has_problem()
            && let Err(error) = check(shared).await
        {
            let reason = excerpt(&Chain(&error).to_string(), REASON_LENGTH);
            let takes_runs = shared.options.is_alone;
            let consequence = if takes_runs {
                "it takes runs all the same, since no other worker can"
            } else {
                "it takes no new runs until the check succeeds"
            };
            tracing::warn!(
                error = reason,
                consequence,
                "the own check of this worker fails"
            );
            let problem = WorkerProblem { reason, takes_runs };
            self.problem.send_replace(Some(problem));
        }
        if self.takes_runs() {
            // If no other worker can take the run, each attempt counts.
            EarlyFailure::Run
        } else {
            EarlyFailure::Machine
        }
    }

    /// Repeats the check while it fails.
    pub(crate) async fn keep(&self, shared: &Shared) -> Infallible {
        let mut problem = self.follow();
        loop {
            drop(problem.wait_for(Option::is_some).await);
            let since = Instant::now();
            let mut pauses = PAUSES.pauses(fastrand::f64);
            loop {
                sleep(pauses.next_pause()).await;
                let _one = self.checking.lock().await;
                match check(shared).await {
                    Ok(()) => break,
                    Err(error) => {
                        tracing::debug!(error = %Chain(&error), "the own check of this worker fails still");
                    }
                }
            }
            self.problem.send_replace(None);
            let lasted = whole_milliseconds(since.elapsed());
            tracing::info!(?lasted, "the own check of this worker succeeds again");
        }
    }
}

async fn check(shared: &Shared) -> Result<(), CheckError> {
    let checked = timeout(LONGEST, async {
        let directory = shared.options.working_dir.clone();
        let written = spawn_blocking(move || {
            write(&directory).map_err(|source| CheckError::Disk {
                directory: directory.display().to_string(),
                source,
            })
        });
        written.await??;
        if let Driver::Terraform(terraform) = &shared.driver {
            start(terraform.executable(), shared).await?;
        }
        Ok(())
    });
    checked.await.unwrap_or(Err(CheckError::TooSlow))
}

async fn start(executable: &Executable, shared: &Shared) -> Result<(), FindError> {
    let options = &shared.options;
    let path = executable.path().to_owned();
    let environment = options.environment.variables();
    let started = Executable::at(executable.engine(), path, environment, &options.working_dir);
    started.await.map(drop)
}

fn write(directory: &Path) -> io::Result<()> {
    let path = directory.join(FILE);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path);
    let written = file.and_then(|mut file| {
        file.write_all(&vec![b'c'; BYTES])?;
        file.sync_all()
    });
    let removed = fs::remove_file(&path);
    written.and(removed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_directory_that_can_be_written_is_left_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_is_gone_or_no_directory_fails_the_check() {
        let directory = tempfile::tempdir().unwrap();
        let gone = write(&directory.path().join("gone"));
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::NotFound);
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(write(&file).is_err());
    }
}
