//! References in comments and documents exist: documents, their sections, files of the repository, promises. A
//! section is named by its anchor: `docs/rest.md#routes`, further ones follow as `#health`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

const KINDS: [&str; 8] = ["hcl", "md", "proto", "rs", "service", "sh", "sql", "toml"];

/// Directories that are not part of this commit.
const PASSED_OVER: [&str; 3] = [".git", "target", "node_modules"];

/// A document, with the sections that are named; they may stand on the next line of a comment. A name that
/// begins with a slash is part of a URL.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"([A-Za-z0-9_./-]*[A-Za-z0-9_-]+\.md)\b";
    let sections = r"((?:#[\w-]+)?(?:,\s*(?://[/!]?\s*)?#[\w-]+)*)";
    Regex::new(&format!("{name}{sections}")).unwrap()
});

static SECTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"#([\w-]+)").unwrap());

/// A link to a section of the same document.
static OWN_SECTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(#([\w-]+)\)").unwrap());

/// A file of the repository, by its path from the root. Files that the demo makes below `sync-tasks` do not
/// count.
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    let folders = "crates|deploy|docs|examples|proto|scripts|services|tests";
    Regex::new(&format!(r"(?:^|[^\w./-])((?:{folders})/[\w./-]*\w)")).unwrap()
});

static PROMISE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[( ]P([0-9]{1,2})\)").unwrap());

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Every text file of the repository, by its path from the root.
fn texts() -> BTreeMap<PathBuf, String> {
    fn gather(root: &Path, directory: &Path, texts: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if !PASSED_OVER.contains(&name) {
                    gather(root, &path, texts);
                }
            } else if KINDS.contains(
                &path
                    .extension()
                    .and_then(|kind| kind.to_str())
                    .unwrap_or_default(),
            ) {
                let text = fs::read_to_string(&path).unwrap();
                texts.insert(path.strip_prefix(root).unwrap().to_owned(), text);
            }
        }
    }
    let mut texts = BTreeMap::new();
    gather(&root(), &root(), &mut texts);
    texts
}

/// The anchors of a document's headings, as forges make them.
fn sections(document: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let headings = document.lines().filter(|line| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced && line.starts_with('#')
    });
    let anchor = |heading: &str| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "md")
}

/// The text for people: a document, or the comments of a file.
fn prose(path: &Path, text: &str) -> String {
    let is_comment = |line: &&str| {
        ["//", "--", "#"]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    if is_document(path) {
        text.to_owned()
    } else {
        text.lines()
            .filter(is_comment)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The document called `name` in the file `from`: in the same directory, or from the root.
fn document(texts: &BTreeMap<PathBuf, String>, from: &Path, name: &str) -> Option<PathBuf> {
    let beside = from.parent().unwrap().join(name);
    let resolved = root().join(beside).canonicalize().ok();
    let beside = resolved.and_then(|path| Some(path.strip_prefix(root()).ok()?.to_owned()));
    let mut candidates = [beside, Some(PathBuf::from(name))].into_iter().flatten();
    candidates.find(|path| texts.contains_key(path))
}

#[test]
fn every_reference_to_a_document_leads_to_its_section() {
    let texts = texts();
    let mut wrong = Vec::new();
    for (path, text) in &texts {
        for reference in REFERENCE.captures_iter(&prose(path, text)) {
            let (name, named) = (&reference[1], &reference[2]);
            if name.starts_with('/') {
                continue;
            }
            let Some(document) = document(&texts, path, name) else {
                wrong.push(format!("{}: no document {name}", path.display()));
                continue;
            };
            let sections = sections(&texts[&document]);
            for section in SECTION
                .captures_iter(named)
                .filter(|found| !sections.contains(&found[1]))
            {
                wrong.push(format!(
                    "{}: no section {} in {name}",
                    path.display(),
                    &section[0]
                ));
            }
        }
        if is_document(path) {
            let sections = sections(text);
            for section in OWN_SECTION
                .captures_iter(text)
                .filter(|found| !sections.contains(&found[1]))
            {
                wrong.push(format!("{}: no section #{}", path.display(), &section[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_file_that_a_document_names_is_there() {
    let mut wrong = Vec::new();
    for (path, text) in texts() {
        if is_document(&path) {
            let named = FILE.captures_iter(&text).map(|found| found[1].to_owned());
            let missing =
                named.filter(|file| !file.contains("/sync-tasks/") && !root().join(file).exists());
            wrong.extend(missing.map(|file| format!("{}: {file}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_promise_that_is_cited_is_made() {
    let texts = texts();
    let architecture = &texts[Path::new("ARCHITECTURE.md")];
    for (path, text) in &texts {
        for promise in PROMISE.captures_iter(text) {
            let made = format!("| P{} | ", &promise[1]);
            assert!(
                architecture.contains(&made),
                "{}: P{}",
                path.display(),
                &promise[1]
            );
        }
    }
}

/// A variable of the environment that the program reads.
static VARIABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:CTS|CONSUL|VAULT)_[A-Z][A-Z_]*[A-Z]\b").unwrap());

/// Between the processes of one worker.
const INTERNAL: [&str; 1] = ["CTS_GUARD"];

/// Variables that a document names because another program reads them.
const FOREIGN: [&str; 5] = [
    "CONSUL_LICENSE",
    "VAULT_AGENT_ADDR",
    "VAULT_CLIENT_TIMEOUT",
    "VAULT_MAX_RETRIES",
    "VAULT_RATE_LIMIT",
];

/// Whether a file is a part of the program, and not of a test.
fn is_source(path: &Path) -> bool {
    let is_rust = path.extension().is_some_and(|kind| kind == "rs");
    let path = path.to_str().unwrap();
    let tests = [
        "tests/",
        "/tests.rs",
        "crates/testkit/",
        "store-conformance/",
    ];
    is_rust && path.contains("/src/") && !tests.iter().any(|part| path.contains(part))
}

#[test]
fn every_variable_of_the_environment_is_documented_and_read() {
    let texts = texts();
    let variables = |text: &str| -> Vec<String> {
        let found = VARIABLE.find_iter(text);
        found.map(|found| found.as_str().to_owned()).collect()
    };
    // A constant may be called like a variable.
    let quoted = |text: &str| {
        let mut names = variables(text);
        names.retain(|name| text.contains(&format!("\"{name}\"")));
        names
    };
    let read: BTreeSet<String> = texts
        .iter()
        .filter(|(path, _)| is_source(path))
        .flat_map(|(_, text)| quoted(text.split("#[cfg(test)]").next().unwrap()))
        .collect();
    let documents = texts.iter().filter(|(path, _)| path.starts_with("docs"));
    let named: BTreeSet<String> = documents.flat_map(|(_, text)| variables(text)).collect();
    let undocumented: Vec<&String> = read
        .difference(&named)
        .filter(|name| !INTERNAL.contains(&name.as_str()))
        .collect();
    assert!(undocumented.is_empty(), "not documented: {undocumented:?}");
    let scripts = fs::read_dir(root().join("scripts")).unwrap();
    let scripts = scripts.map(|entry| entry.unwrap().path());
    let scripts = scripts.filter(|path| path.is_file());
    let scripts = scripts.map(|path| fs::read(path).unwrap());
    let scripts: BTreeSet<String> = scripts
        .flat_map(|script| variables(&String::from_utf8_lossy(&script)))
        .collect();
    let unknown: Vec<&String> = named
        .difference(&read)
        .filter(|name| !scripts.contains(*name) && !FOREIGN.contains(&name.as_str()))
        .collect();
    assert!(unknown.is_empty(), "named and not read: {unknown:?}");
}
