//! Configuration versions.

use serde_json::{Value, json};

use super::super::call::identifier;

#[derive(Debug, Clone)]
pub(in super::super) struct Configuration {
    pub(in super::super) id: String,
    pub(in super::super) workspace: String,
    pub(in super::super) auto_queue_runs: bool,
    pub(in super::super) speculative: bool,
    pub(in super::super) status: &'static str,
    pub(in super::super) error: Option<String>,
    /// The archive as uploaded.
    pub(in super::super) content: Vec<u8>,
}

impl Configuration {
    pub(in super::super) fn new(
        workspace: &str,
        attributes: &serde_json::Map<String, Value>,
    ) -> Self {
        let flag = |name: &str| attributes.get(name).and_then(Value::as_bool);
        Self {
            id: identifier("cv"),
            workspace: workspace.to_owned(),
            auto_queue_runs: flag("auto-queue-runs").unwrap_or(true),
            speculative: flag("speculative").unwrap_or(false),
            status: "pending",
            error: None,
            content: Vec::new(),
        }
    }

    /// Its document; only the answer to its creation has the address for the upload.
    pub(in super::super) fn document(&self, upload: Option<&str>) -> Value {
        json!({
            "id": self.id,
            "type": "configuration-versions",
            "attributes": {
                "auto-queue-runs": self.auto_queue_runs,
                "speculative": self.speculative,
                "provisional": false,
                "status": self.status,
                "error": self.error.as_ref().map(|_| "error"),
                "error-message": self.error,
                "source": "tfe-api",
                "upload-url": upload,
            },
            "relationships": {"ingress-attributes": {"data": null}},
        })
    }
}
