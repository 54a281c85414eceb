//! The parts of a state that cts reads.

use cts_core::state::{KnownState, TerraformState};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Map;

/// The version of the form of states that all supported engines write.
const VERSION: u64 = 4;

/// The serial of a state that Terraform has made because a workspace was named.
const FIRST_SERIAL: u64 = 1;

/// A state, with the parts of its content that cts needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundState {
    /// The identity of the state, with the number of managed resources if that can be read.
    pub state: TerraformState,
    /// Whether the state is empty and was never changed: many backends create such a state, with a new lineage, when a
    /// command only names the workspace.
    pub is_placeholder: bool,
}

impl FoundState {
    /// Whether Terraform created this state by itself, because a workspace was named or a push was cut off: the state
    /// is empty, and not the `known` state.
    pub fn is_made_here(&self, known: Option<&KnownState>) -> bool {
        self.is_placeholder && known.is_none_or(|known| known.lineage != self.state.lineage)
    }
}

#[derive(Deserialize)]
struct StateFile {
    version: Option<u64>,
    lineage: String,
    serial: u64,
    /// Absent if `OpenTofu` has encrypted the state.
    resources: Option<Vec<Resource>>,
    #[serde(default)]
    outputs: Map<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    mode: String,
    #[serde(default)]
    instances: Vec<IgnoredAny>,
}

/// Reads the text of a state; `None` if the text is empty. An error means that the text is not a state of a
/// known form.
pub fn parse(text: &[u8]) -> Result<Option<FoundState>, serde_json::Error> {
    use serde::de::Error as _;

    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    let file: StateFile = serde_json::from_slice(text)?;
    // An encrypted state does not have a version.
    if file.version.is_some_and(|version| version != VERSION) {
        return Err(serde_json::Error::custom("it has another version than 4"));
    }
    let state = TerraformState::new(file.lineage, file.serial);
    let mut state = state.map_err(serde_json::Error::custom)?;
    let is_empty = file.resources.as_ref().is_some_and(Vec::is_empty) && file.outputs.is_empty();
    state.resources = file.resources.map(|resources| {
        let managed = resources.iter();
        let managed = managed.filter(|one| one.mode != "data" && !one.instances.is_empty());
        managed.count() as u64
    });
    Ok(Some(FoundState {
        is_placeholder: is_empty && state.serial <= FIRST_SERIAL,
        state,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> FoundState {
        parse(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn lineage_serial_and_managed_resources_are_read() {
        let found = found(
            r#"{"version":4,"terraform_version":"1.9.8","serial":7,"lineage":"l","outputs":{},"resources":[
                {"mode":"managed","type":"a","name":"b","instances":[{"attributes":{"x":"secret"}}]},
                {"mode":"managed","type":"a","name":"gone","instances":[]},
                {"mode":"data","type":"a","name":"read","instances":[{}]}]}"#,
        );
        assert_eq!((&*found.state.lineage, found.state.serial), ("l", 7));
        assert_eq!(found.state.resources, Some(1));
        assert!(!found.is_placeholder);
    }

    #[test]
    fn only_an_unchanged_state_without_content_is_a_placeholder() {
        let state = |serial: u64, outputs: &str| {
            found(&format!(
                r#"{{"version":4,"serial":{serial},"lineage":"l","outputs":{outputs},"resources":[]}}"#
            ))
        };
        assert!(state(0, "{}").is_placeholder);
        assert!(state(1, "{}").is_placeholder);
        assert!(!state(2, "{}").is_placeholder);
        assert!(!state(1, r#"{"a":{"value":1,"type":"number"}}"#).is_placeholder);
    }

    #[test]
    fn an_encrypted_state_has_its_name_but_no_count() {
        let found = found(
            r#"{"serial":3,"lineage":"l","meta":{},"encrypted_data":"x","encryption_version":"v0"}"#,
        );
        assert_eq!(found.state.resources, None);
        assert!(!found.is_placeholder);
    }

    #[test]
    fn no_text_is_no_state_and_anything_else_is_an_error() {
        assert_eq!(parse(b"").unwrap(), None);
        assert_eq!(parse(b"\n").unwrap(), None);
        for text in [
            "{}",
            "null",
            "<html>",
            r#"{"version":3,"serial":1,"lineage":"l","modules":[]}"#,
            r#"{"version":4,"serial":1,"lineage":"","resources":[]}"#,
            r#"{"version":4,"serial":1,"lineage":"l""#,
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
