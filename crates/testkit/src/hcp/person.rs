//! Deeds of a person who has every right. Each panics if the server refuses it, unless its name begins with `try`: then
//! the run or the workspace may not be what it was a moment ago.

use axum::http::Method;
use serde_json::{Value, json};

use super::call::Answered;
use super::caller::Caller;
use super::settings::ORGANIZATION;
use super::{HcpServer, gzip_tar};

impl HcpServer {
    /// Creates a workspace with these attributes besides its name.
    pub fn create_workspace(&self, name: &str, mut attributes: Value) {
        attributes["name"] = json!(name);
        let path = format!("organizations/{ORGANIZATION}/workspaces");
        done(self.act(Method::POST, &path, &document("workspaces", attributes)));
    }

    /// Changes attributes of a workspace.
    pub fn update_workspace(&self, name: &str, attributes: Value) {
        done(self.update(name, attributes));
    }

    /// Tries to change attributes of a workspace. Returns whether the server took them.
    pub fn try_to_update_workspace(&self, name: &str, attributes: Value) -> bool {
        self.update(name, attributes).is_ok()
    }

    fn update(&self, name: &str, attributes: Value) -> Answered {
        let body = document("workspaces", attributes);
        self.act_on_workspace(Method::PATCH, name, "", &body)
    }

    /// Deletes a workspace with everything below it.
    pub fn delete_workspace(&self, name: &str) {
        done(self.act_on_workspace(Method::DELETE, name, "", &Value::Null));
    }

    /// Locks a workspace.
    pub fn lock(&self, workspace: &str) {
        done(self.change_lock(workspace, "lock"));
    }

    /// Unlocks a workspace that [`Self::lock`] has locked.
    pub fn unlock(&self, workspace: &str) {
        done(self.change_lock(workspace, "unlock"));
    }

    /// Tries `lock`, `unlock` or `force-unlock` of a workspace. Returns whether the server took it.
    pub fn try_on_workspace(&self, workspace: &str, action: &str) -> bool {
        self.change_lock(workspace, action).is_ok()
    }

    fn change_lock(&self, workspace: &str, action: &str) -> Answered {
        let path = format!("/actions/{action}");
        self.act_on_workspace(Method::POST, workspace, &path, &Value::Null)
    }

    /// Puts a tag on a workspace.
    pub fn tag(&self, workspace: &str, tag: &str) {
        let tag = tag.to_owned();
        self.change_workspace(workspace, |workspace| workspace.tags.insert(tag));
    }

    /// Sets a variable of a workspace, new or known: its attributes besides the key.
    pub fn set_variable(&self, workspace: &str, key: &str, mut attributes: Value) {
        attributes["key"] = json!(key);
        let mut known = self.variables(workspace).into_iter();
        let (method, path) = match known.find(|variable| variable.key == key) {
            Some(known) => (Method::PATCH, format!("/vars/{}", known.id)),
            None => (Method::POST, "/vars".to_owned()),
        };
        if method == Method::POST && attributes["category"].is_null() {
            attributes["category"] = json!("terraform");
        }
        done(self.act_on_workspace(method, workspace, &path, &document("vars", attributes)));
    }

    /// Uploads a configuration of these files, which starts no run, and returns the identifier of its version.
    pub fn upload_configuration(&self, workspace: &str, files: &[(&str, &str)]) -> String {
        let kind = "configuration-versions";
        let body = document(kind, json!({"auto-queue-runs": false}));
        let path = format!("/{kind}");
        let id = done(self.act_on_workspace(Method::POST, workspace, &path, &body));
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
        let mut run = document("runs", json!({"message": message}));
        let workspace = json!({"data": {"type": "workspaces", "id": id}});
        run["data"]["relationships"] = json!({"workspace": workspace});
        done(self.act(Method::POST, "runs", &run))
    }

    /// Confirms a run that waits for that.
    pub fn confirm(&self, run: &str) {
        done(self.act_on_run(run, "apply"));
    }

    /// Discards a run.
    pub fn discard(&self, run: &str) {
        done(self.act_on_run(run, "discard"));
    }

    /// Cancels a run.
    pub fn cancel(&self, run: &str) {
        done(self.act_on_run(run, "cancel"));
    }

    /// Tries `apply`, `discard`, `cancel` or `force-cancel` of a run. Returns whether the server took it.
    pub fn try_on_run(&self, run: &str, action: &str) -> bool {
        self.act_on_run(run, action).is_ok()
    }

    fn act_on_run(&self, run: &str, action: &str) -> Answered {
        let path = format!("runs/{run}/actions/{action}");
        self.act(Method::POST, &path, &Value::Null)
    }

    /// Overrides the failed policy of a run.
    pub fn override_policy(&self, run: &str) {
        let check = self.shared.read(|model| model.run(run)?.policy.clone());
        let check = check.unwrap_or_else(|| panic!("{run} has no policy check"));
        let path = format!("policy-checks/{}/actions/override", check.id);
        done(self.act(Method::POST, &path, &Value::Null));
    }

    fn act_on_workspace(&self, method: Method, name: &str, path: &str, body: &Value) -> Answered {
        let path = format!("organizations/{ORGANIZATION}/workspaces/{name}{path}");
        self.act(method, &path, body)
    }

    fn act(&self, method: Method, path: &str, body: &Value) -> Answered {
        self.shared.call(method, path, &[], body, &Caller::person())
    }
}

fn document(kind: &str, attributes: Value) -> Value {
    let data = Value::from_iter([("type", Value::from(kind)), ("attributes", attributes)]);
    Value::from_iter([("data", data)])
}

/// The identifier in the answer to a deed, if it has one.
fn done(answered: Answered) -> String {
    let reply = answered.unwrap_or_else(|refusal| panic!("refused: {}", refusal.document()));
    let body = reply.body.unwrap_or_default();
    body["data"]["id"].as_str().unwrap_or_default().to_owned()
}
