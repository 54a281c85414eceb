//! Finding the executable of the engine and judging its version (docs/terraform.md#the-executable).

mod range;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use cts_core::{Backend, EngineKind};
use semver::Version;
use serde::Deserialize;
use tokio::process::Command;
use tokio::time::sleep;

use crate::inherited::InheritedEnvironment;
pub use range::{SUPPORTED_RANGE, is_supported, is_tested, required_version};

/// First version whose `pg` backend is supported (docs/configuration.md#driver-terraform).
const PG_BACKEND_SINCE: Version = Version::new(0, 14, 0);

/// Tries to run a file that another process has just inherited open for writing: for a moment the file cannot be run.
const BUSY_TRIES: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// An executable of an engine whose version is supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executable {
    engine: EngineKind,
    path: PathBuf,
    version: Version,
}

/// The executable cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// `path` is not a directory.
    #[error("{} is no directory; driver.terraform.path must be the directory of the executable", path.display())]
    NotDirectory {
        /// The named path.
        path: PathBuf,
    },
    /// The file cannot be run: not executable, or made for another machine.
    #[error(
        "incompatible {} binary: {} cannot be run; remove it or change driver.terraform.path",
        engine.title(),
        path.display()
    )]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// The configured engine.
        engine: EngineKind,
        #[source]
        source: io::Error,
    },
    /// Its command `version` failed.
    #[error(
        "incompatible {} binary: {} version ended with {status}\n{stderr}",
        engine.title(),
        path.display()
    )]
    Failed {
        /// The executable.
        path: PathBuf,
        /// The configured engine.
        engine: EngineKind,
        /// How it ended.
        status: ExitStatus,
        /// Standard error of the command.
        stderr: String,
    },
    /// Its command `version -json` printed something else than its version.
    #[error("incompatible {} binary: {} does not tell its version", engine.title(), path.display())]
    UnknownVersion {
        /// The executable.
        path: PathBuf,
        /// The configured engine.
        engine: EngineKind,
        /// Why its answer could not be read.
        #[source]
        source: serde_json::Error,
    },
    /// The version is too old, or a pre-release.
    #[error(
        "unsupported {} version: {} is {version}, supported is {}; remove it or change driver.terraform.path",
        engine.title(),
        path.display(),
        range::supported(*engine)
    )]
    Unsupported {
        /// The executable.
        path: PathBuf,
        /// The configured engine.
        engine: EngineKind,
        version: Version,
    },
}

/// OpenTofu reports its version under this name, too.
#[derive(Debug, Deserialize)]
struct VersionReport {
    terraform_version: Version,
}

impl Executable {
    /// The executable in `directory`; `None` if the directory has no executable. An executable that cannot be
    /// used is an error, never skipped. A relative directory is relative to `start_directory`.
    pub async fn in_directory(
        engine: EngineKind,
        directory: &Path,
        environment: &BTreeMap<OsString, OsString>,
        start_directory: &Path,
    ) -> Result<Option<Self>, FindError> {
        let directory = start_directory.join(directory);
        let candidate = directory.join(engine.executable());
        match fs::metadata(&candidate) {
            Ok(metadata) if metadata.is_dir() => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(FindError::NotDirectory { path: directory });
            }
            // A link to nothing exists, although it cannot be run.
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && fs::symlink_metadata(&candidate).is_err() =>
            {
                return Ok(None);
            }
            Ok(_) | Err(_) => {}
        }
        let executable = Self::at(engine, candidate, environment, start_directory);
        executable.await.map(Some)
    }

    /// The first executable in the directories of `environment`'s `PATH`; `None` if they have none.
    pub async fn on_path(
        engine: EngineKind,
        environment: &BTreeMap<OsString, OsString>,
        start_directory: &Path,
    ) -> Result<Option<Self>, FindError> {
        let path = environment
            .get(OsStr::new("PATH"))
            .map(OsString::as_os_str)
            .unwrap_or_default();
        let directories = std::env::split_paths(path).map(|path| start_directory.join(path));
        let mut candidates = directories.map(|directory| directory.join(engine.executable()));
        match candidates.find(|candidate| is_executable_file(candidate)) {
            Some(candidate) => {
                let executable = Self::at(engine, candidate, environment, start_directory);
                executable.await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// Runs the executable at `path`, relative to `start_directory`, to get its version.
    pub async fn at(
        engine: EngineKind,
        path: PathBuf,
        environment: &BTreeMap<OsString, OsString>,
        start_directory: &Path,
    ) -> Result<Self, FindError> {
        let path = start_directory.join(path);
        let output = match version_report(&path, environment, start_directory).await {
            Ok(output) => output,
            Err(source) => {
                return Err(FindError::NotExecutable {
                    path,
                    engine,
                    source,
                });
            }
        };
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(FindError::Failed {
                path,
                engine,
                status: output.status,
                stderr,
            });
        }
        let version = match read_report(&output.stdout) {
            Ok(report) => report.terraform_version,
            Err(source) => {
                return Err(FindError::UnknownVersion {
                    path,
                    engine,
                    source,
                });
            }
        };
        if is_supported(engine, &version) {
            Ok(Self {
                engine,
                path,
                version,
            })
        } else {
            Err(FindError::Unsupported {
                path,
                engine,
                version,
            })
        }
    }

    /// Absolute path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The engine of the executable.
    pub const fn engine(&self) -> EngineKind {
        self.engine
    }

    pub const fn version(&self) -> &Version {
        &self.version
    }

    /// Whether this version can keep the state of tasks in `backend`.
    pub fn supports_backend(&self, backend: &Backend) -> bool {
        backend.kind != "pg" || self.version >= PG_BACKEND_SINCE
    }
}

async fn version_report(
    path: &Path,
    environment: &BTreeMap<OsString, OsString>,
    start_directory: &Path,
) -> io::Result<Output> {
    let inherited = InheritedEnvironment::of(environment);
    let inherited = inherited.without(&["PGPASSFILE", "PGPASSWORD"]);
    let mut command = Command::new(path);
    command
        .args(["version", "-json"])
        .current_dir(start_directory)
        .env_clear()
        .envs(inherited.variables())
        // Without this, the executable would contact the vendor's server and wait for its answer.
        .env("CHECKPOINT_DISABLE", "1")
        .kill_on_drop(true)
        .stdin(Stdio::null());
    for _ in 1..BUSY_TRIES {
        match command.output().await {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => sleep(BUSY_PAUSE).await,
            output => return output,
        }
    }
    command.output().await
}

/// Versions before 0.13 answer in plain text.
fn read_report(stdout: &[u8]) -> Result<VersionReport, serde_json::Error> {
    let report = serde_json::from_slice(stdout);
    let plain = str::from_utf8(stdout).ok().and_then(plain_version);
    match (report, plain) {
        (Err(_), Some(terraform_version)) => Ok(VersionReport { terraform_version }),
        (report, _) => report,
    }
}

fn plain_version(text: &str) -> Option<Version> {
    let version = text.lines().next()?.strip_prefix("Terraform v")?;
    version.parse().ok()
}

fn is_executable_file(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
