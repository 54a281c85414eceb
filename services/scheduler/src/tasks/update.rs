//! Changes of existing tasks.

use cts_core::runs::RunKind;
use cts_core::{RequestKey, RunId, TaskName, TaskPhase};
use cts_store::{PlanSummary, ShownEffect, TaskChange, TaskError};

use super::run_end::RunEnd;
use super::{Done, Run, TaskCommands, TaskRefusal};

impl TaskCommands {
    /// Enables or disables a task, requests a run, or does both (docs/rest.md#updating-a-task). Approves the effect
    /// `approve`, which an inspection has shown, unless that is empty.
    ///
    /// If the task has a request with this key already, the answer is that of its run, and nothing is changed.
    pub(crate) async fn update(
        &self,
        name: &TaskName,
        wanted: Option<bool>,
        (run, key): (Run, Option<RequestKey>),
        approve: &str,
    ) -> Result<Done, TaskRefusal> {
        let approve = Some(approve).filter(|effect| !effect.is_empty());
        if approve.is_some() && (wanted != Some(true) || run == Run::Inspect) {
            let message = "an effect is approved only when its task is enabled";
            return Err(TaskRefusal::Invalid(message.to_owned()));
        }
        if key.is_some() && wanted == Some(false) {
            let message = "a change that disables the task requests no run, so it has no key";
            return Err(TaskRefusal::Invalid(message.to_owned()));
        }
        loop {
            let stored = self.store.task(name).await?;
            let stored = stored.ok_or_else(|| TaskRefusal::Unknown(name.clone()))?;
            if let Some(known) = self.requested(name, key, run.kind()).await? {
                return self.outcome(Done::with(stored), known, run).await;
            }
            if stored.phase == TaskPhase::Deleting {
                return Err(TaskRefusal::Deleting(name.clone()));
            }
            let now = stored.spec.enabled;
            let (enabled, kind) = effect(now, wanted, run);
            let shown = match approve {
                Some(effect) => Some(self.shown(name, effect).await?),
                None => None,
            };
            let change = TaskChange {
                enabled,
                revision: Some(stored.revision),
                request: kind.map(|kind| (self.run_id(name, key), kind)),
                key: key.filter(|_| kind.is_some()),
                approve: shown,
                ..TaskChange::default()
            };
            match self.change(name, change, run).await {
                // The task was changed, or the run requested, in between.
                Err(TaskRefusal::Revision { .. } | TaskRefusal::Requested) => {}
                done => return done,
            }
        }
    }

    /// A new id for the run of a request of the task with this key.
    pub(super) fn run_id(&self, task: &TaskName, key: Option<RequestKey>) -> RunId {
        let id = self.identities.run_id();
        key.map_or(id, |key| id.with_key(key, task))
    }

    /// The run of the request of the task with this key, if there is a key and such a request.
    ///
    /// # Errors
    ///
    /// [`TaskRefusal::Invalid`] if the run is of another kind.
    pub(super) async fn requested(
        &self,
        task: &TaskName,
        key: Option<RequestKey>,
        kind: RunKind,
    ) -> Result<Option<RunId>, TaskRefusal> {
        let Some(key) = key else { return Ok(None) };
        match self.store.requested(task, key).await? {
            Some((run, is)) if is != kind => {
                let message =
                    format!("the request with the key {key} was another one, that of run {run}");
                Err(TaskRefusal::Invalid(message))
            }
            found => Ok(found.map(|(run, _)| run)),
        }
    }

    /// The effect, as an inspection of the task has shown it. Without one, the store refuses the effect of an unknown
    /// inspection, after it has looked whether the task is busy.
    async fn shown(&self, name: &TaskName, effect: &str) -> Result<ShownEffect, TaskRefusal> {
        let by = self.requested_by.as_deref().unwrap_or_default();
        let shown = self.inspections.showing(name, effect, by).await?;
        Ok(shown.unwrap_or_else(|| ShownEffect {
            inspection: self.identities.run_id(),
            effect: effect.to_owned(),
            summary: PlanSummary::default(),
            by: by.to_owned(),
        }))
    }

    /// Changes an idle task, and waits for the run that is requested with the change, unless `mode` says otherwise.
    pub(super) async fn change(
        &self,
        name: &TaskName,
        change: TaskChange,
        mode: Run,
    ) -> Result<Done, TaskRefusal> {
        let (revision, request) = (change.revision, change.request);
        let change = TaskChange {
            idle_only: true,
            ..change
        };
        let queued = self.queued(name).await?;
        let changed = self.store.change_task(name, &change).await;
        let task = changed.map_err(|error: TaskError| TaskRefusal::of(error, name))?;
        self.tell_cancelled(&queued).await;
        self.notifier.tasks_changed();
        // Queued runs may be cancelled.
        self.notifier.queue_changed();
        let requested_by = self.requested_by.as_deref();
        if revision != Some(task.revision) {
            tracing::info!(
                target: "ctrl",
                task_name = %name,
                enabled = task.spec.enabled,
                revision = task.revision,
                requested_by,
                "task is changed"
            );
        }
        if let Some(shown) = &change.approve {
            tracing::info!(target: "ctrl", task_name = %name, effect = shown.effect, by = shown.by, "the effect of an inspection is approved");
            self.notifier
                .approval_changed(shown.inspection, &shown.effect);
        }
        if let Some((run, kind)) = request {
            tracing::info!(target: "ctrl", task_name = %name, run.id = %run, kind = kind.as_str(), requested_by, "a run is requested");
        }
        match request {
            Some((run, _)) => Box::pin(self.outcome(Done::with(task), run, mode)).await,
            None => Ok(Done::with(task)),
        }
    }

    /// `done` with what became of its run, for which this waits unless `mode` says otherwise.
    async fn outcome(&self, mut done: Done, run: RunId, mode: Run) -> Result<Done, TaskRefusal> {
        if mode == Run::Request {
            done.requested = Some(run);
            return Ok(done);
        }
        match self.end_of(run).await? {
            RunEnd::Succeeded(plan) => done.plan = plan,
            RunEnd::Held(reason) => done.held = Some(reason),
            RunEnd::Waits(run) => done.waits = Some(run),
            RunEnd::Failed(refusal) => return Err(refusal),
        }
        Ok(done)
    }
}

/// The effect of a request on a task that is enabled or not: the flag to be stored and the run to be made
/// (docs/rest.md#updating-a-task). A task that is disabled, or stays so, does not run.
const fn effect(now: bool, wanted: Option<bool>, run: Run) -> (Option<bool>, Option<RunKind>) {
    let on = match wanted {
        Some(wanted) => wanted,
        None => now,
    };
    match (on, run) {
        (false, Run::Inspect) => (None, None),
        (false, Run::Check | Run::Now | Run::Request) => (wanted, None),
        (true, Run::Inspect) => (None, Some(RunKind::Plan)),
        (true, Run::Now | Run::Request) => (wanted, Some(RunKind::Apply)),
        (true, Run::Check) if now => (None, None),
        (true, Run::Check) => (wanted, Some(RunKind::Check)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effect_matrix() {
        let (on, off) = (Some(true), Some(false));
        let (check, apply, plan) = (RunKind::Check, RunKind::Apply, RunKind::Plan);
        let rows = [
            (false, on, Run::Check, (on, Some(check))),
            (false, on, Run::Now, (on, Some(apply))),
            (false, on, Run::Request, (on, Some(apply))),
            (false, on, Run::Inspect, (None, Some(plan))),
            (true, on, Run::Check, (None, None)),
            (true, on, Run::Now, (on, Some(apply))),
            (true, on, Run::Inspect, (None, Some(plan))),
            (true, off, Run::Check, (off, None)),
            (true, off, Run::Now, (off, None)),
            (true, off, Run::Request, (off, None)),
            (true, off, Run::Inspect, (None, None)),
            (false, off, Run::Check, (off, None)),
            (false, off, Run::Now, (off, None)),
            (false, off, Run::Inspect, (None, None)),
            (true, None, Run::Now, (None, Some(apply))),
            (true, None, Run::Inspect, (None, Some(plan))),
            (false, None, Run::Now, (None, None)),
            (false, None, Run::Inspect, (None, None)),
        ];
        for (now, wanted, run, expected) in rows {
            assert_eq!(
                effect(now, wanted, run),
                expected,
                "{now} {wanted:?} {run:?}"
            );
        }
    }
}
