//! Another backend or workspace that may have the state of a task.

use std::path::Path;

use cts_core::{Backend, TaskName};

use super::direct::workspace_directory;
use crate::render::backend_module;

/// A backend and a workspace in it.
#[derive(Debug, Clone)]
pub struct StateOrigin {
    pub backend: Backend,
    pub workspace: TaskName,
    /// Environment that the backend needs on top; may hold a token.
    pub environment: Vec<(String, String)>,
}

impl StateOrigin {
    /// A root module in JSON that has the backend, credentials included, and nothing else. Relative paths in
    /// backend `local` are relative to the task directory.
    pub(super) fn root_module(&self, task_directory: &Path) -> String {
        let Backend { kind, arguments } = &self.backend;
        let mut arguments = arguments.clone();
        if kind == "local" {
            if let Some(directory) = workspace_directory(task_directory, &self.backend) {
                let directory = directory.to_string_lossy().into_owned();
                arguments.insert("workspace_dir".into(), directory.into());
            }
            // Named workspaces do not use `path`.
            arguments.remove("path");
        }
        backend_module(&Backend {
            kind: kind.clone(),
            arguments,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn root_module(kind: &str, arguments: &Value) -> Value {
        let origin = StateOrigin {
            backend: Backend {
                kind: kind.into(),
                arguments: arguments.as_object().unwrap().clone(),
            },
            workspace: TaskName::new("edge").unwrap(),
            environment: Vec::new(),
        };
        serde_json::from_str(&origin.root_module(Path::new("/srv/edge"))).unwrap()
    }

    #[test]
    fn the_root_module_has_the_backend_as_it_is() {
        let arguments = json!({ "bucket": "${x}%{y}", "acl": null, "endpoints": { "s3": "http://h", "iam": null } });
        let expected = json!({ "bucket": "$${x}%%{y}", "endpoints": { "s3": "http://h" } });
        assert_eq!(
            root_module("s3", &arguments),
            json!({ "terraform": { "backend": { "s3": expected } } })
        );
    }

    #[test]
    fn states_in_files_are_found_from_another_directory() {
        for (written, found) in [
            (json!({}), "/srv/edge/terraform.tfstate.d"),
            (
                json!({ "workspace_dir": "states", "path": "x" }),
                "/srv/edge/states",
            ),
            (json!({ "workspace_dir": "/var/states" }), "/var/states"),
        ] {
            assert_eq!(
                root_module("local", &written),
                json!({ "terraform": { "backend": { "local": { "workspace_dir": found } } } })
            );
        }
    }
}
