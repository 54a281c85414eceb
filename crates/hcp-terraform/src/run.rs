//! Runs, as they are read.

use std::collections::BTreeMap;

use cts_core::Digest;
use serde::Deserialize;
use serde_json::Value;

use crate::document::{Linkage, Resource, id_of};
use crate::run_phase::RunPhase;
use crate::run_status::RunStatus;
use crate::run_variable::{RunVariable, digests_of};

/// A run, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Resource<Attributes, Relationships>")]
pub struct Run {
    /// Id, `run-…`.
    pub id: String,
    /// Status.
    pub status: RunStatus,
    /// Message of its creator.
    pub message: String,
    /// Whether it only plans.
    pub is_plan_only: bool,
    /// Whether it destroys all resources.
    pub is_destroy: bool,
    /// Whether its plan is applied without confirmation.
    pub auto_apply: bool,
    /// Digests of its own values by their names; empty if it has none, or if the server does not show them.
    pub variables: BTreeMap<String, Digest>,
    /// Whether the plan has changes; `None` before the plan.
    pub has_changes: Option<bool>,
    /// Possible actions.
    pub actions: RunActions,
    /// Rights of the token.
    pub permissions: RunPermissions,
    /// Time from which it may be cancelled by force, after it was cancelled.
    pub force_cancel_available_at: Option<String>,
    /// Time of its creation.
    pub created_at: Option<String>,
    /// Times by names such as `planned-at`.
    pub status_timestamps: BTreeMap<String, String>,
    /// Id of its workspace.
    pub workspace_id: Option<String>,
    /// Id of its configuration version.
    pub configuration_version_id: Option<String>,
    /// Id of its plan.
    pub plan_id: Option<String>,
    /// Id of its apply.
    pub apply_id: Option<String>,
}

/// Actions that the state of a run allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RunActions {
    /// Whether it can be cancelled.
    pub is_cancelable: bool,
    /// Whether its plan can be confirmed.
    pub is_confirmable: bool,
    /// Whether it can be discarded.
    pub is_discardable: bool,
    /// Whether it can be cancelled by force.
    pub is_force_cancelable: bool,
}

/// Rights of the token on a run; `None` where the server does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[expect(clippy::struct_field_names, reason = "names of the API")]
pub struct RunPermissions {
    /// Whether the token may confirm.
    pub can_apply: Option<bool>,
    /// Whether the token may cancel.
    pub can_cancel: Option<bool>,
    /// Whether the token may discard.
    pub can_discard: Option<bool>,
    /// Whether the token may cancel by force.
    pub can_force_cancel: Option<bool>,
    /// Whether the token may override failed policies.
    pub can_override_policy_check: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Attributes {
    status: RunStatus,
    message: Option<String>,
    plan_only: Option<bool>,
    is_destroy: Option<bool>,
    auto_apply: Option<bool>,
    variables: Option<Value>,
    has_changes: Option<bool>,
    actions: Option<RunActions>,
    permissions: Option<RunPermissions>,
    force_cancel_available_at: Option<String>,
    created_at: Option<String>,
    status_timestamps: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Relationships {
    workspace: Option<Linkage>,
    configuration_version: Option<Linkage>,
    plan: Option<Linkage>,
    apply: Option<Linkage>,
}

impl From<Resource<Attributes, Relationships>> for Run {
    fn from(resource: Resource<Attributes, Relationships>) -> Self {
        let run = resource.attributes;
        let times = run.status_timestamps.unwrap_or_default().into_iter();
        let relations = resource.relationships.unwrap_or_default();
        Self {
            id: resource.id,
            status: run.status,
            message: run.message.unwrap_or_default(),
            is_plan_only: run.plan_only.unwrap_or_default(),
            is_destroy: run.is_destroy.unwrap_or_default(),
            auto_apply: run.auto_apply.unwrap_or_default(),
            variables: digests_of(run.variables.as_ref()),
            has_changes: run.has_changes,
            actions: run.actions.unwrap_or_default(),
            permissions: run.permissions.unwrap_or_default(),
            force_cancel_available_at: run.force_cancel_available_at,
            created_at: run.created_at,
            status_timestamps: times
                .filter_map(|(name, time)| Some((name, time?)))
                .collect(),
            workspace_id: id_of(relations.workspace),
            configuration_version_id: id_of(relations.configuration_version),
            plan_id: id_of(relations.plan),
            apply_id: id_of(relations.apply),
        }
    }
}

impl Run {
    /// Where the run is on its way.
    pub const fn phase(&self) -> RunPhase {
        self.status.phase(self.actions.is_confirmable)
    }

    /// Whether the run has all these values as its own. Servers that have no such values ignore them without a word.
    pub fn has_taken(&self, variables: &[RunVariable]) -> bool {
        let mut variables = variables.iter();
        variables.all(|variable| self.variables.get(&variable.key) == Some(&variable.digest()))
    }
}
