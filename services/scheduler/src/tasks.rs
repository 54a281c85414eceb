//! Calls on tasks: create, change, replace and delete (docs/rest.md#creating-a-task and the sections after it).
//!
//! Any replica handles such a call: checks the request, writes the change and the request of a run in one transaction,
//! and waits for the end of that run. The leader carries out the request, a worker the run. So the work continues when
//! one of these processes dies, and calls on different tasks share nothing.
//!
//! A task that the API creates is stored in the phase `creating`, which no list shows, together with the request of
//! its run. The leader waits at most a minute for the views of the task, freezes the newest input and queues the run.
//! The transaction that ends the run makes the task `ready`, or `discarded` if the run failed or was only an
//! inspection.
//!
//! Changes and deletions by the API stay until the file changes the task: its declaration is compared with the
//! earlier content of the file (`tasks.configured`).

mod cancelled;
mod creation;
mod deletion;
pub(crate) mod disabled_checks;
mod ending;
pub(crate) mod module_again;
pub(crate) mod modules;
pub(crate) mod reader;
pub(crate) mod refusal;
mod run_end;
pub(crate) mod run_requests;
mod update;

use std::sync::Arc;

use cts_core::runs::{Occasion, RunKind};
use cts_core::state::{Keep, StateDecision, StateRecord};
use cts_core::{ApprovalRule, Blocked, Loss, RunId, TaskDraft, TaskName, TaskSpec, losses_text};
use cts_proto::run::v1::Planned;
use cts_store::{Store, StoredTask, TaskChange, TaskError};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub(crate) use self::deletion::DeletionMode;
pub(crate) use self::refusal::{TaskRefusal, unknown_task};
use crate::approval::inspections::Inspections;
use crate::identities::Identities;
use crate::notifier::Notifier;
use crate::tasks::modules::{Modules, NamedBy};
use crate::tasks::reader::TaskReader;

/// Most declarations that are read at the same time. A declaration with loops may take a processor for a second.
pub(crate) const READINGS: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct TaskCommands {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) modules: Modules,
    pub(crate) reader: TaskReader,
    /// Permits to read a declaration, [`READINGS`].
    pub(crate) readings: Arc<Semaphore>,
    /// The rules' view of the plans of inspections.
    pub(crate) inspections: Inspections,
    /// The caller of these commands, for the log; `None` before a call.
    pub(crate) requested_by: Option<Arc<str>>,
    /// Ends all waiting.
    pub(crate) shutdown: CancellationToken,
}

/// The action in addition to storing a change (docs/rest.md#updating-a-task).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    /// The task is checked.
    Check,
    /// The task is applied once.
    Now,
    /// The same, and the call does not wait for the run.
    Request,
    /// The task is planned, and nothing is changed.
    Inspect,
}

impl Run {
    /// The kind of the run of an enabled task; that of a check if it may be one.
    pub(crate) const fn kind(self) -> RunKind {
        match self {
            Self::Check => RunKind::Check,
            Self::Now | Self::Request => RunKind::Apply,
            Self::Inspect => RunKind::Plan,
        }
    }

    /// The word for records.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Now => "now",
            Self::Request => "request",
            Self::Inspect => "inspect",
        }
    }
}

/// Outcome of a call on a task.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) task: StoredTask,
    pub(crate) plan: Option<Planned>,
    /// Why the run does not follow yet, if a guard holds it.
    pub(crate) held: Option<String>,
    /// The run, if it waits for the consent of a person.
    pub(crate) waits: Option<RunId>,
    /// The run, if the call does not wait for it.
    pub(crate) requested: Option<RunId>,
}

impl Done {
    /// A task without a run.
    const fn with(task: StoredTask) -> Self {
        Self {
            task,
            plan: None,
            held: None,
            waits: None,
            requested: None,
        }
    }
}

impl TaskCommands {
    /// Replaces the declaration of a task, and releases what its guards hold if `releases` is set. Any `revision` of the
    /// task is replaced if that is 0.
    pub(crate) async fn replace(
        &self,
        name: &TaskName,
        draft: TaskDraft,
        revision: u64,
        how: (Run, bool),
    ) -> Result<Done, TaskRefusal> {
        loop {
            match self.replace_once(name, draft.clone(), revision, how).await {
                // The task was changed in between, and settings that only files have are kept from its declaration.
                Err(TaskRefusal::Revision { .. }) if revision == 0 => {}
                done => return done,
            }
        }
    }

    /// Replaces the declaration of a task, unless it changes meanwhile.
    async fn replace_once(
        &self,
        name: &TaskName,
        draft: TaskDraft,
        revision: u64,
        (run, releases): (Run, bool),
    ) -> Result<Done, TaskRefusal> {
        if draft.name != name.as_str() {
            let message = format!(
                "the task is called {name}, and cannot become {:?}",
                draft.name
            );
            return Err(TaskRefusal::Invalid(message));
        }
        if run == Run::Inspect {
            let message = "a replacement cannot be inspected: inspect it as a new task under another name, or replace the task while it is disabled";
            return Err(TaskRefusal::Invalid(message.to_owned()));
        }
        let stored = self.store.task(name).await?;
        let stored = stored.ok_or_else(|| TaskRefusal::Unknown(name.clone()))?;
        if revision != 0 && stored.revision != revision {
            let current = stored.revision;
            return Err(TaskRefusal::of(TaskError::Revision { current }, name));
        }
        let (before, read_revision) = (stored.spec.clone(), stored.revision);
        let keeps_end = draft.on_delete.is_none();
        let read = self.read(draft, &[stored]).await?;
        if let Some(problem) = &read.requirement.unusable_module {
            return Err(TaskRefusal::Invalid(problem.clone()));
        }
        let mut spec = read.in_place_of(&before);
        if keeps_end {
            spec.on_delete = before.on_delete;
        }
        spec.api_approval = self.rule(&spec, before.api_approval).await?;
        let kind = if matches!(run, Run::Now | Run::Request) && spec.enabled {
            RunKind::Apply
        } else {
            RunKind::Check
        };
        let change = TaskChange {
            spec: Some(spec),
            revision: Some(read_revision),
            request: Some((self.identities.run_id(), kind)),
            accompanies: (!releases).then_some(Occasion::Declaration),
            ..TaskChange::default()
        };
        self.change(name, change, run).await
    }

    /// Releases a task that a guard blocks, unless the losses exceed those that the caller has `seen`. Returns the
    /// losses for which the task was blocked.
    pub(crate) async fn release(
        &self,
        name: &TaskName,
        seen: Option<&[Loss]>,
    ) -> Result<Option<Blocked>, TaskRefusal> {
        let held = self.store.release_task(name, seen).await;
        let held = held.map_err(|error| TaskRefusal::of(error, name))?;
        if let Some(blocked) = &held {
            let losses = losses_text(&blocked.losses).unwrap_or_default();
            tracing::info!(target: "ctrl", task_name = %name, losses, requested_by = self.requested_by.as_deref(), "the task is released");
            self.notifier.tasks_changed();
        }
        Ok(held)
    }

    /// Decides which Terraform state a task goes on with, and makes it due.
    pub(crate) async fn decide_state(
        &self,
        name: &TaskName,
        decision: &StateDecision,
    ) -> Result<StateRecord, TaskRefusal> {
        let run = self.identities.run_id();
        let decided = self.store.decide_terraform_state(name, decision, run).await;
        let record = decided.map_err(|error| TaskRefusal::of(error, name))?;
        let keep = record.keep.map(Keep::as_str);
        let from = record.from.as_ref().map(TaskName::as_str);
        tracing::info!(target: "ctrl", task_name = %name, keep, from, requested_by = self.requested_by.as_deref(), "it is decided which state the task goes on with");
        self.notifier.tasks_changed();
        self.notifier.queue_changed();
        Ok(record)
    }

    /// Returns the rule to store for a declaration; `before` is that of the task until now. A declaration without a rule
    /// keeps it.
    async fn rule(
        &self,
        spec: &TaskSpec,
        before: Option<ApprovalRule>,
    ) -> Result<Option<ApprovalRule>, TaskRefusal> {
        let Some(wanted) = spec.api_approval else {
            return Ok(before);
        };
        let files = self.store.file_rules(Some(spec.name())).await?.of(spec);
        let accepted = files.accept(wanted);
        accepted.map_err(|laxer| TaskRefusal::NotAllowed(laxer.to_string()))
    }

    /// Checks a declaration, and packs its module if workers need that. Reads files. A module that cannot be used is
    /// noted in the task.
    async fn read(&self, draft: TaskDraft, stored: &[StoredTask]) -> Result<TaskSpec, TaskRefusal> {
        let reader = self.reader.clone();
        let permit = Arc::clone(&self.readings).acquire_owned().await;
        let permit = permit.map_err(|closed| TaskRefusal::Broken(closed.to_string()))?;
        let reading = tokio::task::spawn_blocking(move || {
            let spec = reader.read(&draft);
            // Kept until here, also if the caller has gone.
            drop(permit);
            spec
        });
        let reading = reading.await;
        let spec = match reading {
            Ok(spec) => spec.map_err(|invalid| TaskRefusal::of_draft(&invalid))?,
            Err(broken) => return Err(TaskRefusal::Broken(broken.to_string())),
        };
        let packed = self
            .modules
            .pack(&*self.store, &[spec], stored, NamedBy::Client)
            .await?;
        let Some(spec) = packed.into_iter().next() else {
            return Err(TaskRefusal::Broken("a task was lost".to_owned()));
        };
        Ok(spec)
    }
}
