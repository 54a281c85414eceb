//! Deeds of a person who has every right. Each panics if the server refuses it.

use axum::http::Method;
use serde_json::{Value, json};

use super::model::Caller;
use super::{HcpServer, gzip_tar};

impl HcpServer {
    /// Creates a workspace with these attributes besides its name.
    pub fn create_workspace(&self, name: &str, mut attributes: Value) {
        attributes["name"] = json!(name);
        let path = format!("organizations/{}/workspaces", self.organization());
        self.act(Method::POST, &path, "workspaces", attributes);
    }

    /// Changes attributes of a workspace.
    pub fn update_workspace(&self, name: &str, attributes: Value) {
        self.act_on(Method::PATCH, name, "", "workspaces", attributes);
    }

    /// Deletes a workspace with everything below it.
    pub fn delete_workspace(&self, name: &str) {
        self.act_on(Method::DELETE, name, "", "", json!({}));
    }

    /// Locks a workspace.
    pub fn lock(&self, workspace: &str) {
        self.act_on(Method::POST, workspace, "/actions/lock", "", json!({}));
    }

    /// Unlocks a workspace that [`Self::lock`] has locked.
    pub fn unlock(&self, workspace: &str) {
        self.act_on(Method::POST, workspace, "/actions/unlock", "", json!({}));
    }

    /// Unlocks a workspace of any holder.
    pub fn force_unlock(&self, workspace: &str) {
        self.act_on(
            Method::POST,
            workspace,
            "/actions/force-unlock",
            "",
            json!({}),
        );
    }

    /// Puts a tag on a workspace.
    pub fn tag(&self, workspace: &str, tag: &str) {
        let tag = tag.to_owned();
        self.change_workspace(workspace, |workspace| workspace.tags.insert(tag));
    }

    /// Takes a tag from a workspace.
    pub fn untag(&self, workspace: &str, tag: &str) {
        self.change_workspace(workspace, |workspace| workspace.tags.remove(tag));
    }

    /// Connects a workspace with a repository.
    pub fn connect_repository(&self, workspace: &str, repository: &str) {
        let repository = json!({"identifier": repository, "branch": "main"});
        self.update_workspace(workspace, json!({"vcs-repo": repository}));
    }

    /// Sets a variable of a workspace, new or known: its attributes besides the key.
    pub fn set_variable(&self, workspace: &str, key: &str, mut attributes: Value) {
        attributes["key"] = json!(key);
        let known = self
            .variables(workspace)
            .into_iter()
            .find(|variable| variable.key == key);
        if let Some(known) = known {
            let path = format!("/vars/{}", known.id);
            self.act_on(Method::PATCH, workspace, &path, "vars", attributes);
        } else {
            if attributes["category"].is_null() {
                attributes["category"] = json!("terraform");
            }
            self.act_on(Method::POST, workspace, "/vars", "vars", attributes);
        }
    }

    /// Uploads a configuration of these files, which starts no run, and returns the identifier of its version.
    pub fn upload_configuration(&self, workspace: &str, files: &[(&str, &str)]) -> String {
        let attributes = json!({"auto-queue-runs": false});
        let kind = "configuration-versions";
        let path = "/configuration-versions";
        let created = self.act_on(Method::POST, workspace, path, kind, attributes);
        let id = created["id"].as_str().unwrap_or_default().to_owned();
        let content = gzip_tar(files);
        let taken = self
            .shared
            .change(|model| super::api::upload_configuration(model, &id, &content));
        taken.unwrap_or_else(|refusal| panic!("the upload is refused: {}", refusal.document()));
        id
    }

    /// Queues a run with the newest configuration version of a workspace, and returns its identifier.
    pub fn queue_run(&self, workspace: &str, message: &str) -> String {
        let id = self.workspace(workspace)["id"].clone();
        let run = json!({"data": {
            "type": "runs", "attributes": {"message": message},
            "relationships": {"workspace": {"data": {"type": "workspaces", "id": id}}},
        }});
        let created = self.act_with(Method::POST, "runs", &run);
        created["id"].as_str().unwrap_or_default().to_owned()
    }

    /// Confirms a run that waits for that.
    pub fn confirm(&self, run: &str) {
        self.act(
            Method::POST,
            &format!("runs/{run}/actions/apply"),
            "",
            json!({}),
        );
    }

    /// Discards a run.
    pub fn discard(&self, run: &str) {
        self.act(
            Method::POST,
            &format!("runs/{run}/actions/discard"),
            "",
            json!({}),
        );
    }

    /// Cancels a run.
    pub fn cancel(&self, run: &str) {
        self.act(
            Method::POST,
            &format!("runs/{run}/actions/cancel"),
            "",
            json!({}),
        );
    }

    /// Cancels a run at once, some time after [`Self::cancel`].
    pub fn force_cancel(&self, run: &str) {
        self.act(
            Method::POST,
            &format!("runs/{run}/actions/force-cancel"),
            "",
            json!({}),
        );
    }

    /// Overrides the failed policy of a run.
    pub fn override_policy(&self, run: &str) {
        let check = self.shared.read(|model| model.run(run)?.policy.clone());
        let check = check.unwrap_or_else(|| panic!("{run} has no policy check"));
        let path = format!("policy-checks/{}/actions/override", check.id);
        self.act(Method::POST, &path, "", json!({}));
    }

    fn act_on(
        &self,
        method: Method,
        name: &str,
        path: &str,
        kind: &str,
        attributes: Value,
    ) -> Value {
        let path = format!(
            "organizations/{}/workspaces/{name}{path}",
            self.organization()
        );
        self.act(method, &path, kind, attributes)
    }

    fn act(&self, method: Method, path: &str, kind: &str, attributes: Value) -> Value {
        let data = Value::from_iter([("type", Value::from(kind)), ("attributes", attributes)]);
        let body = Value::from_iter([("data", data)]);
        self.act_with(method, path, &body)
    }

    fn act_with(&self, method: Method, path: &str, body: &Value) -> Value {
        match self.shared.call(method, path, &[], body, &Caller::person()) {
            Ok(reply) => reply.body.unwrap_or_default()["data"].take(),
            Err(refusal) => panic!("{path}: {}", refusal.document()),
        }
    }
}
