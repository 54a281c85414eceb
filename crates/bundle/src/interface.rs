//! The declarations of a module that its root module follows (docs/terraform.md#variablestf).

use std::path::Path;

use cts_core::ModuleInterface;
use cts_core::blocks::each;
use hcl::{Body, Expression, ObjectKey};
use serde_json::Value;

use crate::module_files::{ModuleFile, expression, module_files};

/// The attribute of a service that only modules get that declare it.
const PORTS: &str = "ports";

/// Reads the declarations of a module from its files. `source` is the module's as Terraform gets it: without files on
/// this machine it declares none of them.
pub fn module_interface(source: &str) -> ModuleInterface {
    let mut reader = Reader::default();
    let directory = Path::new(source);
    if directory.is_absolute() {
        // Most modules are not parsed. A file that cannot be read declares nothing: the engine reports it.
        let files = module_files(directory, |text| text.contains(PORTS));
        for file in files.flatten() {
            match file {
                ModuleFile::Hcl(body) => reader.read_hcl(&body),
                ModuleFile::Json(document) => reader.read_json(&document),
            }
        }
    }
    reader.0
}

#[derive(Default)]
struct Reader(ModuleInterface);

impl Reader {
    fn read_hcl(&mut self, body: &Body) {
        for block in body.blocks() {
            let mut labels = block.labels().iter().map(hcl::BlockLabel::as_str);
            if block.identifier() == "variable" && labels.next() == Some("services") {
                let mut attributes = block.body().attributes();
                let kind = attributes.find(|attribute| attribute.key() == "type");
                self.0.takes_ports |= kind.is_some_and(|kind| has_ports(kind.expr()));
            }
        }
    }

    fn read_json(&mut self, document: &Value) {
        for root in each(document) {
            let variables = root.get("variable").into_iter().flat_map(each);
            let services = variables.filter_map(|variables| variables.get("services"));
            for body in services.flat_map(each) {
                let kind = body.get("type").and_then(Value::as_str);
                let kind = kind.and_then(expression);
                self.0.takes_ports |= kind.is_some_and(|kind| has_ports(&kind));
            }
        }
    }
}

/// Whether the elements of a collection have `ports`.
fn has_ports(kind: &Expression) -> bool {
    let Expression::FuncCall(call) = kind else {
        return false;
    };
    match call.args.first() {
        Some(Expression::Object(members)) => members.keys().any(|key| match key {
            ObjectKey::Identifier(name) => name.as_str() == PORTS,
            ObjectKey::Expression(Expression::String(name)) => name == PORTS,
            _ => false,
        }),
        Some(element) => has_ports(element),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn interface(files: &[(&str, &str)]) -> ModuleInterface {
        let directory = TempDir::new().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        module_interface(directory.path().to_str().unwrap())
    }

    #[test]
    fn only_the_type_of_services_decides_about_ports() {
        let typed = |kind: &str| format!("variable \"services\" {{\n  type = {kind}\n}}\n");
        for (kind, takes) in [
            ("map(object({ id = string, ports = list(any) }))", true),
            ("map(object({ \"ports\" = optional(list(any), []) }))", true),
            ("map(object({ id = string }))", false),
            (
                "map(object({ id = string, meta = object({ ports = any }) }))",
                false,
            ),
            ("map(any) # ports", false),
            ("any # ports", false),
        ] {
            assert_eq!(
                interface(&[("a.tf", &typed(kind))]).takes_ports,
                takes,
                "{kind}"
            );
        }
        let other = "variable \"ports\" { type = map(object({ ports = any })) }";
        assert!(!interface(&[("a.tf", other)]).takes_ports);
        let json = r#"{"variable": {"services": {"type": "map(object({ports = any}))"}}}"#;
        assert!(interface(&[("a.tf", other), ("b.tf.json", json)]).takes_ports);
        assert!(
            interface(&[
                ("a.tofu", &typed("map(object({ ports = any }))")),
                ("bad.tf", "ports {")
            ])
            .takes_ports
        );
    }

    #[test]
    fn files_elsewhere_declare_nothing() {
        assert_eq!(interface(&[]), ModuleInterface::default());
        for source in ["acme/pool/cts", "./modules/web", "/nowhere/at/all"] {
            assert_eq!(module_interface(source), ModuleInterface::default());
        }
    }
}
