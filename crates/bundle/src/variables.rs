//! Which variables a module declares.

use std::collections::BTreeSet;
use std::path::Path;

use cts_core::blocks::each;
use hcl::Body;
use serde_json::Value;

use crate::module_files::{ModuleFile, module_files};

/// The variables that the files of a module directory declare. `None` if they are not certain, because a file
/// cannot be read or parsed: Terraform reports what is wrong with it.
pub fn declared_variables(directory: &Path) -> Option<BTreeSet<String>> {
    let mut variables = BTreeSet::new();
    for file in module_files(directory, |_text| true) {
        match file? {
            ModuleFile::Hcl(body) => of_hcl(&body, &mut variables)?,
            ModuleFile::Json(document) => of_json(&document, &mut variables)?,
        }
    }
    Some(variables)
}

fn of_hcl(body: &Body, variables: &mut BTreeSet<String>) -> Option<()> {
    let blocks = body
        .blocks()
        .filter(|block| block.identifier() == "variable");
    for block in blocks {
        let [name] = block.labels() else { return None };
        variables.insert(name.as_str().to_owned());
    }
    Some(())
}

fn of_json(document: &Value, variables: &mut BTreeSet<String>) -> Option<()> {
    for root in each(document) {
        for declared in root.get("variable").into_iter().flat_map(each) {
            variables.extend(declared.as_object()?.keys().cloned());
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn declared(files: &[(&str, &str)]) -> Option<Vec<String>> {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let variables = declared_variables(directory.path())?;
        Some(variables.into_iter().collect())
    }

    #[test]
    fn every_form_of_a_declaration_counts() {
        let found = declared(&[
            (
                "main.tf",
                "variable \"a\" {}\nvariable b { type = any }\nlocals { variable = 1 }\n",
            ),
            (
                "more.tofu",
                "variable \"c\" {\n  default = { x = [1] }\n}\n",
            ),
            (
                "json.tf.json",
                r#"{"variable": {"d": {}, "e": [{"type": "string"}]}}"#,
            ),
            ("list.tf.json", r#"[{"variable": [{"f": {}}, {"g": {}}]}]"#),
            (".hidden.tf", "variable \"h\" {}"),
            ("notes.txt", "variable \"i\" {}"),
        ]);
        assert_eq!(found.unwrap(), ["a", "b", "c", "d", "e", "f", "g"]);
    }

    #[test]
    fn unreadable_modules_have_no_known_variables() {
        assert_eq!(declared(&[("main.tf", "variable {")]), None);
        assert_eq!(declared(&[("main.tf.json", "{")]), None);
        assert_eq!(
            declared(&[("main.tf", ""), ("x.tf", "variable \"a\" \"b\" {}")]),
            None
        );
        assert_eq!(declared_variables(Path::new("/does/not/exist")), None);
    }
}
