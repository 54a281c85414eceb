//! State versions.

use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::super::call::{identifier, reference};

#[derive(Debug, Clone)]
pub(in super::super) struct StateVersion {
    pub(in super::super) id: String,
    pub(in super::super) workspace: String,
    pub(in super::super) serial: u64,
    pub(in super::super) lineage: String,
    pub(in super::super) content: Vec<u8>,
    run: Option<String>,
}

impl StateVersion {
    pub(in super::super) fn new(
        workspace: &str,
        serial: u64,
        lineage: &str,
        content: Vec<u8>,
    ) -> Self {
        Self {
            id: identifier("sv"),
            workspace: workspace.to_owned(),
            serial,
            lineage: lineage.to_owned(),
            content,
            run: None,
        }
    }

    /// The state that a run has left.
    pub(in super::super) fn of_run(workspace: &str, run: &str, content: Vec<u8>) -> Self {
        let state: Value = serde_json::from_slice(&content).unwrap_or_default();
        let serial = state["serial"].as_u64().unwrap_or_default();
        let lineage = state["lineage"].as_str().unwrap_or_default();
        Self {
            run: Some(run.to_owned()),
            ..Self::new(workspace, serial, lineage, content)
        }
    }

    /// Number of managed resources.
    pub(in super::super) fn resources(&self) -> usize {
        let state: Value = serde_json::from_slice(&self.content).unwrap_or_default();
        let resources = state["resources"].as_array().map(Vec::as_slice);
        let managed = resources.unwrap_or_default().iter();
        managed
            .filter(|resource| resource["mode"] == "managed")
            .count()
    }

    pub(in super::super) fn document(&self, download: &str) -> Value {
        let run = self
            .run
            .as_ref()
            .map(|id| json!({"type": "runs", "id": id}));
        json!({
            "id": self.id,
            "type": "state-versions",
            "attributes": {
                "size": self.content.len(),
                "serial": self.serial,
                "lineage": self.lineage,
                "status": "finalized",
                "state-version": 4,
                "resources-processed": true,
                "hosted-state-download-url": download,
            },
            "relationships": {
                "run": {"data": run},
                "workspace": reference("workspaces", &self.workspace),
                "outputs": {"data": []},
            },
        })
    }
}

/// The digest by which states are compared, in hexadecimal digits.
pub(in super::super) fn md5(content: &[u8]) -> String {
    format!("{:x}", Md5::digest(content))
}
