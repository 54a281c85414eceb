//! The part of the model in which tasks are created, changed and removed.

use std::collections::BTreeSet;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{
    Declared, DeclaredBefore, Digest, RunId, TaskActivity, TaskAfterRun, TaskName, TaskOrigin,
    TaskPhase, TaskSpec, Withdrawal, read_declaration,
};

use super::task::ModelTask;
use super::{Model, ModelRun};
use cts_store::configured::RECONFIGURED;
use cts_store::{
    DELETED, Deletion, PendingDeletions, Refused, RefusedCode, StoredTask, TaskChange, TaskError,
};

fn declaration(spec: &TaskSpec) -> Digest {
    let declaration = spec.declaration();
    declaration.expect("the suite's tasks can be encoded")
}

impl Model {
    pub fn configure(&mut self, specs: &[TaskSpec]) -> PendingDeletions {
        let names: BTreeSet<_> = specs.iter().map(|spec| spec.name().clone()).collect();
        let gone: Vec<_> = self
            .tasks
            .iter()
            .filter(|(name, task)| {
                task.stored.origin == TaskOrigin::Config
                    && task.stored.destroy_run.is_none()
                    && !names.contains(*name)
            })
            .map(|(name, _)| name.clone())
            .collect();
        let mut unfinished = PendingDeletions::default();
        for name in gone {
            self.begin_deletion(&name, None);
            if self.tasks.contains_key(&name) {
                unfinished.deleting.push(name);
            }
        }
        self.deleted.retain(|name, _| names.contains(name));
        for spec in specs {
            let stored = self.tasks.get(spec.name());
            let declared = declaration(spec);
            let before = DeclaredBefore {
                stored: stored.map(|task| (task.stored.origin, task.configured)),
                deleted: self.deleted.get(spec.name()).copied(),
            };
            let deleting = stored.is_some_and(|task| task.stored.phase == TaskPhase::Deleting);
            match read_declaration(declared, before) {
                Declared::StaysDeleted => {}
                _ if deleting => unfinished.postponed.push(spec.name().clone()),
                Declared::Lasts => {
                    let task = self.tasks.get_mut(spec.name());
                    let stored = &mut task.expect("what lasts is there").stored;
                    let refreshed = stored.spec.refreshed_by(spec);
                    let withdrawal = stored.spec.withdrawal(&refreshed);
                    stored.spec = refreshed;
                    self.withdraw_applies(spec.name(), withdrawal, RECONFIGURED);
                }
                Declared::TakesEffect => self.take_effect(spec, declared),
            }
        }
        unfinished
    }

    /// Removes the task at once if nothing of it runs, and this run is not to destroy its infrastructure.
    pub(super) fn begin_deletion(&mut self, name: &TaskName, destroy_run: Option<RunId>) {
        let task = self.tasks.get_mut(name).expect("it is there");
        task.stored.phase = TaskPhase::Deleting;
        task.creation = None;
        task.stored.destroy_run = destroy_run;
        self.cancel(name, |_| true, DELETED);
        self.remove_deleted();
    }

    fn take_effect(&mut self, spec: &TaskSpec, declared: Digest) {
        self.deleted.remove(spec.name());
        self.incarnations += 1;
        let incarnation = self.incarnations;
        let new = || {
            let (origin, phase) = (TaskOrigin::Config, TaskPhase::Ready);
            ModelTask::new(incarnation, spec.clone(), origin, phase)
        };
        let task = self.tasks.entry(spec.name().clone()).or_insert_with(new);
        let withdrawal = task.stored.spec.withdrawal(spec);
        task.stored.revision += u64::from(task.stored.spec != *spec);
        if spec.enabled && !task.stored.spec.enabled {
            task.withheld = None;
        }
        task.stored.spec = spec.clone();
        task.stored.origin = TaskOrigin::Config;
        task.stored.phase = TaskPhase::Ready;
        (task.configured, task.creation) = (Some(declared), None);
        self.withdraw_applies(spec.name(), withdrawal, RECONFIGURED);
    }

    /// Its runs stay.
    pub(super) fn remove(&mut self, name: &TaskName) {
        self.tasks.remove(name);
        for run in self.runs.values_mut() {
            if run.task == *name && run.status == RunStatus::Queued {
                run.status = RunStatus::Cancelled;
            }
        }
        self.requests.retain(|_, request| request.task != *name);
    }

    fn activity(&self, name: &TaskName, phase: TaskPhase) -> TaskActivity {
        let mut runs = self.runs.values().filter(|run| run.task == *name);
        let enabled = self.tasks[name].stored.spec.enabled;
        let about = |run: &ModelRun| {
            run.status == RunStatus::Queued
                && (enabled || run.kind != RunKind::Apply || run.requested)
                && (enabled || run.kind != RunKind::Check)
                && (run.due <= self.now || run.attempts > 0)
        };
        let running = self.only(name, RunStatus::Running);
        TaskActivity {
            phase,
            running: running.is_some_and(|id| self.runs[&id].is_at_work()),
            checks: !enabled && running.is_some_and(|id| self.runs[&id].kind == RunKind::Check),
            waits: running.is_some_and(|id| !self.runs[&id].is_at_work()),
            about_to_run: runs.any(about),
            requested: self.requests.values().any(|request| {
                request.task == *name
                    && request.refused.is_none()
                    && (enabled || request.kind != RunKind::Check)
            }),
        }
    }

    pub(super) fn visible(&self, name: &TaskName) -> Result<StoredTask, TaskError> {
        let task = self.tasks.get(name).filter(|task| task.is_visible());
        task.map(|task| task.stored.clone())
            .ok_or(TaskError::Unknown)
    }

    pub fn change(
        &mut self,
        name: &TaskName,
        change: &TaskChange,
    ) -> Result<StoredTask, TaskError> {
        let mut stored = self.visible(name)?;
        let known = |run: &RunId| self.requests.contains_key(run) || self.runs.contains_key(run);
        if change.request.is_some_and(|(run, _)| known(&run)) {
            return Ok(stored);
        }
        let spec = change.accepted(&stored, self.activity(name, stored.phase))?;
        let withdrawal = change.withdrawal(&stored.spec, &spec);
        stored.revision += u64::from(spec != stored.spec);
        stored.spec = spec;
        if let Some(task) = self.tasks.get_mut(name) {
            if stored.spec.enabled && !task.stored.spec.enabled {
                task.withheld = None;
            }
            task.stored = stored.clone();
        }
        self.withdraw_applies(name, withdrawal, change.reason());
        if let Some((run, kind)) = change.request {
            let accompanied = change.accompanied();
            self.request(name, run, kind, accompanied);
            if let (Some(task), Some(accompanied)) = (self.tasks.get_mut(name), accompanied) {
                task.owes = Some(accompanied.occasion);
            }
        }
        Ok(stored)
    }

    pub(super) fn withdraw_applies(
        &mut self,
        name: &TaskName,
        why: Option<Withdrawal>,
        reason: &str,
    ) {
        if why == Some(Withdrawal::OtherDefinition)
            && let Some(task) = self.tasks.get_mut(name)
        {
            task.failures = 0;
        }
        if why.is_some() {
            self.cancel(name, RunKind::applies, reason);
            self.withdraw(name);
        }
    }

    fn cancel(&mut self, name: &TaskName, which: fn(RunKind) -> bool, reason: &str) {
        let refused = Refused {
            code: RefusedCode::Withdrawn,
            reason: reason.to_owned(),
        };
        for run in self.runs.values_mut() {
            if run.task == *name && run.status == RunStatus::Queued && which(run.kind) {
                run.status = RunStatus::Cancelled;
            }
        }
        for request in self.requests.values_mut() {
            if request.task == *name && which(request.kind) && request.refused.is_none() {
                request.refused = Some((refused.clone(), self.now));
            }
        }
    }

    pub fn delete(&mut self, name: &TaskName, deletion: Deletion) -> Result<bool, TaskError> {
        let stored = self.visible(name)?;
        let deleting = stored.phase == TaskPhase::Deleting;
        if deleting && (deletion != Deletion::Retain || stored.destroy_run.is_none()) {
            return Ok(false);
        }
        if !deleting && stored.origin == TaskOrigin::Config {
            let configured = self.tasks[name].configured;
            let configured = configured.expect("its declaration is known");
            self.deleted.insert(name.clone(), configured);
        }
        self.begin_deletion(name, deletion.destroy_run(&stored));
        Ok(!self.tasks.contains_key(name))
    }

    pub(super) fn enter(&mut self, name: &TaskName, phase: TaskPhase) {
        let now = self.now;
        let task = self.tasks.get_mut(name).expect("it is there");
        task.stored.phase = phase;
        task.discarded_at = now;
        if phase == TaskPhase::Ready {
            task.creation = None;
        }
    }

    /// Applies the end of a run to its task.
    pub(super) fn follow(&mut self, name: &TaskName, after: TaskAfterRun) {
        match after {
            TaskAfterRun::Stays => {}
            TaskAfterRun::Goes => self.remove(name),
            TaskAfterRun::Destroys(run) => self.begin_destruction(name, run),
            TaskAfterRun::Enters(phase) => self.enter(name, phase),
        }
    }

    pub fn reset(&mut self) -> PendingDeletions {
        let names: Vec<_> = self.tasks.keys().cloned().collect();
        for name in names {
            self.begin_deletion(&name, None);
        }
        self.requests.clear();
        self.deleted.clear();
        self.runs.retain(|_, run| run.status == RunStatus::Running);
        for task in self.tasks.values_mut() {
            task.events.clear();
        }
        PendingDeletions {
            deleting: self.tasks.keys().cloned().collect(),
            postponed: Vec::new(),
        }
    }
}
