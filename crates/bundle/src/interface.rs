//! The declarations of a module that its root module follows (docs/terraform.md#variablestf).

use std::path::Path;

use cts_core::blocks::each;
use cts_core::{ModuleInterface, ProviderId};
use hcl::expr::TraversalOperator;
use hcl::{Body, Expression, ObjectKey};
use serde_json::Value;

use crate::module_files::{ModuleFile, expression, module_files};

/// The attribute of a service that only modules get that declare it.
const PORTS: &str = "ports";

/// The member of a required provider that lists aliases.
const ALIASES: &str = "configuration_aliases";

/// Reads the declarations of a module from its files. `source` is the module's as Terraform gets it: without files on
/// this machine it declares none of them.
pub fn module_interface(source: &str) -> ModuleInterface {
    let mut reader = Reader::default();
    let directory = Path::new(source);
    if directory.is_absolute() {
        // Most modules are not parsed. A file that cannot be read declares nothing: the engine reports it.
        let files = module_files(directory, |text| {
            text.contains(PORTS) || text.contains(ALIASES)
        });
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
            let required = block.body().blocks();
            let required = required.filter(|inner| {
                block.identifier() == "terraform" && inner.identifier() == "required_providers"
            });
            for provider in required.flat_map(|required| required.body().attributes()) {
                self.0.provider_aliases.extend(aliases(provider.expr()));
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
            let settings = root.get("terraform").into_iter().flat_map(each);
            let required = settings.filter_map(|settings| settings.get("required_providers"));
            let providers = required.flat_map(each).filter_map(Value::as_object);
            for provider in providers.flat_map(|providers| providers.values()) {
                let listed = provider.get(ALIASES).and_then(Value::as_array);
                let listed = listed.into_iter().flatten().filter_map(Value::as_str);
                self.0.provider_aliases.extend(listed.map(ProviderId::from));
            }
        }
    }
}

/// The aliases that a required provider lists.
fn aliases(provider: &Expression) -> impl Iterator<Item = ProviderId> {
    let members = match provider {
        Expression::Object(members) => Some(members),
        _ => None,
    };
    let listed = members.into_iter().flatten().filter_map(|(key, value)| {
        let is_list = is_named(key, ALIASES);
        match value {
            Expression::Array(listed) if is_list => Some(listed),
            _ => None,
        }
    });
    listed.flatten().filter_map(alias)
}

/// A reference like `null.north`.
fn alias(reference: &Expression) -> Option<ProviderId> {
    let Expression::Traversal(traversal) = reference else {
        return None;
    };
    let name = match &traversal.expr {
        Expression::Variable(name) => name.as_str(),
        // The parser knows no names in this place.
        Expression::Null => "null",
        _ => return None,
    };
    let [TraversalOperator::GetAttr(alias)] = traversal.operators.as_slice() else {
        return None;
    };
    Some(ProviderId {
        name: name.to_owned(),
        alias: Some(alias.as_str().to_owned()),
    })
}

fn is_named(key: &ObjectKey, name: &str) -> bool {
    match key {
        ObjectKey::Identifier(known) => known.as_str() == name,
        ObjectKey::Expression(Expression::String(known)) => known == name,
        _ => false,
    }
}

/// Whether the elements of a collection have `ports`.
fn has_ports(kind: &Expression) -> bool {
    let Expression::FuncCall(call) = kind else {
        return false;
    };
    match call.args.first() {
        Some(Expression::Object(members)) => members.keys().any(|key| is_named(key, PORTS)),
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
    fn aliases_of_required_providers_are_found_in_every_syntax() {
        let aliases = |files: &[(&str, &str)]| -> Vec<String> {
            let declared = interface(files).provider_aliases;
            declared.iter().map(ToString::to_string).collect()
        };
        let hcl = r#"
            terraform {
              required_providers {
                plain = "1.0"
                dns   = { source = "hashicorp/dns" }
                null = {
                  source                = "hashicorp/null"
                  configuration_aliases = [null.north, null.south]
                }
              }
            }
            locals { configuration_aliases = [null.west] }
        "#;
        assert_eq!(aliases(&[("main.tf", hcl)]), ["null.north", "null.south"]);
        let json = r#"{"terraform": [{"required_providers": {"null": {
            "source": "hashicorp/null", "configuration_aliases": ["null.east"]}}}]}"#;
        let both = aliases(&[("main.tf", hcl), ("x.tf.json", json)]);
        assert_eq!(both, ["null.east", "null.north", "null.south"]);
    }

    #[test]
    fn files_elsewhere_declare_nothing() {
        assert_eq!(interface(&[]), ModuleInterface::default());
        for source in ["acme/pool/cts", "./modules/web", "/nowhere/at/all"] {
            assert_eq!(module_interface(source), ModuleInterface::default());
        }
    }
}
