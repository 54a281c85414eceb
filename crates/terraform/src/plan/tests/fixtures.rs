//! The plans of engines.

use std::fs;
use std::path::{Path, PathBuf};

use prost::Message as _;

use super::*;

/// The files of plans, by folder and name.
fn files() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let mut files = Vec::new();
    for folder in fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
            let folder = folder.file_name().unwrap().to_str().unwrap();
            files.push((format!("{folder}-{}", name(&file)), file));
        }
    }
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    files
}

#[test]
fn plans_of_engines_are_read() {
    for (name, file) in files() {
        let plan = plan_of(&fs::read_to_string(file).unwrap());
        insta::assert_snapshot!(name, text_of(&plan));
    }
}

#[test]
fn planted_secrets_are_in_the_files_and_not_in_the_data() {
    let mut seen = 0;
    for (name, file) in files() {
        let text = fs::read_to_string(file).unwrap();
        let bytes = plan_of(&text).encode_to_vec();
        for secret in ["planted-sensitive", "planted-by-name", CONFIGURED] {
            seen += usize::from(text.contains(secret));
            let found = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{name}: {secret}");
        }
    }
    assert!(seen >= 9, "{seen}: the files have no secrets to hide");
}

#[test]
fn the_effect_of_a_real_plan_does_not_depend_on_how_its_text_is_written() {
    for (name, file) in files() {
        let text = fs::read_to_string(file).unwrap();
        let plan = plan_of(&text);
        assert_eq!(plan.effect.len(), 32, "{name}");
        // Members in another order, with spaces.
        let mut members: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
        members.insert("timestamp".into(), "2030-01-01T00:00:00Z".into());
        members.insert("resource_drift".into(), json!([{ "address": "x" }]));
        let other = plan_of(&serde_json::to_string_pretty(&members).unwrap());
        assert_eq!(other.effect, plan.effect, "{name}");
        assert_eq!(other.counts, plan.counts);
    }
}
