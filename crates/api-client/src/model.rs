//! Answers (docs/rest.md). Further members of an answer are kept where its output shows them, and ignored
//! elsewhere.
//!
//! Answers that only cts has are the messages of the scheduler, which read themselves (`cts_proto::json`).

mod sent;

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset};
pub use cts_proto::access::v1::AuditRecord;
use cts_proto::run::v1::PlanData;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::sent::{
    Approval, Brake, ClusterConfiguration, CurrentState, Explanation, Hold, KnownState, Overview,
    Run, Sent, TaskPage, Times,
};

/// A task as configured (docs/rest.md#task-objects).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub name: String,
    /// Whether it reacts to triggers.
    #[serde(default)]
    pub enabled: bool,
    /// Purpose of the task; may be empty.
    #[serde(default)]
    pub description: String,
    /// Source of its module.
    #[serde(default)]
    pub module: String,
    /// Version of the module; empty for the latest.
    #[serde(default)]
    pub version: String,
    /// Ids of its providers, `name` or `name.alias`.
    #[serde(default)]
    pub providers: Vec<String>,
    /// Values of the module's variables, as HCL expressions.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Trigger of the task: at most one member, named after the kind.
    #[serde(default)]
    pub condition: Map<String, Value>,
    /// Further inputs of the module, named after their kind.
    #[serde(default)]
    pub module_input: Map<String, Value>,
    /// Its own buffering, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_period: Option<BufferPeriod>,
    /// Outputs of the module that its runs report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Treatment of its infrastructure at a deletion, `retain` or `destroy`; absent for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_delete: Option<String>,
    /// Which effects need the consent of a person, `destroy` or `always`; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Version of the engine that it needs, as a constraint; absent for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terraform_version: Option<String>,
    /// Its workspace on a server of Terraform; absent for that of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terraform_cloud_workspace: Option<Map<String, Value>>,
    /// State of its deletion, `suspended`, which no request has; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destruction: Option<String>,
    /// All other members of the answer.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Task {
    /// Whether a deletion destroys its infrastructure.
    pub fn is_destroyed(&self) -> bool {
        self.on_delete.as_deref() == Some("destroy")
    }

    /// Whether it is being deleted, and the destruction of its infrastructure is suspended.
    pub fn is_suspended(&self) -> bool {
        self.destruction.as_deref() == Some("suspended")
    }
}

/// How changes are collected before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPeriod {
    /// Whether they are; absent if the task does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Shortest time, such as `5s`.
    #[serde(default)]
    pub min: String,
    /// Longest time.
    #[serde(default)]
    pub max: String,
}

/// Status of a task (docs/rest.md#task-status).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    pub task_name: String,
    /// `successful`, `errored`, `critical` or `unknown`.
    pub status: String,
    /// Whether it reacts to triggers.
    pub enabled: bool,
    /// Where its events are; empty without any.
    #[serde(default)]
    pub events_url: String,
    /// Newest first; empty if they were not asked for.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Why its newest data are not applied; cts-only, absent if no shrink limit blocks them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub id: String,
    /// Whether all went well.
    pub success: bool,
    /// When it began.
    pub start_time: DateTime<FixedOffset>,
    pub end_time: DateTime<FixedOffset>,
    pub task_name: String,
    /// The error; `null` on success.
    #[serde(default)]
    pub error: Option<EventError>,
    /// Address of the remote run; cts-only, absent if it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_url: Option<String>,
    /// All other members of the answer.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventError {
    /// The failed step and Terraform's error output; usually of several lines.
    pub message: String,
}

/// Plan of the next run of a task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Inspection {
    /// Whether it would change anything.
    pub changes_present: bool,
    /// Terraform's text.
    pub plan: String,
    /// URL of a remote run.
    #[serde(default)]
    pub url: Option<String>,
    /// Consent that the run would wait for.
    #[serde(default)]
    pub consent: Option<NeededConsent>,
}

/// Consent that the apply of an inspected plan would need.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NeededConsent {
    /// The rule, and the changes.
    pub reason: String,
    /// Fingerprint of the effect; empty if consent cannot be given to the plan.
    #[serde(default)]
    pub effect: String,
    /// Whether the caller may approve the effect when it enables the task.
    #[serde(default)]
    pub may_approve: bool,
}

/// A task that would be created (`run=inspect`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct InspectedTask {
    /// Id of the request in the server's log.
    #[serde(default)]
    pub request_id: String,
    /// Plan of its first run.
    pub run: TaskPlan,
}

/// Plan of a deletion.
#[derive(Debug, Deserialize)]
pub(crate) struct DestroyPlanAnswer {
    pub(crate) run: TaskPlan,
}

/// Plan of the first run of a task, or of the run that destroys its infrastructure.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskPlan {
    /// Whether it would change anything.
    #[serde(default)]
    pub changes_present: bool,
    /// Terraform's text.
    pub plan: String,
    /// URL of a remote run.
    #[serde(default)]
    pub tfc_run_url: Option<String>,
    /// Consent that the run would wait for.
    #[serde(default)]
    pub consent: Option<NeededConsent>,
}

/// A task that has been created.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CreatedTask {
    /// Id of the request in the server's log.
    #[serde(default)]
    pub request_id: String,
    pub task: Task,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TasksAnswer {
    pub(crate) tasks: Vec<Task>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TaskAnswer {
    pub(crate) task: Task,
}

/// A task that was replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Replaced {
    /// Why its run does not follow yet; absent if nothing holds it.
    #[serde(default)]
    pub held: Option<String>,
    /// Id of its run; absent if the call waited for the run.
    #[serde(default)]
    pub run: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReleaseAnswer {
    pub(crate) hold: Option<Hold>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BrakeReleaseAnswer {
    pub(crate) released: Option<Brake>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct DeletionAnswer {
    #[serde(default)]
    pub(crate) request_id: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UpdateAnswer {
    #[serde(default)]
    pub(crate) inspect: Option<Inspection>,
    #[serde(default)]
    pub(crate) run: Option<String>,
}

/// The error body of both families of endpoints.
#[derive(Debug, Deserialize)]
pub(crate) struct ErrorAnswer {
    pub(crate) error: CodedError,
    #[serde(default)]
    pub(crate) request_id: Option<String>,
}

/// An error of a request; the original's has no code.
#[derive(Debug, Deserialize)]
pub(crate) struct CodedError {
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) code: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RunPage {
    /// The runs, newest first.
    pub runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AuditPage {
    pub(crate) records: Vec<AuditRecord>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CurrentStatesAnswer {
    pub(crate) tasks: Vec<NamedState>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NamedState {
    pub(crate) name: String,
    pub(crate) state: CurrentState,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExplanationAnswer {
    pub(crate) explanation: Explanation,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PlanAnswer {
    pub(crate) plan: PlanData,
}

/// Effects of plans that need consent (docs/rest.md#consent).
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "members have the names of the answer"
)]
pub struct Approvals {
    /// The effects, by the names of their tasks.
    pub approvals: Vec<Approval>,
    /// Fingerprint of those that wait; empty if none does.
    #[serde(default)]
    pub set: String,
    /// Tasks whose effects have come since the set was shown that a caller has named: only in a
    /// [conflict](Self::of_conflict).
    #[serde(default)]
    pub came: Vec<String>,
    /// Tasks whose effects do not wait any more.
    #[serde(default)]
    pub went: Vec<String>,
    /// Tasks with different effects.
    #[serde(default)]
    pub changed: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApprovalAnswer {
    pub(crate) approval: Approval,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReopenedAnswer {
    pub(crate) reopened: u32,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RunAnswer {
    pub(crate) run: Run,
}

/// Decision about a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StateDecision<'a> {
    /// Which of two states is kept, `old` or `new`.
    Keep(&'a str),
    /// The task takes the state of the task that had this name.
    From(&'a str),
}
