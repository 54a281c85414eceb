//! Resources of a Terraform state, and the ones that it should have.

use std::collections::BTreeSet;

use serde_json::Value;

/// The resources that the module of the suite makes for a text, each with its key.
pub fn made_for(text: &str) -> BTreeSet<String> {
    let rows = text.split(';').filter(|row| !row.is_empty());
    let rows = rows.map(|row| address("row", Some(row)));
    rows.chain([address("kept", None), address("recorded", None)])
        .collect()
}

/// The resources of a state. A resource that is to be replaced, or that still waits for its removal, differs
/// from a sound one.
pub fn in_state(state: &[u8]) -> Result<BTreeSet<String>, String> {
    let state: Value = serde_json::from_slice(state).map_err(|error| error.to_string())?;
    let resources = state["resources"].as_array();
    let resources = resources.ok_or_else(|| format!("this is no state: {state}"))?;
    let managed = resources.iter().filter(|one| one["mode"] == "managed");
    let instances = managed.flat_map(|one| {
        let name = one["name"].as_str().unwrap_or("without a name");
        let instances = one["instances"].as_array().into_iter().flatten();
        instances.map(move |instance| {
            let mut address = address(name, instance["index_key"].as_str());
            for member in ["status", "deposed"] {
                if let Some(what) = instance[member].as_str() {
                    address = format!("{address} ({member}: {what})");
                }
            }
            address
        })
    });
    Ok(instances.collect())
}

/// Difference between a state and the wanted one; `None` if they are equal.
pub fn difference(wanted: &BTreeSet<String>, state: &BTreeSet<String>) -> Option<String> {
    let missing: Vec<&String> = wanted.difference(state).collect();
    let surplus: Vec<&String> = state.difference(wanted).collect();
    let differs = !missing.is_empty() || !surplus.is_empty();
    differs.then(|| format!("its state has not {missing:?}, and has besides {surplus:?}"))
}

fn address(name: &str, key: Option<&str>) -> String {
    match key {
        Some(key) => format!("{name}[{key}]"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state(rows: &Value) -> BTreeSet<String> {
        let alone = |name: &str| json!({"mode": "managed", "name": name, "instances": [{}]});
        let state = json!({"resources": [
            alone("kept"), alone("recorded"),
            {"mode": "managed", "name": "row", "instances": rows},
            {"mode": "data", "name": "looked-up", "instances": [{}]},
        ]});
        in_state(state.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_state_with_what_its_text_makes_does_not_differ() {
        let rows = json!([{"index_key": "a/7//"}, {"index_key": "b/8//v1"}]);
        assert_eq!(difference(&made_for("a/7//;b/8//v1"), &state(&rows)), None);
        assert_eq!(difference(&made_for(""), &state(&json!([]))), None);
    }

    #[test]
    fn missing_surplus_or_unsound_resources_are_a_difference() {
        for rows in [
            json!([]),
            json!([{"index_key": "b"}]),
            json!([{"index_key": "a"}, {"index_key": "b"}]),
            json!([{"index_key": "a", "status": "tainted"}]),
            json!([{"index_key": "a"}, {"index_key": "a", "deposed": "0a1b"}]),
        ] {
            assert!(
                difference(&made_for("a"), &state(&rows)).is_some(),
                "{rows}"
            );
        }
        assert!(in_state(b"{}").is_err());
        assert!(in_state(b"").is_err());
    }
}
