//! Starting executables in the directory of a test.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::process::Command;

use crate::other_user::OtherUser;
use crate::process::Process;
use crate::programs::{executable, link};

/// Commands that start services.
const SERVICES: [&str; 5] = ["start", "watcher", "scheduler", "worker", "gateway"];

/// Directory and environment of processes. Must not outlive its [`Site`](crate::Site): contains only its path.
#[derive(Debug, Clone)]
pub struct Launcher {
    path: PathBuf,
    environment: Vec<(String, String)>,
    clocks: Option<Clocks>,
    user: Option<OtherUser>,
    versions: Option<Versions>,
}

/// Two versions of `cts`, of which each start of a service is one.
#[derive(Debug, Clone)]
pub(crate) struct Versions {
    previous: PathBuf,
    seed: u64,
    starts: Arc<Mutex<HashMap<String, u64>>>,
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

impl Versions {
    pub(crate) fn new(previous: PathBuf, seed: u64) -> Self {
        Self {
            previous,
            seed,
            starts: Arc::default(),
        }
    }

    /// The executable of the next start of the service with this log: the previous one first, then either.
    fn next(&self, log: &str) -> PathBuf {
        let mut starts = self.starts.lock();
        let start = starts.entry(log.to_owned()).or_default();
        *start += 1;
        let mut hasher = DefaultHasher::new();
        (self.seed, log, *start).hash(&mut hasher);
        if *start == 1 || hasher.finish().is_multiple_of(2) {
            self.previous.clone()
        } else {
            executable("cts")
        }
    }
}

impl Launcher {
    pub(crate) fn new(
        path: &Path,
        environment: Vec<(String, String)>,
        clocks: Option<Clocks>,
        user: Option<OtherUser>,
        versions: Option<Versions>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            environment,
            clocks,
            user,
            versions,
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts `cts` in the directory, called as `name`; output is appended to the file `log` in it.
    pub fn run(&self, name: &str, arguments: &[impl AsRef<str>], log: &str) -> Process {
        let is_service = arguments
            .first()
            .is_some_and(|first| SERVICES.contains(&first.as_ref()));
        let program = match (name, &self.user) {
            ("cts", None) => match &self.versions {
                Some(versions) if is_service => versions.next(log),
                _ => executable(name),
            },
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
