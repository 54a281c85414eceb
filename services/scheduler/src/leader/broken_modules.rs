//! Tasks of the files whose modules cannot be used, and when their modules are read again; without IO.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_core::{TaskName, TaskOrigin, TaskSpec};
use cts_store::StoredTask;
use tokio::time::Instant;

/// Time between two readings of a module that cannot be used.
const EVERY: Duration = Duration::from_mins(1);

/// The tasks whose modules cannot be used, as they are stored.
#[derive(Debug, Default)]
pub(crate) struct BrokenModules(BTreeMap<TaskName, Broken>);

#[derive(Debug)]
struct Broken {
    task: StoredTask,
    reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The module is read at this time, and before a run.
    Due(Instant),
    /// The module is being read.
    Running,
    /// The module was read and cannot be used: the runs that have waited for that fail.
    Ended(Instant),
}

/// Whether a due task may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Usability {
    /// The module can be used.
    Usable,
    /// The module is read first.
    BeingRead,
    /// The run fails with this error.
    Unusable(String),
}

impl BrokenModules {
    /// A stored task has come or changed.
    pub(crate) fn note(&mut self, task: &StoredTask, now: Instant) {
        let name = task.spec.name();
        let is_broken = task.spec.requirement.unusable_module.is_some();
        if !is_broken || task.origin != TaskOrigin::Config {
            self.0.remove(name);
            return;
        }
        let reading = self.0.get(name).map(|known| known.reading);
        let broken = Broken {
            task: task.clone(),
            reading: reading.unwrap_or(Reading::Due(now + EVERY)),
        };
        self.0.insert(name.clone(), broken);
    }

    /// Leaves the tasks that are stored still.
    pub(crate) fn retain(&mut self, is_stored: impl Fn(&TaskName) -> bool) {
        self.0.retain(|name, _broken| is_stored(name));
    }

    /// Whether a due task may run. The module of a task from the files is read first; the module of a task that is
    /// being created was read a moment ago.
    pub(crate) fn usability(
        &mut self,
        task: &TaskName,
        unusable_module: Option<&str>,
        now: Instant,
    ) -> Usability {
        let Some(reason) = unusable_module else {
            return Usability::Usable;
        };
        let Some(broken) = self.0.get_mut(task) else {
            return Usability::Unusable(reason.to_owned());
        };
        match broken.reading {
            Reading::Ended(_) => {
                let newest = broken.task.spec.requirement.unusable_module.as_deref();
                Usability::Unusable(newest.unwrap_or(reason).to_owned())
            }
            Reading::Running => Usability::BeingRead,
            Reading::Due(_) => {
                broken.reading = Reading::Due(now);
                Usability::BeingRead
            }
        }
    }

    /// The runs that have waited for a reading were decided.
    pub(crate) fn decided(&mut self) {
        for broken in self.0.values_mut() {
            if let Reading::Ended(next) = broken.reading {
                broken.reading = Reading::Due(next);
            }
        }
    }

    /// When the next reading is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        let readings = self.0.values().filter_map(|broken| match broken.reading {
            Reading::Due(at) => Some(at),
            Reading::Running | Reading::Ended(_) => None,
        });
        readings.min()
    }

    /// Takes the tasks whose modules are to be read now.
    pub(crate) fn begin(&mut self, now: Instant) -> Vec<StoredTask> {
        let due = self.0.values_mut().filter_map(|broken| {
            let is_due = matches!(broken.reading, Reading::Due(at) if at <= now);
            is_due.then(|| {
                broken.reading = Reading::Running;
                broken.task.clone()
            })
        });
        due.collect()
    }

    /// A reading has ended with this task. Returns the stored task if the task has changed.
    pub(crate) fn read(&mut self, read: &TaskSpec, now: Instant) -> Option<&StoredTask> {
        let broken = self.0.get_mut(read.name())?;
        broken.reading = Reading::Ended(now + EVERY);
        (broken.task.spec != *read).then_some(&broken.task)
    }
}

#[cfg(test)]
mod tests {
    use cts_core::TaskPhase;
    use cts_testkit::fixtures;

    use super::*;

    fn stored(name: &str, problem: Option<&str>, origin: TaskOrigin) -> StoredTask {
        let mut spec = fixtures::task(name, &["web"]);
        spec.requirement.unusable_module = problem.map(str::to_owned);
        StoredTask {
            spec,
            origin,
            phase: TaskPhase::Ready,
            revision: 1,
            destroy_run: None,
            destruction_suspended: false,
        }
    }

    fn unusable(reason: &str) -> Usability {
        Usability::Unusable(reason.to_owned())
    }

    #[test]
    fn a_module_is_read_before_each_run_and_once_a_minute() {
        let (mut broken, now) = (BrokenModules::default(), Instant::now());
        let task = stored("t", Some("gone"), TaskOrigin::Config);
        let name = task.spec.name();
        broken.note(&task, now);
        assert_eq!(broken.next(), Some(now + EVERY));
        assert_eq!(broken.begin(now), []);

        assert_eq!(
            broken.usability(name, Some("gone"), now),
            Usability::BeingRead
        );
        assert_eq!(broken.next(), Some(now));
        assert_eq!(broken.begin(now), std::slice::from_ref(&task));
        assert_eq!(
            broken.usability(name, Some("gone"), now),
            Usability::BeingRead
        );
        assert_eq!((broken.next(), broken.begin(now)), (None, Vec::new()));

        let mut other = task.clone();
        other.spec.requirement.unusable_module = Some("empty".to_owned());
        assert_eq!(broken.read(&other.spec, now), Some(&task));
        broken.note(&other, now);
        assert_eq!(broken.usability(name, Some("gone"), now), unusable("empty"));
        broken.decided();
        assert_eq!(broken.next(), Some(now + EVERY));
        assert_eq!(
            broken.usability(name, Some("empty"), now),
            Usability::BeingRead
        );
        assert_eq!(broken.begin(now), [other.clone()]);
        assert_eq!(broken.read(&other.spec, now), None, "as it was");

        broken.note(&stored("t", None, TaskOrigin::Config), now);
        assert_eq!(broken.usability(name, None, now), Usability::Usable);
        broken.decided();
        assert_eq!(broken.next(), None);
    }

    #[test]
    fn a_task_that_is_being_created_fails_without_another_reading() {
        let (mut broken, now) = (BrokenModules::default(), Instant::now());
        let task = stored("t", Some("gone"), TaskOrigin::Api);
        broken.note(&task, now);
        let usability = broken.usability(task.spec.name(), Some("gone"), now);
        assert_eq!(usability, unusable("gone"));
        broken.note(&stored("u", Some("gone"), TaskOrigin::Config), now);
        broken.retain(|_name| false);
        assert_eq!(broken.next(), None);
    }
}
