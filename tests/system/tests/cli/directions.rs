//! Modules of a crate import in one direction (CONTRIBUTING.md#rules).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// Pairs that still import each other: the crate and its two modules. No pair may be added.
const KNOWN: [(&str, &str, &str); 2] = [
    ("crates/consul", "query_pool", "query_slot"),
    ("services/worker", "attempt", "remote"),
];

/// One module, or several in braces.
static IMPORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bcrate::(?:\{([^;]*?)\};|([a-z]\w*))").unwrap());

static INNER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{[^{}]*\}").unwrap());

static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|,)\s*([a-z]\w*)").unwrap());

/// The modules at the top of the crate that each of them imports.
fn imports(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    fn gather(module: &str, path: &Path, imports: &mut BTreeMap<String, BTreeSet<String>>) {
        if path.file_stem().unwrap() == "tests" {
            return;
        }
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                gather(module, &entry.unwrap().path(), imports);
            }
            return;
        }
        let text = fs::read_to_string(path).unwrap();
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let text = lines.collect::<Vec<_>>().join("\n");
        let known = imports.entry(module.to_owned()).or_default();
        for import in IMPORT.captures_iter(&text) {
            known.extend(import.get(2).map(|name| name.as_str().to_owned()));
            let mut list = import
                .get(1)
                .map_or(String::new(), |list| list.as_str().to_owned());
            while INNER.is_match(&list) {
                list = INNER.replace_all(&list, "").into_owned();
            }
            known.extend(NAME.captures_iter(&list).map(|name| name[1].to_owned()));
        }
    }
    let mut imports = BTreeMap::new();
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap();
        if !["lib", "main", "gen"].contains(&module) {
            gather(module, &path, &mut imports);
        }
    }
    imports
}

#[test]
fn modules_of_a_crate_do_not_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    for folder in ["crates", "services"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if !path.join("src").is_dir() {
                continue;
            }
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            let imports = imports(&path.join("src"));
            for (one, imported) in &imports {
                for other in imported.range(one.clone()..).filter(|other| *other != one) {
                    if imports.get(other).is_some_and(|back| back.contains(one)) {
                        found.insert((name.clone(), one.clone(), other.clone()));
                    }
                }
            }
        }
    }
    let known = KNOWN.map(|(name, one, other)| (name.into(), one.into(), other.into()));
    assert_eq!(found, BTreeSet::from(known));
}
