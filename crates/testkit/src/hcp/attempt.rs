//! Deeds of a person that the server may refuse, because the run or the workspace is not what it was a moment ago.

use axum::http::Method;
use serde_json::{Value, json};

use super::HcpServer;
use super::model::Caller;

impl HcpServer {
    /// Tries `apply`, `discard`, `cancel` or `force-cancel` of a run. Returns whether the server took it.
    pub fn try_on_run(&self, run: &str, action: &str) -> bool {
        self.attempt(
            Method::POST,
            &format!("runs/{run}/actions/{action}"),
            &json!({}),
        )
    }

    /// Tries `lock`, `unlock` or `force-unlock` of a workspace. Returns whether the server took it.
    pub fn try_on_workspace(&self, workspace: &str, action: &str) -> bool {
        let path = self.path_of(workspace);
        self.attempt(
            Method::POST,
            &format!("{path}/actions/{action}"),
            &json!({}),
        )
    }

    /// Tries to change attributes of a workspace. Returns whether the server took them.
    pub fn try_to_update_workspace(&self, workspace: &str, attributes: Value) -> bool {
        let body = Value::from_iter([
            ("type", Value::from("workspaces")),
            ("attributes", attributes),
        ]);
        let body = Value::from_iter([("data", body)]);
        self.attempt(Method::PATCH, &self.path_of(workspace), &body)
    }

    fn path_of(&self, workspace: &str) -> String {
        format!(
            "organizations/{}/workspaces/{workspace}",
            self.organization()
        )
    }

    fn attempt(&self, method: Method, path: &str, body: &Value) -> bool {
        let person = Caller::person();
        self.shared.call(method, path, &[], body, &person).is_ok()
    }
}
