//! `main.tf`: terraform, provider and module blocks (docs/terraform.md#maintf).

use cts_core::{Backend, TaskDefinition};
use serde_json::Value;

use super::expression::{indent, is_identifier, quoted, value, write_assignments};
use super::header::{Title, write_comment};
use super::inputs::inputs;
use super::{RenderError, RenderSettings, TaskProvider, require_identifier, sorted};

/// Provider arguments that are part of the provider's variable but not of its block.
const NOT_IN_BLOCK: [&str; 2] = ["alias", "auto_commit"];

pub(super) fn render(
    title: &Title<'_>,
    definition: &TaskDefinition,
    settings: &RenderSettings,
    providers: &[TaskProvider<'_>],
) -> Result<String, RenderError> {
    let mut text = title.header();
    text.push('\n');
    write_terraform_block(&mut text, settings, providers)?;
    text.push('\n');
    for (index, provider) in providers.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        write_provider_block(&mut text, provider);
    }
    text.push('\n');
    write_module_block(&mut text, title, definition);
    Ok(text)
}

fn write_terraform_block(
    out: &mut String,
    settings: &RenderSettings,
    providers: &[TaskProvider<'_>],
) -> Result<(), RenderError> {
    out.push_str("terraform {\n");
    let required_version = quoted(&settings.required_version);
    write_assignments(out, &[("required_version", required_version)], 1);

    let required: Vec<_> = providers
        .iter()
        .filter_map(|provider| {
            let entry = settings.required_providers.get(provider.name)?;
            Some((provider.name, value(entry, 2)))
        })
        .collect();
    if !required.is_empty() {
        out.push_str("  required_providers {\n");
        write_assignments(out, &required, 2);
        out.push_str("  }\n");
    }

    let mut arguments = Vec::with_capacity(settings.backend.arguments.len());
    for (name, argument) in sorted(&settings.backend.arguments) {
        require_identifier("backend argument", name)?;
        if !Backend::is_credential(name, argument) {
            arguments.push((name, value(argument, 2)));
        }
    }
    out.push_str("  backend ");
    out.push_str(&quoted(&settings.backend.kind));
    out.push_str(" {\n");
    write_assignments(out, &arguments, 2);
    out.push_str("  }\n}\n");
    Ok(())
}

fn write_provider_block(out: &mut String, provider: &TaskProvider<'_>) {
    out.push_str("provider ");
    out.push_str(&quoted(provider.name));
    out.push_str(" {\n");

    let mut run = Vec::new();
    for (name, argument) in &provider.arguments {
        if NOT_IN_BLOCK.contains(name) {
            continue;
        }
        let path = format!("var.{}.{name}", provider.name);
        let Some(keys) = block_keys(argument) else {
            run.push((*name, path));
            continue;
        };
        write_assignments(out, &run, 1);
        run.clear();
        indent(out, 1);
        out.push_str(name);
        out.push_str(" {\n");
        let members: Vec<_> = keys
            .into_iter()
            .map(|key| (key, format!("{path}.{key}")))
            .collect();
        write_assignments(out, &members, 2);
        out.push_str("  }\n");
    }
    write_assignments(out, &run, 1);
    out.push_str("}\n");
}

/// Keys of an argument that is written as a nested block. A map with other keys than identifiers
/// cannot be one, so it stays an attribute.
fn block_keys(argument: &Value) -> Option<Vec<&str>> {
    let keys: Vec<_> = sorted(argument.as_object()?)
        .into_iter()
        .map(|(key, _value)| key)
        .collect();
    keys.iter().all(|key| is_identifier(key)).then_some(keys)
}

fn write_module_block(out: &mut String, title: &Title<'_>, definition: &TaskDefinition) {
    if !title.description.is_empty() {
        write_comment(out, "", title.description);
    }
    out.push_str("module ");
    out.push_str(&quoted(title.name));
    out.push_str(" {\n");

    let mut arguments = vec![("source", quoted(&definition.module_source))];
    if !definition.version.is_empty() {
        arguments.push(("version", quoted(&definition.version)));
    }
    // Every module takes `services`, also where there are none.
    arguments.push(("services", "var.services".to_owned()));
    let inputs = inputs(definition).into_iter();
    let rendered = inputs.filter(|input| input.is_rendered);
    let others = rendered.filter_map(|input| input.kind.variable());
    arguments.extend(others.map(|name| (name, format!("var.{name}"))));
    write_assignments(out, &arguments, 1);

    if !definition.variables.is_empty() {
        out.push('\n');
        let variables: Vec<_> = definition
            .variables
            .keys()
            .map(|name| (name, format!("var.{name}")))
            .collect();
        write_assignments(out, &variables, 1);
    }
    out.push_str("}\n");
}
