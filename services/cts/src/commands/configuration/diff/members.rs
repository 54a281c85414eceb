//! The members in which two declarations of a task differ.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cts_core::TaskSpec;
use serde_json::{Map, Value};

/// The files of a local module.
const CONTENT: &str = "module content";

/// Members that each machine determines, the name of the task, and the rule of the API, which no file has.
const NOT_COMPARED: [&str; 4] = ["name", "module_source", "bundle", "api_approval"];

/// A member that differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Name of the member as in a configuration, with the names of the blocks around it.
    pub(super) name: String,
    /// Null if the stored task lacks it.
    pub(super) stored: Value,
    pub(super) configured: Value,
}

impl Member {
    /// Whether the member is the content of a local module, which is not declared.
    pub(super) fn is_content(&self) -> bool {
        self.name == CONTENT
    }
}

/// The members that differ, by name. The content of a module that is unknown on one side does not count as a
/// difference.
pub(super) fn differences(
    stored: &TaskSpec,
    configured: &TaskSpec,
) -> Result<Vec<Member>, serde_json::Error> {
    let (mut stored, mut configured) = (members(stored)?, members(configured)?);
    if !(stored.contains_key(CONTENT) && configured.contains_key(CONTENT)) {
        stored.remove(CONTENT);
        configured.remove(CONTENT);
    }
    let names: BTreeSet<String> = stored.keys().chain(configured.keys()).cloned().collect();
    let differences = names.into_iter().filter_map(|name| {
        let stored = stored.remove(&name).unwrap_or_default();
        let configured = configured.remove(&name).unwrap_or_default();
        (stored != configured).then_some(Member {
            name,
            stored,
            configured,
        })
    });
    Ok(differences.collect())
}

/// All members with a value, under their names in a configuration.
fn members(task: &TaskSpec) -> Result<BTreeMap<String, Value>, serde_json::Error> {
    let mut found = BTreeMap::new();
    let Value::Object(mut task) = serde_json::to_value(task)? else {
        return Ok(found);
    };
    task.remove("requirement");
    if let Some(Value::Object(timeouts)) = task.remove("timeouts") {
        for (step, limit) in timeouts {
            flatten(&mut found, format!("{step}_timeout"), limit);
        }
    }
    let parts = ["definition", "guard"].map(|part| task.remove(part));
    let parts = parts.into_iter().flatten();
    let parts = parts.filter_map(|part| match part {
        Value::Object(members) => Some(members),
        _ => None,
    });
    for (name, value) in task.into_iter().chain(parts.flatten()) {
        if NOT_COMPARED.contains(&name.as_str()) {
            continue;
        }
        let (name, value) = match name.as_str() {
            "module_digest" => (CONTENT.to_owned(), value),
            "module_inputs" => ("module_input".to_owned(), joined(value)),
            "workspace" => ("terraform_cloud_workspace".to_owned(), value),
            "buffer_setting" => ("buffer_period as written".to_owned(), value),
            _ => (name, value),
        };
        flatten(&mut found, name, value);
    }
    Ok(found)
}

/// Inputs of several kinds as the members of one object.
fn joined(list: Value) -> Value {
    let Value::Array(list) = list else {
        return list;
    };
    let objects = list.into_iter().filter_map(|input| match input {
        Value::Object(input) => Some(input),
        _ => None,
    });
    Value::Object(objects.flatten().collect())
}

fn flatten(members: &mut BTreeMap<String, Value>, path: String, value: Value) {
    match value {
        Value::Null => {}
        Value::Object(object) => match duration(&object) {
            Some(text) => {
                members.insert(path, text.into());
            }
            None if object.is_empty() => {}
            None => {
                for (name, value) in object {
                    flatten(members, format!("{path}.{name}"), value);
                }
            }
        },
        value => {
            members.insert(path, value);
        }
    }
}

/// A stored time span, as people write it.
fn duration(object: &Map<String, Value>) -> Option<String> {
    let seconds = object.get("secs")?.as_u64()?;
    let nanoseconds = object.get("nanos")?.as_u64()?;
    if object.len() != 2 {
        return None;
    }
    let span = Duration::new(seconds, u32::try_from(nanoseconds).ok()?);
    Some(format!("{span:?}"))
}
