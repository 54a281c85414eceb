//! Tasks as declared by clients of the API.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::Deserialize;

use crate::task::approval_rule::ApprovalRule;
use crate::task::deletion::OnDelete;
use crate::view::condition::{Condition, ModuleInput};

/// A task as declared over the API (docs/rest.md#task-objects).
///
/// All texts are as sent: nothing is checked, resolved or inherited yet. Problems are reported when a
/// [`TaskSpec`](crate::TaskSpec) is made of the draft.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskDraft {
    /// Name; may be invalid.
    pub name: String,
    /// Free text.
    pub description: String,
    /// Whether changes run it.
    pub enabled: bool,
    /// Module source; may be empty.
    pub module: String,
    /// Version of a registry module; empty for the newest.
    pub version: String,
    /// Provider ids, `name` or `name.alias`.
    pub providers: Vec<String>,
    /// Names of module outputs that its runs report; an extension of cts.
    pub outputs: Vec<String>,
    /// Condition that triggers the task. A condition on services may have neither names nor an expression.
    pub condition: Condition,
    /// Inputs of the module in addition to the condition; may be of the condition's kind.
    pub module_inputs: Vec<ModuleInput>,
    /// Whether the services of the condition, or else of the inputs, come from the deprecated list; determines how
    /// answers show the task.
    pub lists_services: bool,
    /// Values of the module's own variables, each as the text of an HCL expression.
    pub variables: BTreeMap<String, String>,
    /// Buffer period; `None` inherits the global one.
    pub buffer_period: Option<DraftBufferPeriod>,
    /// `terraform_version`; empty if not declared.
    pub terraform_version: String,
    /// `terraform_cloud_workspace`; `None` if not declared.
    pub workspace: Option<DraftWorkspace>,
    /// Treatment of its infrastructure when the task is deleted; `None` if not declared.
    pub on_delete: Option<OnDelete>,
    /// Which effects need the consent of a person; `None` if not declared.
    pub approval: Option<ApprovalRule>,
}

/// A declared task is refused. The texts are shown to its author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDraft {
    /// All problems of the declaration.
    #[error("{}", .0.join("; "))]
    Problems(Vec<String>),
    /// The configuration does not allow tasks with these properties.
    #[error("{}", .0.join("; "))]
    NotAllowed(Vec<String>),
}

/// The text about a local module that an API task cannot use, identical for all reasons: different texts would reveal
/// which files exist on the machine of a scheduler.
pub fn unusable_module(module: &str) -> String {
    format!(
        "module {module:?} cannot be used: no module is there, or it is not for tasks of the API; the log of the \
         scheduler has the reason"
    )
}

/// A buffer period as declared over the API, where times may be negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DraftBufferPeriod {
    /// Switches buffering on or off.
    pub enabled: Option<bool>,
    /// Quiet time to wait for after a trigger.
    pub min: Option<TimeDelta>,
    /// Longest wait after the first trigger.
    pub max: Option<TimeDelta>,
}

/// `terraform_cloud_workspace` as declared over the API; empty texts count as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DraftWorkspace {
    /// `remote` or `agent`.
    pub execution_mode: String,
    /// Agent pool by its id, which takes precedence over its name.
    pub agent_pool_id: String,
    /// Agent pool by its name.
    pub agent_pool_name: String,
    /// Exact version of Terraform.
    pub terraform_version: String,
}
