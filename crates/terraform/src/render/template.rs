//! `terraform.tfvars.tmpl` (docs/terraform.md#the-task-directory).
//!
//! The file is never executed here: in a task directory it shows users, in a familiar form, the origin of the values in
//! `terraform.tfvars`.

use std::fmt::Write as _;

use cts_core::{TaskDefinition, View};

use super::header::Title;
use super::inputs::{InputKind, inputs};

pub(super) fn render(title: &Title<'_>, definition: &TaskDefinition) -> String {
    // A description stays text even if it looks like an action.
    let mut text = title.header().replace("{{", "{{\"{{\"}}");
    let mut has_services = false;
    for input in inputs(definition) {
        let variable = match input.kind {
            InputKind::Services(_) => {
                has_services = true;
                "services"
            }
            InputKind::CatalogServices => "catalog_services",
            InputKind::ConsulKv => "consul_kv",
        };
        text.push('\n');
        // The module always has `services`.
        let is_assigned = input.is_rendered || variable == "services";
        if is_assigned {
            text.push_str(variable);
            text.push_str(" = {\n");
        }
        for view in &input.views {
            write_loop(&mut text, view, input.is_rendered);
        }
        if is_assigned {
            text.push_str("}\n");
        }
    }
    if !has_services {
        text.push_str("\nservices = {\n}\n");
    }
    text
}

fn write_loop(out: &mut String, view: &View, is_rendered: bool) {
    let (arguments, body) = match view {
        View::Service(view) => {
            let mut arguments = vec![view.name.clone()];
            arguments.extend(place(&view.datacenter, &view.namespace));
            arguments.push(view.filter.clone());
            (("service", arguments), "{{ instance . }}")
        }
        View::Services(view) => {
            let mut arguments = vec![format!("regexp={}", view.regexp)];
            arguments.extend(place(&view.datacenter, &view.namespace));
            arguments.push(view.filter.clone());
            (("servicesRegex", arguments), "{{ instance . }}")
        }
        View::CatalogServices(view) => {
            let mut arguments = vec![format!("regexp={}", view.regexp)];
            arguments.extend(place(&view.datacenter, &view.namespace));
            let pairs = view.node_meta.iter();
            arguments.extend(pairs.map(|(key, value)| format!("node-meta={key}:{value}")));
            (
                ("catalogServicesRegistration", arguments),
                "{{ name . }} = {{ tags . }}",
            )
        }
        View::ConsulKv(query) => {
            let function = if query.recurse {
                "keys"
            } else {
                "keyExistsGet"
            };
            let mut arguments = vec![query.path.clone()];
            arguments.extend(place(&query.datacenter, &query.namespace));
            ((function, arguments), "{{ key . }} = {{ value . }}")
        }
    };
    let (function, arguments) = arguments;
    out.push_str("{{- range ");
    out.push_str(function);
    for text in arguments.iter().filter(|text| !text.is_empty()) {
        out.push(' ');
        out.push_str(&argument(text));
    }
    out.push_str(" }}");
    if is_rendered {
        out.push('\n');
        out.push_str(body);
    }
    out.push_str("\n{{- end }}\n");
}

fn place(datacenter: &str, namespace: &str) -> impl Iterator<Item = String> {
    let options = [("dc", datacenter), ("ns", namespace)];
    let given = options.into_iter().filter(|(_, text)| !text.is_empty());
    let given: Vec<String> = given.map(|(key, text)| format!("{key}={text}")).collect();
    given.into_iter()
}

/// `text` as a quoted string of the template language.
fn argument(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(c);
            }
            c if c.is_control() => {
                write!(literal, "\\u{:04x}", u32::from(c)).expect("a String takes every write");
            }
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}
