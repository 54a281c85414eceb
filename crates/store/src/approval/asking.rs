//! The question of a worker whether it may apply its plan.

use cts_core::runs::{WaitContext, WaitEnd, wait_end};
use cts_core::{ApprovalRule, Consent, GONE_FOR, Permit, PermitContext, RunId, TaskName};

use super::rule::rule_in_force;
use super::{AskedPermit, Decided, PermitAnswer};
use crate::cell::span_micros;
use crate::error::StoreError;
use crate::fields::{Columns, Fields};

/// The question of a worker whether it may apply its plan, with the facts that decide. For implementations.
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
    /// whether the run was `cancelled` or `braked` or is of a destruction that was `given_up`, the `effect` and, if it is
    /// stored, the columns of `approvals`.
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

/// Why the run is not wanted any more. That its task was changed counts before newer data, for which a harmless plan
/// may be applied.
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

    /// Whether the consent is unused, or was used by this very run with the same input.
    fn is_of(&self, asking: &Asking) -> bool {
        let is_same = |user| user == asking.run && self.used_input.as_ref() == Some(&asking.input);
        self.used_by.is_none_or(is_same)
    }

    fn lasts(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|end| end > now)
    }
}
