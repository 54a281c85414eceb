//! One attempt at a run.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cts_core::{StepTimeouts, TaskName};

use crate::child_environment::ChildEnvironment;
use crate::directory::TaskDirectory;
use crate::markers::TASK_DIRECTORY_MARKER;
use crate::output::OutputSink;
use crate::stop::StopSignal;

/// Settings that all commands of one attempt at a run share.
#[derive(Clone)]
pub struct Attempt {
    /// The task; also the name of its workspace.
    pub task: TaskName,
    /// The directory in which the commands run; the generated files must be in it.
    pub directory: TaskDirectory,
    /// Their complete environment.
    pub environment: ChildEnvironment,
    /// Takes their output.
    pub output: Arc<dyn OutputSink>,
    /// Stops the running command and prevents the start of the next command.
    pub stop: StopSignal,
    /// How long each command may take; a command that takes longer is stopped as by `stop`, and has failed.
    pub timeouts: StepTimeouts,
}

impl Attempt {
    /// The directory in which Terraform keeps the results of `init`.
    pub(crate) fn data_directory(&self) -> PathBuf {
        self.environment.data_directory(&self.directory)
    }

    /// The task directory as the environment of the commands names it, by which their processes are found.
    pub(crate) fn marked_directory(&self) -> PathBuf {
        let marked = self.environment.get(TASK_DIRECTORY_MARKER);
        marked.map_or_else(|| self.directory.path().to_owned(), PathBuf::from)
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("task", &self.task)
            .field("directory", &self.directory)
            .field("stop", &self.stop)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}
