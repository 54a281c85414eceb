//! Workspaces.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::call::reference;
use super::super::settings::ORGANIZATION;
use super::{Caller, Configuration, Model, Right, Variable, identifier};

/// Holder of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Lock {
    /// A user, by name.
    User(String),
    /// A run that has begun and not ended.
    Run(String),
}

/// Result of the policies of a workspace for each of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// The workspace has no policies.
    #[default]
    None,
    /// All pass.
    Passed,
    /// One fails that a person may override.
    SoftFailed,
}

#[derive(Debug)]
pub(in super::super) struct Workspace {
    pub(in super::super) id: String,
    /// Attributes that clients set.
    pub(in super::super) attributes: Map<String, Value>,
    pub(in super::super) agent_pool: Option<String>,
    pub(in super::super) tags: BTreeSet<String>,
    pub(in super::super) variables: Vec<Variable>,
    pub(in super::super) lock: Option<Lock>,
    pub(in super::super) policy: Policy,
    pub(in super::super) estimates_costs: bool,
}

impl Workspace {
    pub(in super::super) fn new(terraform_version: &str) -> Self {
        let defaults = json!({
            "name": "", "description": null, "execution-mode": "remote", "auto-apply": false,
            "queue-all-runs": false, "terraform-version": terraform_version,
            "structured-run-output-enabled": true, "speculative-enabled": true,
            "allow-destroy-plan": true, "working-directory": null, "vcs-repo": null,
            "source-name": null, "source-url": null, "global-remote-state": false,
            "setting-overwrites": {"execution-mode": false, "agent-pool": false},
        });
        Self {
            id: identifier("ws"),
            attributes: defaults.as_object().cloned().unwrap_or_default(),
            agent_pool: None,
            tags: BTreeSet::new(),
            variables: Vec::new(),
            lock: None,
            policy: Policy::None,
            estimates_costs: false,
        }
    }

    pub(in super::super) fn name(&self) -> &str {
        self.text("name")
    }

    pub(in super::super) fn mode(&self) -> &str {
        self.text("execution-mode")
    }

    /// An attribute that is a text.
    pub(in super::super) fn text(&self, name: &str) -> &str {
        let value = self.attributes.get(name).and_then(Value::as_str);
        value.unwrap_or_default()
    }

    /// An attribute that is true or false.
    pub(in super::super) fn flag(&self, name: &str) -> bool {
        self.attributes.get(name).and_then(Value::as_bool) == Some(true)
    }

    pub(in super::super) fn document(&self, model: &Model, caller: &Caller) -> Value {
        let state = model.current_state(&self.id);
        let mut attributes = self.attributes.clone();
        let computed = json!({
            "locked": self.lock.is_some(),
            "operations": self.mode() != "local",
            "source": "tfe-api",
            "tag-names": self.tags,
            "resource-count": state.map_or(0, super::StateVersion::resources),
            "actions": {"is-destroyable": true},
            "permissions": permissions(caller),
        });
        attributes.extend(computed.as_object().cloned().unwrap_or_default());
        json!({
            "id": self.id,
            "type": "workspaces",
            "attributes": attributes,
            "relationships": self.relationships(model),
        })
    }

    fn relationships(&self, model: &Model) -> Value {
        let to = |kind: &str, id: Option<&str>| match id {
            Some(id) => reference(kind, id),
            None => json!({"data": null}),
        };
        let real = model.runs.iter().rev();
        let mut real = real.filter(|run| run.workspace == self.id && !run.plan_only);
        let current = model.first_in_queue(&self.id).or_else(|| real.next());
        let uploads = model.configurations.iter().rev();
        let mut uploads = uploads.filter(|known| known.workspace == self.id && !known.speculative);
        let uploaded = uploads
            .next()
            .map(|known: &Configuration| known.id.as_str());
        let state = model.current_state(&self.id).map(|state| state.id.as_str());
        let locked_by = match &self.lock {
            Some(Lock::User(name)) => reference("users", name),
            Some(Lock::Run(id)) => reference("runs", id),
            None => json!({"data": null}),
        };
        json!({
            "organization": reference("organizations", ORGANIZATION),
            "project": reference("projects", &model.project),
            "current-run": to("runs", current.map(|run| run.id.as_str())),
            "current-configuration-version": to("configuration-versions", uploaded),
            "current-state-version": to("state-versions", state),
            "agent-pool": to("agent-pools", self.agent_pool.as_deref()),
            "locked-by": locked_by,
        })
    }
}

fn permissions(caller: &Caller) -> Value {
    let manages = caller.may(Right::ManageWorkspaces);
    let mut permissions = json!({
        "can-update": manages, "can-manage-tags": manages,
        "can-read-state-versions": caller.may(Right::ReadStates),
    });
    for right in [
        "destroy",
        "force-delete",
        "queue-run",
        "queue-apply",
        "queue-destroy",
        "update-variable",
        "read-variable",
        "lock",
        "unlock",
        "force-unlock",
        "create-state-versions",
        "read-run",
    ] {
        permissions[format!("can-{right}")] = json!(true);
    }
    permissions
}
