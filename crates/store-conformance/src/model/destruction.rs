//! The part of the model that destroys the infrastructure of tasks.

use std::time::Duration;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{RunId, TaskName, TaskPhase};

use super::{Model, ModelTask};
use cts_store::TaskError;

impl Model {
    pub fn plan_destruction(&mut self, name: &TaskName, run: RunId) -> Result<bool, TaskError> {
        if self.visible(name)?.phase == TaskPhase::Deleting {
            return Err(TaskError::Deleting);
        }
        Ok(self.destroy(name, RunKind::DestroyPlan, run))
    }

    /// Queues such a run with the input of the newest run that was leased to apply; `false` without such a
    /// run.
    fn destroy(&mut self, name: &TaskName, kind: RunKind, run: RunId) -> bool {
        let incarnation = self.tasks[name].incarnation;
        let mut newest_first = self.runs.values().rev();
        let applied = newest_first.find(|run| {
            run.task == *name
                && run.incarnation == incarnation
                && run.kind == RunKind::Apply
                && run.epoch > 0
        });
        let Some(input) = applied.map(|run| run.input) else {
            return false;
        };
        self.insert(run, name.clone(), input, Duration::ZERO);
        let run = self.run(Some(run));
        run.kind = kind;
        run.no_retry = kind == RunKind::DestroyPlan;
        run.requested = run.no_retry;
        true
    }

    /// Queues the run that destroys the infrastructure of a task; without such a run the task is removed.
    pub(super) fn begin_destruction(&mut self, name: &TaskName, run: RunId) {
        if !self.destroy(name, RunKind::Destroy, run) {
            self.remove(name);
        }
    }

    /// Removes tasks that are being deleted if nothing of them runs, or their infrastructure is destroyed.
    pub(super) fn remove_deleted(&mut self) {
        let deleting = |task: &ModelTask| task.stored.phase == TaskPhase::Deleting;
        let ended: Vec<_> = self
            .tasks
            .iter()
            .filter(|(name, task)| deleting(task) && self.only(name, RunStatus::Running).is_none())
            .map(|(name, task)| (name.clone(), task.stored.destroy_run))
            .collect();
        for (name, destroy_run) in ended {
            match destroy_run {
                None => self.remove(&name),
                Some(run) if self.runs.contains_key(&run) => {}
                Some(run) => self.begin_destruction(&name, run),
            }
        }
    }
}
