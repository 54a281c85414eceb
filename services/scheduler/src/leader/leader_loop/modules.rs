//! Modules that cannot be used: they are read again, and until they can be used the runs of their tasks fail.

use std::sync::Arc;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Chain, ErrorCode, TaskSpec};
use cts_store::{EnqueueRequest, Enqueued, FailedStart, TaskChange};
use tokio::time::Instant;

use super::LeaderLoop;
use crate::leader::broken_modules::Usability;
use crate::planner::{Decision, DueTask, EnqueueReason};

impl LeaderLoop {
    /// Whether a due task may run. Before the first read of the stored tasks it is unknown which modules are read
    /// again.
    pub(super) fn usability(&mut self, task: &DueTask) -> Usability {
        let problem = task.engine.unusable_module.as_deref();
        if problem.is_some() && !self.planner.is_reconciled() {
            return Usability::BeingRead;
        }
        let name = &task.definition.name;
        self.broken.usability(name, problem, Instant::now())
    }

    /// Begins to read the modules that are due.
    pub(super) fn read_modules(&mut self) {
        for task in self.broken.begin(Instant::now()) {
            let (modules, store) = (
                self.context.modules.clone(),
                Arc::clone(&self.context.store),
            );
            self.readings
                .spawn(async move { modules.read(&*store, &task).await });
        }
    }

    /// Stores a task whose module has changed, and makes the task due if its module can be used now.
    pub(super) async fn note_module(&mut self, read: TaskSpec) {
        let Some(before) = self.broken.read(&read, Instant::now()) else {
            return;
        };
        let change = TaskChange {
            revision: Some(before.revision),
            spec: Some(read),
            ..TaskChange::default()
        };
        let name = before.spec.name().clone();
        let task = match self.context.store.change_task(&name, &change).await {
            Ok(task) => task,
            Err(error) => {
                // The task has changed, or the next reading finds the same.
                tracing::debug!(target: "ctrl", task_name = %name, error = %Chain(&error), "cannot store a module that was read again");
                return;
            }
        };
        self.broken.note(&task, Instant::now());
        if task.spec.requirement.unusable_module.is_none() {
            tracing::info!(target: "ctrl", task_name = %name, "the module of the task can be used again");
            let mut of_task = self
                .unfrozen
                .iter()
                .filter(|((of, _run), _due)| *of == name);
            let is_requested = of_task.any(|(_key, due)| {
                matches!(due.reason, EnqueueReason::Request(asked) if asked.kind == RunKind::Apply)
            });
            // Requests are found again with the changed task.
            self.unfrozen.retain(|(of, _run), _due| *of != name);
            let now = self.started.elapsed();
            self.planner.module_changed(&task.spec, is_requested, now);
        }
        self.context.notifier.tasks_changed();
    }

    /// Logs and notes a run that has failed because no worker can begin it.
    pub(super) fn report_failed(
        &mut self,
        enqueued: &Enqueued,
        request: &EnqueueRequest,
        FailedStart { error, .. }: &FailedStart,
    ) {
        if enqueued.decision.is_none() {
            return;
        }
        let (task, run, kind) = (&enqueued.task, request.run, request.kind);
        let code = ErrorCode::ModuleUnusable.as_str();
        match kind {
            RunKind::Plan => {
                tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, code, "error inspecting task");
            }
            RunKind::Check => {
                tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, code, "error checking task");
            }
            RunKind::Apply | RunKind::Destroy | RunKind::DestroyPlan => {
                tracing::error!(target: "ctrl", task_name = %task, error, run.id = %run, code, "error initializing task");
            }
        }
        if kind.applies() {
            self.context.first_pass.ended(task, true);
        }
        self.context
            .notifier
            .run_changed(run, task, kind, RunStatus::Failed);
        if kind == RunKind::Check {
            // The leader may wait for it.
            self.context.notifier.tasks_changed();
        }
        let decision = Decision::Failed(error.clone());
        self.planner.decided(task, self.started.elapsed(), decision);
    }
}
