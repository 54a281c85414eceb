//! Reading a task from a caller's declaration, and the module of a task again: passed in, because configuration is no
//! business of the scheduler's.

use std::fmt;
use std::sync::Arc;

use cts_core::{InvalidDraft, TaskDraft, TaskSpec};

/// Makes a task from a caller's declaration, with the same defaults and checks as for a task of the configuration.
///
/// See docs/rest.md#task-objects. May read files.
#[derive(Clone)]
pub struct TaskReader {
    read: Arc<Read>,
    read_module: Arc<ReadModule>,
}

type Read = dyn Fn(&TaskDraft) -> Result<TaskSpec, InvalidDraft> + Send + Sync;
type ReadModule = dyn Fn(&TaskSpec) -> TaskSpec + Send + Sync;

impl TaskReader {
    /// Wraps a function.
    pub fn new(
        read: impl Fn(&TaskDraft) -> Result<TaskSpec, InvalidDraft> + Send + Sync + 'static,
    ) -> Self {
        Self {
            read: Arc::new(read),
            read_module: Arc::new(TaskSpec::clone),
        }
    }

    /// Returns the reader with a function that returns a task of a file with its module as the module is now.
    #[must_use]
    pub fn with_modules(
        self,
        read_module: impl Fn(&TaskSpec) -> TaskSpec + Send + Sync + 'static,
    ) -> Self {
        Self {
            read_module: Arc::new(read_module),
            ..self
        }
    }

    pub(crate) fn read(&self, draft: &TaskDraft) -> Result<TaskSpec, InvalidDraft> {
        (self.read)(draft)
    }

    pub(crate) fn read_module(&self, task: &TaskSpec) -> TaskSpec {
        (self.read_module)(task)
    }
}

impl fmt::Debug for TaskReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskReader")
    }
}
