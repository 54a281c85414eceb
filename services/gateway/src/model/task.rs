//! Task objects in answers (docs/rest.md#task-objects, #reading-tasks, #creating-a-task).

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::TimeDelta;
use cts_core::hidden::{shown_expression, without_secrets};
use cts_core::{ApprovalRule, DraftBufferPeriod, DraftWorkspace, OnDelete, TaskDraft};
use serde::Serialize;

use crate::model::condition::{ConditionObject, ModuleInputObject};
use crate::original::duration_text::DurationText;
use crate::request::task_request::SentMembers;
use crate::request_id::RequestId;

#[derive(Debug, Serialize)]
pub(crate) struct TasksAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) tasks: Vec<TaskObject<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TaskAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) task: TaskObject<'a>,
}

/// A task as configured. Members that only answers fill in are absent where a request is shown.
#[derive(Debug, Serialize)]
pub(crate) struct TaskObject<'a> {
    condition: ConditionObject<'a>,
    /// Ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer_period: Option<BufferPeriodObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// Ours, and of a task that is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    destruction: Option<&'static str>,
    enabled: bool,
    /// The module, without secrets.
    module: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module_input: Option<ModuleInputObject<'a>>,
    name: &'a str,
    /// Ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_delete: Option<&'static str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    outputs: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    providers: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terraform_cloud_workspace: Option<WorkspaceObject<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    terraform_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<BTreeMap<&'a str, Cow<'a, str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct BufferPeriodObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    max: DurationText,
    min: DurationText,
}

/// Texts without a value are left out.
#[derive(Debug, Serialize)]
struct WorkspaceObject<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    agent_pool_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    agent_pool_name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    execution_mode: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    terraform_version: &'a str,
}

impl<'a> From<&'a TaskDraft> for TaskObject<'a> {
    /// With empty defaults filled in.
    fn from(task: &'a TaskDraft) -> Self {
        Self {
            condition: ConditionObject::of(&task.condition, task.lists_services),
            approval: task.approval.map(ApprovalRule::as_str),
            buffer_period: task.buffer_period.as_ref().map(BufferPeriodObject::from),
            description: Some(&task.description),
            destruction: None,
            enabled: task.enabled,
            module: without_secrets(&task.module),
            module_input: Some(ModuleInputObject::of(
                &task.module_inputs,
                task.lists_services,
            )),
            name: &task.name,
            on_delete: task.on_delete.map(OnDelete::as_str),
            outputs: &task.outputs,
            providers: Some(&task.providers),
            terraform_cloud_workspace: task.workspace.as_ref().and_then(WorkspaceObject::of),
            terraform_version: &task.terraform_version,
            variables: Some(variables(&task.variables)),
            version: Some(&task.version),
        }
    }
}

impl<'a> TaskObject<'a> {
    /// Shows that the destruction of its infrastructure is suspended, if it is.
    pub(crate) fn with_destruction(mut self, suspended: bool) -> Self {
        self.destruction = suspended.then_some("suspended");
        self
    }

    /// The task as the request declares it: members that were not `sent` stay absent (docs/rest.md#creating-a-task).
    pub(crate) fn echo(task: &'a TaskDraft, sent: SentMembers) -> Self {
        let filled = Self::from(task);
        Self {
            description: filled.description.filter(|_| sent.description),
            module_input: filled.module_input.filter(|_| sent.module_input),
            providers: filled.providers.filter(|_| sent.providers),
            variables: filled.variables.filter(|_| sent.variables),
            version: filled.version.filter(|_| sent.version),
            ..filled
        }
    }
}

/// The variables, without secrets.
fn variables(variables: &BTreeMap<String, String>) -> BTreeMap<&str, Cow<'_, str>> {
    let variables = variables.iter();
    variables
        .map(|(name, text)| (name.as_str(), shown_expression(name, text)))
        .collect()
}

impl<'a> WorkspaceObject<'a> {
    /// Returns `None` if the task does not set a workspace.
    fn of(workspace: &'a DraftWorkspace) -> Option<Self> {
        (*workspace != DraftWorkspace::default()).then_some(Self {
            agent_pool_id: &workspace.agent_pool_id,
            agent_pool_name: &workspace.agent_pool_name,
            execution_mode: &workspace.execution_mode,
            terraform_version: &workspace.terraform_version,
        })
    }
}

impl From<&DraftBufferPeriod> for BufferPeriodObject {
    fn from(period: &DraftBufferPeriod) -> Self {
        let text = |time: Option<TimeDelta>| DurationText(time.unwrap_or_default());
        Self {
            enabled: period.enabled,
            max: text(period.max),
            min: text(period.min),
        }
    }
}
