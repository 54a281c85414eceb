//! The values that arrived in a module, read from Terraform's state.

use serde_json::Value;

/// The `services` that a module recorded (see [`crate::RECORDER`]), by their keys.
pub fn recorded_services(state: &[u8]) -> Result<Value, String> {
    recorded(state, "recorded")
}

/// The keys that a module recorded (see [`crate::KEY_RECORDER`]).
pub fn recorded_keys(state: &[u8]) -> Result<Value, String> {
    recorded(state, "keys")
}

fn recorded(state: &[u8], name: &str) -> Result<Value, String> {
    let state: Value = serde_json::from_slice(state).map_err(|error| error.to_string())?;
    let resources = state["resources"].as_array();
    resources
        .into_iter()
        .flatten()
        .find(|resource| resource["name"] == name)
        .map(|resource| resource["instances"][0]["attributes"]["input"]["value"].clone())
        .ok_or_else(|| format!("nothing recorded yet as {name}: {state}"))
}

/// The ids of recorded services, sorted.
pub fn ids_of(services: &Value) -> Vec<String> {
    let services = services.as_object().into_iter().flatten();
    let mut ids: Vec<String> = services
        .filter_map(|(_, service)| service["id"].as_str().map(str::to_owned))
        .collect();
    ids.sort();
    ids
}
