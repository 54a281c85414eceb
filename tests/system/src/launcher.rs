//! Starting executables in the directory of a test.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::other_user::OtherUser;
use crate::process::Process;
use crate::programs::{executable, link};

/// Directory and environment of processes. Must not outlive its [`Site`](crate::Site): contains only its path.
#[derive(Debug, Clone)]
pub struct Launcher {
    path: PathBuf,
    environment: Vec<(String, String)>,
    clocks: Option<Clocks>,
    user: Option<OtherUser>,
}

/// A library that gives each process a clock of its own.
#[derive(Debug, Clone)]
pub(crate) struct Clocks {
    /// Loaded before all others.
    pub(crate) library: PathBuf,
    /// Variable that names the file of a process.
    pub(crate) variable: String,
    /// Directory of these files, each with the name of the process's log without its ending.
    pub(crate) directory: PathBuf,
}

impl Launcher {
    pub(crate) fn new(
        path: &Path,
        environment: Vec<(String, String)>,
        clocks: Option<Clocks>,
        user: Option<OtherUser>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            environment,
            clocks,
            user,
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts `cts` in the directory, called as `name`; output is appended to the file `log` in it.
    pub fn run(&self, name: &str, arguments: &[impl AsRef<str>], log: &str) -> Process {
        let program = match (name, &self.user) {
            ("cts", None) => executable(name),
            ("cts", Some(user)) => user.programs.join(name),
            (name, _) => link(&self.path, name),
        };
        let mut command = Command::new(program);
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .current_dir(&self.path)
            .env_clear()
            .envs(self.environment.iter().cloned());
        if let Some(user) = &self.user {
            command.uid(user.id).gid(user.id);
        }
        if let Some(clocks) = &self.clocks {
            let name = log.strip_suffix(".log").unwrap_or(log);
            command
                .env("LD_PRELOAD", &clocks.library)
                .env(&clocks.variable, clocks.directory.join(name));
        }
        Process::start(command, &self.path.join(log))
    }
}
