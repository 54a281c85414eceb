//! Workspaces.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::call::identifier;
use super::Variable;

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
}
