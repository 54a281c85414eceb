//! The part of the model about the shrink limit.

use chrono::DateTime;
use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};
use cts_core::{Baseline, Blocked, Loss, TaskName};

use super::{Model, ModelTask};
use cts_store::EnqueueRequest;

impl Model {
    pub(super) fn guard(
        &mut self,
        request: &EnqueueRequest,
        decision: EnqueueDecision,
        losses: &[Loss],
    ) {
        let baseline = self
            .tasks
            .get(&request.task)
            .map(|task| self.baseline(task));
        let baseline = baseline.unwrap_or_default();
        let Some(task) = self.tasks.get_mut(&request.task) else {
            return;
        };
        match &request.guarded {
            None => {
                (task.held, task.applied_instances, task.released) = (None, None, None);
            }
            Some(guarded) if decision == EnqueueDecision::Block => {
                task.held = Some((losses.to_vec(), guarded.counts.clone()));
            }
            Some(guarded) => {
                task.held = None;
                let released = baseline.let_through(guarded.guard, &guarded.counts);
                task.released = released;
            }
        }
    }

    /// Baseline that an input of this task is compared with.
    pub(super) fn baseline(&self, task: &ModelTask) -> Baseline {
        let running = self.only(task.stored.spec.name(), RunStatus::Running);
        let running = running.map(|id| &self.runs[&id]);
        let running = running.filter(|run| run.kind == RunKind::Apply);
        Baseline {
            applied: task.applied_instances.clone(),
            running: running.and_then(|run| self.inputs.get(&run.input)?.clone()),
            released: task.released.clone(),
        }
    }

    /// An attempt has ended.
    pub(super) fn reevaluate(&mut self, name: &TaskName) -> bool {
        let Some(task) = self.tasks.get(name) else {
            return false;
        };
        let guard = task.stored.spec.file_settings.guard;
        let mut baseline = self.baseline(task);
        baseline.released = baseline.settled(guard);
        let held = task.held.clone().and_then(|(_, counts)| {
            let losses = baseline.losses(guard, &counts);
            (!losses.is_empty()).then_some((losses, counts))
        });
        let looked = held != task.held || baseline.released != task.released;
        if let Some(task) = self.tasks.get_mut(name) {
            (task.held, task.released) = (held, baseline.released);
        }
        looked
    }

    pub fn release(&mut self, name: &TaskName) -> Option<bool> {
        let task = self.tasks.get(name).filter(|task| task.is_visible())?;
        let Some((losses, counts)) = task.held.clone() else {
            return Some(false);
        };
        let blocked = Blocked {
            since: DateTime::default(),
            losses,
            counts,
            brake: None,
            causes: Vec::new(),
        };
        let baseline = self.baseline(task).release(&blocked);
        let task = self.tasks.get_mut(name)?;
        (task.applied_instances, task.released) = (baseline.applied, baseline.released);
        task.held = None;
        Some(true)
    }
}
