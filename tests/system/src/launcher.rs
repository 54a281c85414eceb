//! Starting executables in the directory of a test.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::process::Process;
use crate::programs::{executable, link};

/// Directory and environment of processes. Outlives no [`Site`](crate::Site): it only knows its path.
#[derive(Debug, Clone)]
pub struct Launcher {
    path: PathBuf,
    environment: Vec<(String, String)>,
}

impl Launcher {
    pub(crate) fn new(path: &Path, environment: Vec<(String, String)>) -> Self {
        Self {
            path: path.to_owned(),
            environment,
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts `cts` in the directory, called as `name`; output is appended to the file `log` in it.
    pub fn run(&self, name: &str, arguments: &[impl AsRef<str>], log: &str) -> Process {
        let program = match name {
            "cts" => executable(name),
            name => link(&self.path, name),
        };
        let mut command = Command::new(program);
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .current_dir(&self.path)
            .env_clear()
            .envs(self.environment.iter().cloned());
        Process::start(command, &self.path.join(log))
    }
}
