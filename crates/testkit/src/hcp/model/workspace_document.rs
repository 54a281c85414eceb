//! The document of a workspace.

use serde_json::{Value, json};

use super::super::call::reference;
use super::super::caller::{Caller, Right};
use super::super::settings::ORGANIZATION;
use super::{Configuration, Lock, Model, Workspace};

impl Workspace {
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
