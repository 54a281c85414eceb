//! `terraform.tfvars.tmpl` (docs/terraform.md#the-task-directory).
//!
//! Nothing here executes it: it shows people in a task directory, in the form they know,
//! where the values of `terraform.tfvars` come from.

use std::fmt::Write as _;

use cts_core::Condition;

use super::header::Title;

pub(super) fn render(title: &Title<'_>, condition: &Condition) -> String {
    let use_as_module_input = condition
        .services()
        .is_some_and(|services| services.use_as_module_input);
    // A description is text also where it looks like an action.
    let mut text = title.header().replace("{{", "{{\"{{\"}}");
    text.push_str("\nservices = {\n");
    for view in condition.views() {
        text.push_str("{{- range service ");
        text.push_str(&argument(&view.name));
        for (option, setting) in [("dc", &view.datacenter), ("ns", &view.namespace)] {
            if !setting.is_empty() {
                text.push(' ');
                text.push_str(&argument(&format!("{option}={setting}")));
            }
        }
        if !view.filter.is_empty() {
            text.push(' ');
            text.push_str(&argument(&view.filter));
        }
        text.push_str(" }}");
        if use_as_module_input {
            text.push_str("\n{{ instance . }}");
        }
        text.push_str("\n{{- end }}\n");
    }
    text.push_str("}\n");
    text
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
