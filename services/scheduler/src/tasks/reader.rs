//! Reading a task from a caller's declaration: passed in, because configuration is no business of the
//! scheduler's.

use std::fmt;
use std::sync::Arc;

use cts_core::{InvalidDraft, TaskDraft, TaskSpec};

/// Makes a task of a caller's declaration, with the same defaults and checks as for one of the configuration.
///
/// See docs/rest.md#task-objects. May read files.
#[derive(Clone)]
pub struct TaskReader(Arc<Read>);

type Read = dyn Fn(&TaskDraft) -> Result<TaskSpec, InvalidDraft> + Send + Sync;

impl TaskReader {
    /// Wraps a function.
    pub fn new(
        read: impl Fn(&TaskDraft) -> Result<TaskSpec, InvalidDraft> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn read(&self, draft: &TaskDraft) -> Result<TaskSpec, InvalidDraft> {
        (self.0)(draft)
    }
}

impl fmt::Debug for TaskReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskReader")
    }
}
