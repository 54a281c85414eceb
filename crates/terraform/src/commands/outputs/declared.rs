//! The outputs that the files of a module declare.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use cts_core::blocks::{depth, each};
use hcl::{Body, Expression};
use serde_json::Value;

/// Longer files are not read, in bytes.
const LONGEST_FILE: u64 = 4 * 1024 * 1024;

/// Deeper nested text is not given to the HCL parser, which recurses.
const DEEPEST: usize = 100;

/// Ends of the names of files that an engine reads.
const HCL: [&str; 2] = [".tf", ".tofu"];
const JSON: [&str; 2] = [".tf.json", ".tofu.json"];

/// The outputs of a module.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// By name, whether the output is sensitive.
    outputs: BTreeMap<String, bool>,
    /// Whether every file could be read.
    is_whole: bool,
}

impl Declared {
    /// The outputs that the files of a directory declare.
    pub(super) fn in_directory(directory: &Path) -> Self {
        let mut declared = Self::default();
        declared.is_whole = declared.read_directory(directory).is_some();
        declared
    }

    /// Returns whether an output is sensitive; `None` if the module does not declare the output. An output that may be
    /// in an unreadable file counts as sensitive.
    pub(super) fn is_sensitive(&self, name: &str) -> Option<bool> {
        let known = self.outputs.get(name).copied();
        known.or_else(|| (!self.is_whole).then_some(true))
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.outputs.keys().cloned().collect()
    }

    /// Reads all files. Returns `None` if a file cannot be read; the other files are read nevertheless.
    fn read_directory(&mut self, directory: &Path) -> Option<()> {
        let mut whole = Some(());
        for entry in fs::read_dir(directory).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let ends = |ends: [&str; 2]| ends.iter().any(|end| name.ends_with(end));
            // An engine does not read hidden files either.
            if name.starts_with('.') || !(ends(HCL) || ends(JSON)) {
                continue;
            }
            let text = read_text(&entry.path());
            let read = text.and_then(|text| {
                if ends(JSON) {
                    self.read_json(&text)
                } else {
                    self.read_hcl(&text)
                }
            });
            whole = whole.and(read);
        }
        whole
    }

    fn read_hcl(&mut self, text: &str) -> Option<()> {
        if depth(text) > DEEPEST {
            return None;
        }
        let body: Body = hcl::parse(text).ok()?;
        for block in body.blocks() {
            if block.identifier() != "output" {
                continue;
            }
            let name = block.labels().first()?.as_str();
            let mut attributes = block.body().attributes();
            let sensitive = attributes.find(|attribute| attribute.key() == "sensitive");
            let sensitive =
                sensitive.is_some_and(|attribute| *attribute.expr() != Expression::Bool(false));
            self.add(name, sensitive);
        }
        Some(())
    }

    fn read_json(&mut self, text: &str) -> Option<()> {
        let document: Value = serde_json::from_str(text).ok()?;
        for root in each(&document) {
            let outputs = root.get("output").into_iter().flat_map(each);
            for (name, bodies) in outputs.filter_map(Value::as_object).flatten() {
                for body in each(bodies) {
                    let sensitive = body.get("sensitive");
                    self.add(name, sensitive.is_some_and(|it| *it != Value::Bool(false)));
                }
            }
        }
        Some(())
    }

    /// Adds an output. If several blocks have the name of the output, as with override files, one sensitive block is
    /// enough.
    fn add(&mut self, name: &str, sensitive: bool) {
        *self.outputs.entry(name.to_owned()).or_default() |= sensitive;
    }
}

fn read_text(path: &Path) -> Option<String> {
    // Checked before opening: opening a pipe would wait for a writer.
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LONGEST_FILE {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?.take(LONGEST_FILE);
    { file }.read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn declared(files: &[(&str, &str)]) -> Declared {
        let directory = TempDir::new().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        Declared::in_directory(directory.path())
    }

    #[test]
    fn blocks_of_every_syntax_say_what_is_sensitive() {
        let hcl = "output \"a\" {\n  value = 1\n}\noutput \"b\" {\n  value = \"${x}\"\n  sensitive = true\n}\n\
                   output \"c\" {\n  value = 1\n  sensitive = false\n}\noutput \"d\" {\n  value = 1\n  sensitive = var.x\n}\n";
        let json = r#"{"output": {"e": {"value": 1}, "f": [{"value": 1, "sensitive": true}]}}"#;
        let over = "output \"a\" {\n  sensitive = true\n}\n";
        let found = declared(&[
            ("main.tf", hcl),
            ("x.tf.json", json),
            ("a_override.tf", over),
            ("note.txt", "output \"g\" {}"),
            (".hidden.tf", "output \"g\" {}"),
        ]);
        let sensitive = ["a", "b", "c", "d", "e", "f", "g"].map(|name| found.is_sensitive(name));
        let expected = [true, true, false, true, false, true].map(Some);
        assert_eq!(sensitive[..6], expected);
        assert_eq!(sensitive[6], None);
        assert_eq!(found.names(), ["a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn unreadable_modules_may_have_any_sensitive_output() {
        let good = ("main.tf", "output \"a\" {\n  value = 1\n}\n");
        let deep = format!("x = {}{}", "[".repeat(200), "]".repeat(200));
        for bad in ["output {", &deep] {
            let found = declared(&[good, ("bad.tf", bad)]);
            assert_eq!(found.is_sensitive("a"), Some(false));
            assert_eq!(found.is_sensitive("b"), Some(true), "{bad:.20}");
        }
        let found = declared(&[good, ("bad.tf.json", "{")]);
        assert_eq!(found.is_sensitive("b"), Some(true));
        let nowhere = Declared::in_directory(Path::new("/nowhere/at/all"));
        assert_eq!(nowhere.is_sensitive("a"), Some(true));
    }
}
