//! The state that the stand-in keeps, in the form of Terraform.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Call, VERSION};

/// A state and its file, which need not be there.
#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    content: Value,
}

impl State {
    pub(super) fn read(path: PathBuf) -> Self {
        let text = fs::read(&path).unwrap_or_default();
        let content = serde_json::from_slice(&text).unwrap_or_default();
        Self { path, content }
    }

    pub(super) fn has_resources(&self) -> bool {
        let resources = self.content["resources"].as_array();
        resources.is_some_and(|resources| !resources.is_empty())
    }

    /// The text that was applied last, unless that is destroyed.
    pub(super) fn applied(&self) -> Option<String> {
        let recorded = cts_tests::recorded_services(self.content.to_string().as_bytes());
        recorded.ok()?.as_str().map(str::to_owned)
    }

    /// Replaces the resources of the state. Its lineage stays, and its serial increases.
    pub(super) fn write(&self, call: &Call, resources: &Value) -> Result<(), String> {
        let process = call.process;
        let lineage = match &self.content["lineage"] {
            Value::String(known) => known.clone(),
            _ => format!(
                "{:08x}-0000-4000-8000-{:012x}",
                process.pid, process.started
            ),
        };
        let state = json!({
            "version": 4,
            "terraform_version": VERSION,
            "serial": self.content["serial"].as_u64().unwrap_or_default() + 1,
            "lineage": lineage,
            "outputs": {},
            "resources": resources,
        });
        let new = self.path.with_extension("new");
        fs::write(&new, state.to_string())
            .and_then(|()| fs::rename(&new, &self.path))
            .map_err(|error| error.to_string())
    }
}

/// The resources that Terraform would have in its state after an apply of this text.
pub(super) fn resources_of(text: &str) -> Value {
    let resource = |name: &str, instances: Vec<Value>| json!({"mode": "managed", "name": name, "instances": instances});
    let rows = text.split(';').filter(|row| !row.is_empty());
    let rows = rows.map(|row| json!({"index_key": row})).collect();
    let recorded = json!({"attributes": {"input": {"value": text}}});
    json!([
        resource("kept", vec![json!({})]),
        resource("recorded", vec![recorded]),
        resource("row", rows),
    ])
}

/// The resources of a state after a failed apply: `recorded` is missing, because its replacement could not be
/// made, and the rows may stay.
pub(super) fn resources_before(state: &State) -> Value {
    let mut resources = state.content["resources"].clone();
    match resources.as_array_mut() {
        Some(known) if !known.is_empty() => known.retain(|one| one["name"] != "recorded"),
        _ => resources = json!([{"mode": "managed", "name": "kept", "instances": [{}]}]),
    }
    resources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::resources;

    #[test]
    fn the_state_has_what_the_module_makes() {
        for text in ["", "a/7//;svc-1"] {
            let state = json!({"resources": resources_of(text)}).to_string();
            let found = resources::in_state(state.as_bytes()).unwrap();
            assert_eq!(found, resources::made_for(text));
            let state = State {
                path: PathBuf::new(),
                content: serde_json::from_str(&state).unwrap(),
            };
            assert!(state.has_resources());
            assert_eq!(state.applied().as_deref(), Some(text));
        }
    }
}
