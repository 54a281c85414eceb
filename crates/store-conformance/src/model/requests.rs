//! The part of the model about drafts and requested runs.

use std::time::Duration;

use cts_core::runs::{Accompanied, RequestState, RunKind};
use cts_core::{RunId, TaskName, TaskOrigin, TaskPhase};

use super::{Model, ModelRequest, ModelTask};
use cts_store::{DRAFTS_KEPT, EnqueueRequest, NewTask, Refused, TaskError};

impl Model {
    pub fn create(&mut self, new: &NewTask) -> Result<(), TaskError> {
        let name = new.spec.name();
        if let Some(task) = self.tasks.get(name) {
            if task.is_visible() {
                return Err(TaskError::Exists);
            }
            let discarded = task.stored.phase == TaskPhase::Discarded;
            if !discarded || self.now < task.discarded_at + DRAFTS_KEPT {
                let (_, run) = task.creation.expect("a draft has a run");
                return Err(TaskError::BeingCreated { run });
            }
            self.remove(name);
        }
        self.incarnations += 1;
        let mut task = ModelTask::new(
            self.incarnations,
            new.spec.clone(),
            TaskOrigin::Api,
            TaskPhase::Creating,
        );
        task.creation = Some((new.creation, new.run));
        self.tasks.insert(name.clone(), task);
        self.request(name, new.run, new.kind, None);
        Ok(())
    }

    pub fn drop_draft(&mut self, name: &TaskName, run: RunId) {
        let its_own = |task: &ModelTask| {
            task.stored.phase == TaskPhase::Discarded
                && task.creation.is_some_and(|(_, own)| own == run)
        };
        if self.tasks.get(name).is_some_and(its_own) {
            self.remove(name);
        }
    }

    pub fn refuse(&mut self, run: RunId, refused: &Refused) {
        let Some(request) = self.requests.get_mut(&run) else {
            return;
        };
        if request.refused.is_some() {
            return;
        }
        request.refused = Some((refused.clone(), self.now));
        let name = request.task.clone();
        let task = self.tasks.get(&name);
        if task.is_some_and(|task| task.creation.is_some()) {
            self.enter(&name, TaskPhase::Discarded);
        }
    }

    pub(super) fn prune_drafts(&mut self) {
        let now = self.now;
        let is_old = |at: Duration| at + DRAFTS_KEPT <= now;
        let drafts = self.tasks.iter().filter(|(_, task)| {
            task.stored.phase == TaskPhase::Discarded && is_old(task.discarded_at)
        });
        let drafts: Vec<_> = drafts.map(|(name, _)| name.clone()).collect();
        for name in drafts {
            self.remove(&name);
        }
        self.requests
            .retain(|_, request| !matches!(request.refused, Some((_, at)) if is_old(at)));
    }

    /// Forgets everything that only a waiting caller needs, because no caller waits any more.
    pub(super) fn forget_waiting(&mut self) {
        self.requests.clear();
        let drafts = self.tasks.iter();
        let drafts = drafts.filter(|(_, task)| {
            task.stored.phase != TaskPhase::Ready && task.stored.destroy_run.is_none()
        });
        let drafts: Vec<_> = drafts.map(|(name, _)| name.clone()).collect();
        for name in drafts {
            self.remove(&name);
        }
    }

    pub(super) fn request(
        &mut self,
        task: &TaskName,
        run: RunId,
        kind: RunKind,
        accompanies: Option<Accompanied>,
    ) {
        let request = ModelRequest {
            task: task.clone(),
            kind,
            accompanies,
            refused: None,
        };
        self.requests.insert(run, request);
    }

    pub(super) fn accompanied(&self, request: &EnqueueRequest) -> Option<Accompanied> {
        let stored = self.requests.get(&request.run);
        stored
            .filter(|stored| stored.task == request.task)?
            .accompanies
    }

    pub(super) fn request_state(&self, request: &EnqueueRequest) -> RequestState {
        if self.runs.get(&request.run).is_some_and(|run| run.requested) {
            return RequestState::Queued;
        }
        let stored = self.requests.get(&request.run);
        match stored.filter(|stored| stored.task == request.task) {
            None => RequestState::None,
            Some(stored) if stored.refused.is_none() => RequestState::Open,
            Some(_) => RequestState::Refused,
        }
    }
}
