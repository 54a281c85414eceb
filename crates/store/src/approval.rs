//! Consent of people to the effects of plans (docs/runs.md#consent).

mod asking;
mod rule;

use std::error::Error;

use chrono::{DateTime, Utc};
use cts_core::runs::RunCause;
use cts_core::{EventId, Permit, PlanFacts, RunId, TaskName};
use cts_proto::run::v1::ApprovalState;

pub use self::asking::{Asking, KnownConsent};
pub use self::rule::{FileRules, deleted_rule, needs_no_consent, read_rule};
use crate::details::plan_summary::PlanSummary;
use crate::error::{InOutage, StoreError};
use crate::fields::{Columns, Fields};

/// Longest comment on a decision, in bytes.
pub const COMMENT_BYTES: usize = 1024;

/// The consent on which a further plan of a run may rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenConsent {
    /// The approved effect.
    pub effect: String,
    /// The plan that was approved: a compressed message.
    pub plan: Vec<u8>,
    /// The run is a destruction, which may use the consent for a part of the effect.
    pub destroys: bool,
}

/// The newest plan of a task with an effect that a person was to decide about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPlan {
    /// The effect.
    pub effect: String,
    /// The plan: a compressed message.
    pub plan: Vec<u8>,
    /// Its summary.
    pub summary: PlanSummary,
    /// The plan is of the input that the run has.
    pub same_input: bool,
}

impl ShownPlan {
    /// Reads a row of `approvals` with `same_input`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let row = Fields::new(row, "read a plan", "approvals").keyed("task_name")?;
        Ok(Self {
            effect: row.text("effect")?.to_owned(),
            plan: row.bytes("plan")?,
            summary: row.json("summary")?,
            same_input: row.flag("same_input")?,
        })
    }
}

/// A plan whose worker asks whether it may be applied.
#[derive(Debug, Clone, Copy)]
pub struct AskedPermit<'a> {
    /// The plan: a compressed message, which the store does not read.
    pub content: &'a [u8],
    /// What the rules know about the plan.
    pub facts: &'a PlanFacts,
    /// Summary for lists.
    pub summary: &'a PlanSummary,
    /// The effect, [used by this run](crate::ApprovalStore::given_consent), whose rest the plan is.
    pub rest_of: Option<&'a str>,
    /// The [approved](crate::ApprovalStore::given_consent) destruction of which the plan is a part. The consent to that
    /// counts if it is still there, or else only that to the plan's own effect.
    pub part_of: Option<&'a str>,
}

/// Answer to a worker that asks whether a plan may be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermitAnswer {
    /// The decision.
    pub permit: Permit,
    /// The effect was not waiting before, or was gone too long: people are told.
    pub is_new: bool,
    /// The decision of a person about the effect, if any.
    pub decided: Option<Decided>,
}

/// Decision of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The caller, for display.
    pub by: String,
    /// Time of the decision.
    pub at: DateTime<Utc>,
    /// Comment; empty without one.
    pub comment: String,
    /// When a consent expires that is not used; `None` for a rejection.
    pub expires_at: Option<DateTime<Utc>>,
}

impl Decided {
    pub(crate) fn read(row: &Fields<'_>) -> Result<Option<Self>, StoreError> {
        let (Some(by), Some(at)) = (
            row.text_if_any("decided_by")?,
            row.time_if_any("decided_at")?,
        ) else {
            return Ok(None);
        };
        Ok(Some(Self {
            by: by.to_owned(),
            at,
            comment: row.text_if_any("comment")?.unwrap_or_default().to_owned(),
            expires_at: row.time_if_any("expires_at")?,
        }))
    }
}

/// The effect of a plan that needs consent, or needed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The task.
    pub task: TaskName,
    /// Fingerprint of the effect.
    pub effect: String,
    /// Newest run that had the effect.
    pub run: RunId,
    /// State of the consent.
    pub state: ApprovalState,
    /// Summary of the plan.
    pub summary: PlanSummary,
    /// Since when the effect waits for a decision.
    pub asked_at: DateTime<Utc>,
    /// Since when the data of the task need the effect no longer.
    pub gone_at: Option<DateTime<Utc>>,
    /// The decision, if there is one.
    pub decided: Option<Decided>,
    /// Caller that has requested the run, for display.
    pub requested_by: Option<String>,
    /// The cause of the run, if known.
    pub cause: Option<RunCause>,
}

impl Approval {
    /// Reads a row of `approvals`, with the `requested_by` and `cause` of its run.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let row = Fields::new(row, "read a consent", "approvals").keyed("task_name")?;
        let decision = row.text_if_any("decision")?;
        let state = match decision {
            None => ApprovalState::Waiting,
            Some("approved") if row.text_if_any("used_input")?.is_some() => ApprovalState::Used,
            Some("approved") => ApprovalState::Approved,
            Some("rejected") => ApprovalState::Rejected,
            Some(other) => return Err(row.cell("decision").corrupt(format!("{other:?}"))),
        };
        let decided = Decided::read(&row)?.filter(|_| decision.is_some());
        Ok(Self {
            task: row.parse("task_name")?,
            effect: row.text("effect")?.to_owned(),
            run: row.id("run_id")?,
            state,
            summary: row.json("summary")?,
            asked_at: row.time("asked_at")?,
            gone_at: row.time_if_any("gone_at")?,
            decided,
            requested_by: row.text_if_any("requested_by")?.map(str::to_owned),
            cause: row.json_if_any("cause")?,
        })
    }
}

/// Decision about effects that wait: about all of them, or nothing is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// The effects, by task: at most one of each task.
    pub effects: Vec<(TaskName, String)>,
    /// Event of the waiting run, if its effect is rejected instead of approved: one effect at a time.
    pub rejects: Option<EventId>,
    /// The caller, for display.
    pub by: String,
    /// Comment, at most [`COMMENT_BYTES`]; empty without one.
    pub comment: String,
}

/// A decision about effects is not stored: nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// These effects do not wait for a decision any more, or never did.
    #[error("the effects do not wait for a decision")]
    Changed(Vec<TaskName>),
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl InOutage for ApprovalError {
    fn is_in_outage(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_in_outage())
    }
}

impl ApprovalError {
    /// An error of the values of a call.
    pub fn of(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Store(StoreError::Database {
            operation: "decide about an effect",
            source: source.into(),
        })
    }
}

/// Beginning of the error of a run whose effect a person has rejected.
pub const REJECTED: &str = "rejected by ";

/// Error of a run whose effect a person has rejected.
pub fn rejection(by: &str, comment: &str) -> String {
    let begin = format!("{REJECTED}{by}");
    if comment.is_empty() {
        begin
    } else {
        format!("{begin}: {comment}")
    }
}
