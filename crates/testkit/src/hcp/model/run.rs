//! Runs with their plans, applies and policy checks.

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::super::call::{identifier, reference};
use super::super::caller::Caller;
use super::super::phase::Phase;
use super::stage::{Stage, StageName};

#[derive(Debug, Clone)]
pub(in super::super) struct PolicyCheck {
    pub(in super::super) id: String,
    pub(in super::super) status: &'static str,
}

/// How a run is made to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Cancel {
    Not,
    /// Since then.
    Requested(Instant),
    Forced,
}

#[derive(Debug, Clone)]
pub(in super::super) struct Run {
    pub(in super::super) id: String,
    pub(in super::super) workspace: String,
    pub(in super::super) configuration: String,
    pub(in super::super) status: Phase,
    pub(in super::super) message: String,
    pub(in super::super) created_by: String,
    pub(in super::super) plan_only: bool,
    pub(in super::super) auto_apply: bool,
    pub(in super::super) destroys: bool,
    /// Names with texts in the language of Terraform.
    pub(in super::super) variables: Vec<(String, String)>,
    pub(in super::super) has_changes: bool,
    /// Waits for a confirmation.
    pub(in super::super) confirmable: bool,
    pub(in super::super) cancel: Cancel,
    /// Actions with their users, oldest first.
    pub(in super::super) events: Vec<(&'static str, String)>,
    pub(in super::super) plan: Stage,
    pub(in super::super) apply: Stage,
    pub(in super::super) policy: Option<PolicyCheck>,
}

impl Run {
    pub(in super::super) fn new(
        workspace: &str,
        configuration: &str,
        created_by: &str,
        attributes: &Map<String, Value>,
    ) -> Self {
        let flag = |name: &str| attributes.get(name).and_then(Value::as_bool) == Some(true);
        let variables = attributes.get("variables").and_then(Value::as_array);
        let variables = variables.into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let variables = variables.map(|one| (text(&one["key"]), text(&one["value"])));
        let message = attributes.get("message").and_then(Value::as_str);
        Self {
            id: identifier("run"),
            workspace: workspace.to_owned(),
            configuration: configuration.to_owned(),
            status: Phase::Pending,
            message: message
                .unwrap_or("Queued manually via the Terraform Enterprise API")
                .to_owned(),
            created_by: created_by.to_owned(),
            plan_only: flag("plan-only"),
            auto_apply: false,
            destroys: flag("is-destroy"),
            variables: variables.collect(),
            has_changes: false,
            confirmable: false,
            cancel: Cancel::Not,
            events: Vec::new(),
            plan: Stage::new("plan"),
            apply: Stage::new("apply"),
            policy: None,
        }
    }

    pub(in super::super) fn stage(&mut self, name: StageName) -> &mut Stage {
        match name {
            StageName::Plan => &mut self.plan,
            StageName::Apply => &mut self.apply,
        }
    }

    pub(in super::super) fn enter(&mut self, phase: Phase) {
        self.status = phase;
        self.confirmable = false;
    }

    pub(in super::super) fn note(&mut self, action: &'static str, caller: &Caller) {
        self.events.push((action, caller.name.clone()));
    }

    /// Gives the stages that have not ended the status that follows from the end of the run.
    pub(super) fn end_stages(&mut self) {
        let status = match self.status {
            Phase::Canceled | Phase::ForceCanceled => "canceled",
            Phase::Errored if self.plan.is_open() || self.apply.status == "running" => "errored",
            _ => "unreachable",
        };
        for stage in [&mut self.plan, &mut self.apply] {
            if stage.is_open() {
                let reached = stage.status == "running" || status != "errored";
                stage.end(if reached { status } else { "unreachable" });
            }
        }
    }

    pub(in super::super) const fn is_discardable(&self) -> bool {
        self.confirmable || matches!(self.status, Phase::Pending | Phase::PolicyOverride)
    }

    pub(in super::super) fn is_cancelable(&self) -> bool {
        let running = matches!(self.status, Phase::Planning | Phase::Applying);
        self.cancel == Cancel::Not && running
    }

    pub(in super::super) fn document(&self, actions: &Value) -> Value {
        let policies: Vec<Value> = self
            .policy
            .iter()
            .map(|check| json!({"type": "policy-checks", "id": check.id}))
            .collect();
        let variables = self.variables.iter();
        let variables: Vec<Value> = variables
            .map(|(key, value)| json!({"key": key, "value": value}))
            .collect();
        json!({
            "id": self.id,
            "type": "runs",
            "attributes": {
                "status": self.status.name(), "message": self.message, "source": "tfe-api",
                "trigger-reason": "manual", "has-changes": self.has_changes,
                "auto-apply": self.auto_apply, "plan-only": self.plan_only,
                "is-destroy": self.destroys, "variables": variables,
                "actions": actions,
            },
            "relationships": {
                "workspace": reference("workspaces", &self.workspace),
                "configuration-version": reference("configuration-versions", &self.configuration),
                "plan": reference("plans", &self.plan.id),
                "apply": reference("applies", &self.apply.id),
                "created-by": reference("users", &self.created_by),
                "policy-checks": {"data": policies},
                "task-stages": {"data": []},
            },
        })
    }
}
