//! Consent of people to the effects of plans (docs/runs.md#consent).

use std::collections::BTreeMap;
use std::error::Error;

use chrono::{DateTime, Utc};
use cts_core::runs::{RunCause, WaitContext, WaitEnd, wait_end};
use cts_core::{
    ApprovalDefaults, ApprovalRule, ChangeKind, Consent, EventId, FileRule, GONE_FOR, Permit,
    PermitContext, PlanFacts, RunId, TaskName, TaskSpec,
};
use cts_proto::run::v1::{ApprovalState, PlanCounts};
use serde::{Deserialize, Serialize};

use crate::cell::span_micros;
use crate::error::{InOutage, StoreError};
use crate::fields::{Columns, Fields};

/// Longest comment on a decision, in bytes.
pub const COMMENT_BYTES: usize = 1024;

/// What lists of approvals show of a plan. Stored as JSON, so members are only added.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanSummary {
    /// Resources that are created.
    #[serde(default)]
    pub created: u32,
    /// Updated in place.
    #[serde(default)]
    pub updated: u32,
    /// Destroyed.
    #[serde(default)]
    pub deleted: u32,
    /// Replaced.
    #[serde(default)]
    pub replaced: u32,
    /// Taken into the state.
    #[serde(default)]
    pub imported: u32,
    /// At another address in the state than before.
    #[serde(default)]
    pub moved: u32,
    /// Removed from the state.
    #[serde(default)]
    pub forgotten: u32,
    /// With unknown actions.
    #[serde(default)]
    pub unknown: u32,
    /// Actions that providers are asked to do.
    #[serde(default)]
    pub invoked: u32,
    /// Put off to a later plan.
    #[serde(default)]
    pub deferred: u32,
    /// Why the plan does not show everything that would be done.
    #[serde(default)]
    pub unclear: Vec<String>,
    /// Where the plan differs from the plan that people were shown before.
    #[serde(default)]
    pub differs: Vec<String>,
}

impl PlanSummary {
    /// The summary of a plan with these numbers.
    pub fn new(counts: &PlanCounts, unclear: &[String]) -> Self {
        Self {
            created: counts.created,
            updated: counts.updated,
            deleted: counts.deleted,
            replaced: counts.replaced,
            imported: counts.imported,
            moved: counts.moved,
            forgotten: counts.forgotten,
            unknown: counts.unknown,
            invoked: counts.invoked,
            deferred: counts.deferred,
            unclear: unclear.to_vec(),
            differs: Vec::new(),
        }
    }

    /// The kinds of its changes, each once.
    pub fn changes(&self) -> impl Iterator<Item = ChangeKind> {
        let numbers = [
            (self.created, ChangeKind::Created),
            (self.updated, ChangeKind::Updated),
            (self.deleted, ChangeKind::Deleted),
            (self.replaced, ChangeKind::Replaced),
            (self.imported, ChangeKind::Imported),
            (self.moved, ChangeKind::Moved),
            (self.forgotten, ChangeKind::Forgotten),
            (self.unknown, ChangeKind::Unknown),
            (self.invoked, ChangeKind::Invoked),
            (self.deferred, ChangeKind::Deferred),
        ];
        let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
        numbers.map(|(_, kind)| kind)
    }

    /// What the rules know about the plan, without its fingerprint.
    fn facts(&self) -> PlanFacts {
        let mut facts = PlanFacts::of_changes(self.changes());
        facts.unclear |= !self.unclear.is_empty();
        facts
    }

    /// The numbers. Reads and unchanged resources are not kept.
    pub fn counts(&self) -> PlanCounts {
        PlanCounts {
            created: self.created,
            updated: self.updated,
            deleted: self.deleted,
            replaced: self.replaced,
            imported: self.imported,
            moved: self.moved,
            forgotten: self.forgotten,
            unknown: self.unknown,
            invoked: self.invoked,
            deferred: self.deferred,
            ..PlanCounts::default()
        }
    }
}

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

/// The rule in force for a task, from its `spec`, the `defaults` in force and the `deleted_rule` of its name.
fn rule_in_force(task: &Fields<'_>) -> Result<ApprovalRule, StoreError> {
    let defaults: Option<ApprovalDefaults> = task.json_if_any("defaults")?;
    let deleted = match task.text_if_any("deleted_rule")? {
        None => None,
        Some(rule) => {
            let corrupt = |error| task.cell("approval").corrupt(error);
            Some(rule.parse().map_err(corrupt)?)
        }
    };
    let spec: TaskSpec = task.json("spec")?;
    let own = spec.file_settings.approval;
    let files = defaults.unwrap_or_default().rule_of(own, deleted);
    Ok(files.in_force(spec.api_approval))
}

/// The rules of the files that are in force.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileRules {
    /// The keys of the top level.
    pub defaults: ApprovalDefaults,
    /// Rules of configured tasks that the API has deleted, by name.
    pub deleted: BTreeMap<String, ApprovalRule>,
}

impl FileRules {
    /// The rule of the files for a task.
    pub fn of(&self, task: &TaskSpec) -> FileRule {
        let deleted = self.deleted.get(task.name().as_str()).copied();
        (self.defaults).rule_of(task.file_settings.approval, deleted)
    }
}

/// Name and rule of a configured task that the API has deleted. For implementations.
pub fn deleted_rule(row: &dyn Columns) -> Result<(String, ApprovalRule), StoreError> {
    let row = Fields::new(row, "read rules", "deleted_tasks").keyed("name")?;
    Ok((row.key().to_owned(), row.parse("approval")?))
}

/// Reads the columns of the rule in force for a task. For implementations.
pub fn read_rule(row: &dyn Columns) -> Result<ApprovalRule, StoreError> {
    rule_in_force(&Fields::new(row, "read a rule of approval", "tasks"))
}

/// Reads a run that waits, with the columns of the rule in force and the `summary` of its plan, and returns the run if
/// its effect needs no consent. For implementations.
pub fn needs_no_consent(row: &dyn Columns) -> Result<Option<RunId>, StoreError> {
    let operation = "read effects that need consent";
    let run = Fields::new(row, operation, "runs").keyed_by_id("id")?;
    let task = Fields::new(row, operation, "tasks").keyed("task_name")?;
    let summary: PlanSummary = run.json("summary")?;
    let asks = summary.facts().need_consent(rule_in_force(&task)?);
    Ok(if asks { None } else { Some(run.id("id")?) })
}

/// What is known when a worker asks whether it may apply its plan. For implementations.
#[derive(Debug)]
pub struct Asking {
    /// The run.
    pub run: RunId,
    /// Its task.
    pub task: TaskName,
    /// Incarnation of the task.
    pub incarnation: i64,
    /// Hash of its input.
    pub input: String,
    /// The time, in microseconds since 1970.
    pub now: i64,
    rule: ApprovalRule,
    stopped: bool,
    effect: Option<String>,
    known: Option<KnownEffect>,
}

/// An effect that is stored.
#[derive(Debug)]
struct KnownEffect {
    decision: Option<String>,
    decided: Option<Decided>,
    expires_at: Option<i64>,
    used_by: Option<RunId>,
    used_input: Option<String>,
    gone_at: Option<i64>,
}

/// Consent to the effect of a plan. For implementations.
#[derive(Debug, Clone)]
pub struct KnownConsent {
    /// The consent.
    pub consent: Consent,
    /// The effect already waits for a decision.
    pub is_known: bool,
    decided: Option<Decided>,
}

impl Asking {
    /// Reads a row of `runs` with the task's `spec`, the `defaults` in force, the `deleted_rule` of its name, `now`,
    /// whether the run was `cancelled` or `braked` or is of a destruction that was `given_up`, the `effect` and, if it is stored, the columns of `approvals`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let operation = "decide about an apply";
        let run = Fields::new(row, operation, "runs").keyed_by_id("id")?;
        let task = Fields::new(row, operation, "tasks").keyed("task_name")?;
        let approval = Fields::new(row, operation, "approvals").keyed("task_name")?;
        let known = approval.integer_if_any("asked_at")?.is_some();
        let known = known.then(|| KnownEffect::read(&approval)).transpose()?;
        Ok(Self {
            run: run.id("id")?,
            task: run.parse("task_name")?,
            incarnation: run.integer("incarnation")?,
            input: run.text("input_hash")?.to_owned(),
            now: run.integer("now")?,
            rule: rule_in_force(&task)?,
            stopped: run.flag("cancelled")? || run.flag("braked")? || run.flag("given_up")?,
            effect: approval.text_if_any("effect")?.map(str::to_owned),
            known,
        })
    }

    /// The effect of the plan.
    pub fn effect(&self) -> Option<&str> {
        self.effect.as_deref()
    }

    /// The consent to the effect. A consent that this run has used counts for its further attempts.
    pub fn consent(&self) -> KnownConsent {
        let gone_since = self.now.saturating_sub(span_micros(GONE_FOR));
        let known = self.known.as_ref();
        let known = known.filter(|it| it.gone_at.is_none_or(|gone| gone > gone_since));
        let consent = match known.and_then(|it| Some((it, it.decision.as_deref()?))) {
            Some((_, "rejected")) => Consent::Rejected,
            Some((it, _)) if it.is_of(self) && it.lasts(self.now) => Consent::Approved,
            _ => Consent::Open,
        };
        KnownConsent {
            consent,
            is_known: known.is_some_and(|it| it.decision.is_none() && it.used_by.is_none()),
            decided: known
                .filter(|_| consent != Consent::Open)
                .and_then(|it| it.decided.clone()),
        }
    }

    /// Whether a person may decide about the effect although the run gives way to a newer input.
    pub fn may_be_decided(&self, known: &KnownConsent, wait: WaitContext) -> bool {
        let is_newer = end_of(wait) == Some(WaitEnd::NewerInput);
        is_newer && !self.stopped && self.effect.is_some() && known.consent == Consent::Open
    }

    /// The circumstances for [`permit`](cts_core::permit).
    pub fn context(
        &self,
        asked: AskedPermit<'_>,
        known: &KnownConsent,
        wait: WaitContext,
    ) -> PermitContext {
        PermitContext {
            asks: asked.facts.need_consent(self.rule),
            has_effect: self.effect.is_some(),
            consent: known.consent,
            is_rest: asked.rest_of.is_some(),
            // A destruction is what a task in deletion needs.
            end: end_of(wait).filter(|_| wait.kind.applies()),
            stopped: self.stopped,
        }
    }
}

/// Why the run is not wanted any more. That its task was changed counts before newer data, for which a harmless plan may
/// be applied.
const fn end_of(wait: WaitContext) -> Option<WaitEnd> {
    let alone = WaitContext {
        look_waits: false,
        newer_waits: false,
        ..wait
    };
    match wait_end(alone) {
        None => wait_end(WaitContext {
            look_waits: false,
            ..wait
        }),
        end => end,
    }
}

impl KnownConsent {
    /// The answer to the worker; `asks` if the effect is noted for a person to decide.
    pub fn answer(self, permit: Permit, asks: bool) -> PermitAnswer {
        PermitAnswer {
            permit,
            is_new: asks && !self.is_known,
            decided: self.decided,
        }
    }
}

impl KnownEffect {
    fn read(row: &Fields<'_>) -> Result<Self, StoreError> {
        let decision = row.text_if_any("decision")?.map(str::to_owned);
        Ok(Self {
            decided: Decided::read(row)?.filter(|_| decision.is_some()),
            decision,
            expires_at: row.integer_if_any("expires_at")?,
            used_by: row.id_under("used_by", "used_by")?,
            used_input: row.text_if_any("used_input")?.map(str::to_owned),
            gone_at: row.integer_if_any("gone_at")?,
        })
    }

    /// Whether nobody has used the consent, or this very run with the same input.
    fn is_of(&self, asking: &Asking) -> bool {
        let is_same = |user| user == asking.run && self.used_input.as_ref() == Some(&asking.input);
        self.used_by.is_none_or(is_same)
    }

    fn lasts(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|end| end > now)
    }
}

impl Decided {
    fn read(row: &Fields<'_>) -> Result<Option<Self>, StoreError> {
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

/// An effect that an inspection has shown, and that is approved with a [change](crate::TaskChange) of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownEffect {
    /// The run of the inspection.
    pub inspection: RunId,
    /// Fingerprint of the effect.
    pub effect: String,
    /// Summary of the plan.
    pub summary: PlanSummary,
    /// The caller, for display.
    pub by: String,
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
