//! Answers to changes of tasks (docs/rest.md#creating-a-task, #deleting-a-task, #updating-a-task).

use cts_proto::run::v1 as proto;
use serde::Serialize;

use super::task::TaskObject;
use crate::request_id::RequestId;

/// The task that would be created, and the plan of its first run.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) run: TaskPlanObject<'a>,
    pub(crate) task: TaskObject<'a>,
}

/// The task after its replacement; cts-only.
#[derive(Debug, Serialize)]
pub(crate) struct ReplacedAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) revision: u64,
    pub(crate) task: TaskObject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<String>,
}

/// The deletion is accepted.
#[derive(Debug, Serialize)]
pub(crate) struct AcceptedAnswer {
    pub(crate) request_id: RequestId,
}

/// Plan of the destruction before a task is removed; cts-only.
#[derive(Debug, Serialize)]
pub(crate) struct DestroyPlanAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) run: TaskPlanObject<'a>,
}

/// Plan of the run after an update.
#[derive(Debug, Serialize)]
pub(crate) struct UpdateInspectedAnswer<'a> {
    pub(crate) inspect: TaskPlanObject<'a>,
}

/// Output of Terraform for a plan.
#[derive(Debug, Serialize)]
pub(crate) struct TaskPlanObject<'a> {
    changes_present: bool,
    plan: &'a str,
    /// Page of a remote run, in answers to creations and deletions.
    #[serde(skip_serializing_if = "Option::is_none")]
    tfc_run_url: Option<&'a str>,
    /// Page of a remote run, in answers to updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    /// The rule of consent, if an apply would wait; cts-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    consent: Option<NeededConsent<'a>>,
}

/// Consent that the apply of an inspected plan would need.
#[derive(Debug, Serialize)]
struct NeededConsent<'a> {
    /// The rule, and the changes.
    reason: &'a str,
    /// Fingerprint of the effect; missing if consent cannot be given to the plan.
    #[serde(skip_serializing_if = "str::is_empty")]
    effect: &'a str,
    /// Whether the caller may approve the effect with an update, in answers to updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_approve: Option<bool>,
}

impl<'a> TaskPlanObject<'a> {
    /// The text of `plan`, or `otherwise` if nothing was planned.
    pub(crate) fn of(plan: Option<&'a proto::Planned>, otherwise: &'a str) -> Self {
        let waits = plan.filter(|plan| !plan.would_wait.is_empty());
        Self {
            consent: waits.map(|plan| NeededConsent {
                reason: &plan.would_wait,
                effect: &plan.effect,
                may_approve: None,
            }),
            changes_present: plan.is_some_and(|plan| plan.changes_present),
            plan: plan.map_or(otherwise, |plan| &plan.text),
            tfc_run_url: plan
                .map(|plan| plan.remote_url.as_str())
                .filter(|url| !url.is_empty()),
            url: None,
        }
    }

    /// The plan of an update, whose answer calls the page otherwise.
    pub(crate) fn of_update(plan: Option<&'a proto::Planned>, may_approve: bool) -> Self {
        let object = Self::of(plan, "");
        Self {
            consent: object.consent.map(|consent| NeededConsent {
                may_approve: Some(may_approve),
                ..consent
            }),
            url: object.tfc_run_url,
            tfc_run_url: None,
            ..object
        }
    }
}
