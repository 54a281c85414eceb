//! Names of tasks as values of a label (docs/telemetry.md#task-names).

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// Value of the label for all tasks beyond the most that are named.
pub const OTHER_TASKS: &str = "other";

/// Limits how many names of tasks become values of labels. Cheap to clone; clones share one set.
#[derive(Debug, Clone)]
pub struct TaskNames {
    most: usize,
    named: Arc<Mutex<HashSet<Arc<str>>>>,
}

impl TaskNames {
    /// Names the first `most` tasks that are asked for; the others are [`OTHER_TASKS`].
    pub fn new(most: u32) -> Self {
        Self {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            named: Arc::default(),
        }
    }

    /// The value of the label for this task.
    pub fn label(&self, task: &str) -> Arc<str> {
        let mut named = self.named.lock();
        if let Some(name) = named.get(task) {
            return Arc::clone(name);
        }
        if named.len() >= self.most {
            return OTHER_TASKS.into();
        }
        let name: Arc<str> = task.into();
        named.insert(Arc::clone(&name));
        name
    }

    /// Gives up the name of a task that is gone, for another task.
    pub fn forget(&self, task: &str) {
        self.named.lock().remove(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tasks_are_named_and_a_deleted_one_makes_room() {
        let names = TaskNames::new(2);
        assert_eq!(&*names.label("a"), "a");
        assert_eq!(&*names.label("b"), "b");
        assert_eq!(&*names.label("c"), OTHER_TASKS);
        assert_eq!(&*names.label("a"), "a");
        names.forget("a");
        assert_eq!(&*names.label("c"), "c");
        assert_eq!(&*names.label("a"), OTHER_TASKS);
    }

    #[test]
    fn zero_names_no_task() {
        assert_eq!(&*TaskNames::new(0).label("a"), OTHER_TASKS);
    }
}
