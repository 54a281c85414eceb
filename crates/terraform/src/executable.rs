//! Finding the Terraform executable and judging its version (docs/terraform.md#the-executable).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use cts_core::Backend;
use semver::{BuildMetadata, Version};
use serde::Deserialize;
use tokio::process::Command;

use crate::inherited::InheritedEnvironment;

/// Versions of Terraform that are supported; pre-releases are not.
pub const SUPPORTED_RANGE: &str = ">= 0.13.0, <= 1.14.3";

const OLDEST: Version = Version::new(0, 13, 0);
const NEWEST: Version = Version::new(1, 14, 3);

/// First version whose `pg` backend is supported (docs/configuration.md#driver-terraform).
const PG_BACKEND_SINCE: Version = Version::new(0, 14, 0);

/// File name of the executable.
const FILE_NAME: &str = "terraform";

/// A Terraform executable whose version is supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executable {
    path: PathBuf,
    version: Version,
}

/// There is no usable Terraform.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No directory has an executable.
    #[error("no terraform executable in {}", searched.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "))]
    NotFound {
        /// The directories, in the order of the search.
        searched: Vec<PathBuf>,
    },
    /// The file cannot be run: not executable, or made for another machine.
    #[error("{} cannot be run; remove it or change driver.terraform.path", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// `terraform version` failed.
    #[error("{} version ended with {status}\n{stderr}", path.display())]
    Failed {
        /// The executable.
        path: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        stderr: String,
    },
    /// `terraform version -json` printed something else than its version.
    #[error("{} does not tell its version", path.display())]
    UnknownVersion {
        /// The executable.
        path: PathBuf,
        /// Why its answer could not be read.
        #[source]
        source: serde_json::Error,
    },
    /// The version is outside the supported range.
    #[error(
        "{} is terraform {version}, supported is {SUPPORTED_RANGE}; remove it or change driver.terraform.path",
        path.display()
    )]
    Unsupported {
        /// The executable.
        path: PathBuf,
        /// Its version.
        version: Version,
    },
}

#[derive(Debug, Deserialize)]
struct VersionReport {
    terraform_version: Version,
}

impl Executable {
    /// Looks for `terraform` in `configured_directory` (the start directory if there is none), then
    /// in the directories of `environment`'s `PATH`, and asks it for its version. Relative
    /// directories are relative to `start_directory`.
    ///
    /// A `terraform` in the configured directory is used or refused, never passed over.
    pub async fn find(
        configured_directory: Option<&Path>,
        environment: &BTreeMap<OsString, OsString>,
        start_directory: &Path,
    ) -> Result<Self, FindError> {
        let configured = start_directory.join(configured_directory.unwrap_or(Path::new("")));
        let candidate = configured.join(FILE_NAME);
        if candidate.is_file() {
            return Self::at(candidate, environment, start_directory).await;
        }
        let mut searched = vec![configured];
        let path = environment
            .get(OsStr::new("PATH"))
            .map(OsString::as_os_str)
            .unwrap_or_default();
        for directory in std::env::split_paths(path) {
            let directory = start_directory.join(directory);
            let candidate = directory.join(FILE_NAME);
            if is_executable_file(&candidate) {
                return Self::at(candidate, environment, start_directory).await;
            }
            searched.push(directory);
        }
        Err(FindError::NotFound { searched })
    }

    /// Asks the executable at `path`, relative to `start_directory`, for its version.
    pub async fn at(
        path: PathBuf,
        environment: &BTreeMap<OsString, OsString>,
        start_directory: &Path,
    ) -> Result<Self, FindError> {
        let path = start_directory.join(path);
        let output = Command::new(&path)
            .args(["version", "-json"])
            .current_dir(start_directory)
            .env_clear()
            .envs(InheritedEnvironment::of(environment).variables())
            // It would ask the vendor's server for news and wait for the answer.
            .env("CHECKPOINT_DISABLE", "1")
            .stdin(Stdio::null())
            .output()
            .await;
        let output = match output {
            Ok(output) => output,
            Err(source) => return Err(FindError::NotExecutable { path, source }),
        };
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(FindError::Failed {
                path,
                status: output.status,
                stderr,
            });
        }
        let version = match serde_json::from_slice::<VersionReport>(&output.stdout) {
            Ok(report) => report.terraform_version,
            Err(source) => return Err(FindError::UnknownVersion { path, source }),
        };
        if is_supported(&version) {
            Ok(Self { path, version })
        } else {
            Err(FindError::Unsupported { path, version })
        }
    }

    /// Absolute path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version.
    pub const fn version(&self) -> &Version {
        &self.version
    }

    /// Whether this version can keep the state of tasks in `backend`.
    pub fn supports_backend(&self, backend: &Backend) -> bool {
        backend.kind != "pg" || self.version >= PG_BACKEND_SINCE
    }
}

/// Whether a version of Terraform is supported; build metadata does not matter.
pub fn is_supported(version: &Version) -> bool {
    let mut plain = version.clone();
    plain.build = BuildMetadata::EMPTY;
    plain.pre.is_empty() && (OLDEST..=NEWEST).contains(&plain)
}

fn is_executable_file(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_has_both_ends_and_no_pre_releases() {
        for (text, supported) in [
            ("0.12.31", false),
            ("0.13.0", true),
            ("1.11.4", true),
            ("1.14.3", true),
            ("1.14.3+ent", true),
            ("1.14.4", false),
            ("1.14.0-rc1", false),
            ("2.0.0", false),
        ] {
            assert_eq!(is_supported(&text.parse().unwrap()), supported, "{text}");
        }
    }
}
