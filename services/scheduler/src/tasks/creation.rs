//! Creation of tasks (docs/rest.md#creating-a-task).

use std::time::Duration;

use cts_core::runs::RunKind;
use cts_core::{Backoff, Creation, TaskDraft, TaskName, TaskOrigin, TaskPhase, TaskSpec};
use cts_store::{NewTask, StoredTask, TaskError};

use super::run_end::RunEnd;
use super::{Done, Run, TaskCommands, TaskRefusal};

/// Pauses before a task is stored under a name that another creation occupied until now.
const NAME_RETRIES: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));

impl TaskCommands {
    /// Creates a task once its run has succeeded or waits for the consent of a person, or inspects the task.
    pub(crate) async fn create(&self, draft: TaskDraft, run: Run) -> Result<Done, TaskRefusal> {
        // A name in use is reported before anything else (docs/rest.md#creating-a-task).
        if let Ok(name) = draft.name.parse::<TaskName>()
            && self.store.task(&name).await?.is_some()
        {
            return Err(TaskRefusal::Exists(name));
        }
        let mut spec = self.read(draft, &[]).await?;
        spec.api_approval = self.rule(&spec, None).await?;
        let (kind, creation) = match run {
            Run::Inspect if spec.enabled => (RunKind::Plan, Creation::Discard),
            Run::Inspect => (RunKind::Check, Creation::Discard),
            Run::Now | Run::Request if spec.enabled => (RunKind::Apply, Creation::Keep),
            Run::Now | Run::Request | Run::Check => (RunKind::Check, Creation::Keep),
        };
        let new = NewTask {
            spec,
            creation,
            run: self.identities.run_id(),
            kind,
        };
        self.begin(&new).await?;
        let name = new.spec.name();
        tracing::info!(target: "ctrl", task_name = %name, run.id = %new.run, kind = kind.as_str(), requested_by = self.requested_by.as_deref(), "task is being created");
        self.notifier.tasks_changed();
        let end = self.end_of(new.run).await?;
        let ended = match end {
            RunEnd::Succeeded(plan) if creation == Creation::Keep => {
                self.notifier.tasks_changed();
                if run == Run::Now {
                    tracing::info!(target: "tasksmanager", task_name = %name, run.id = %new.run, "task was created and run successfully");
                }
                let task = self.store.task(name).await?;
                let task = task.unwrap_or_else(|| of_the_api(new.spec));
                return Ok(Done {
                    plan,
                    ..Done::with(task)
                });
            }
            RunEnd::Waits(run) => {
                self.notifier.tasks_changed();
                let task = self.store.task(name).await?;
                let task = task.unwrap_or_else(|| of_the_api(new.spec));
                return Ok(Done {
                    waits: Some(run),
                    ..Done::with(task)
                });
            }
            RunEnd::Succeeded(plan) => Ok(plan),
            RunEnd::Held(reason) => Err(TaskRefusal::RunFailed(reason)),
            RunEnd::Failed(refusal) => Err(refusal),
        };
        let ended = match ended {
            Err(TaskRefusal::RunFailed(reason)) => Err(self.creation_failed(name, reason).await?),
            ended => ended,
        };
        // No other call waits for the run, and the name of the task is free again.
        self.store.drop_draft(name, new.run).await?;
        self.notifier.tasks_changed();
        Ok(Done {
            plan: ended?,
            ..Done::with(of_the_api(new.spec))
        })
    }

    /// Stores a new task, after other creations under the same name have ended.
    async fn begin(&self, new: &NewTask) -> Result<(), TaskRefusal> {
        let name = new.spec.name();
        let mut pauses = NAME_RETRIES.pauses(fastrand::f64);
        loop {
            match self.store.create_task(new).await {
                Ok(()) => return Ok(()),
                Err(TaskError::BeingCreated { run }) => {
                    self.end_of(run).await?;
                    // Earlier waiters read it now.
                    self.pause(&mut pauses).await?;
                }
                Err(error) => return Err(TaskRefusal::of(error, name)),
            }
        }
    }
}

/// A task of the API as it would be stored.
fn of_the_api(spec: TaskSpec) -> StoredTask {
    StoredTask {
        spec,
        origin: TaskOrigin::Api,
        phase: TaskPhase::Ready,
        revision: 1,
        destroy_run: None,
        destruction_suspended: false,
    }
}
