//! `main.tf`: terraform, provider and module blocks (docs/terraform.md#maintf).

use cts_core::{Backend, ModuleInterface, ProviderId, TaskDefinition};
use serde_json::Value;

use super::expression::{indent, is_identifier, object, quoted, sorted, value, write_assignments};
use super::header::{Title, write_comment};
use super::root_module::{
    RenderError, RenderSettings, TaskProvider, instances, require_identifier,
};
use crate::provider_schema::Form;

/// Provider arguments that are part of the provider's variable but not of its block.
const NOT_IN_BLOCK: [&str; 2] = ["alias", "auto_commit"];

pub(super) fn render(
    title: &Title<'_>,
    definition: &TaskDefinition,
    settings: &RenderSettings,
    backend: Option<&Backend>,
    (providers, module): (&[TaskProvider<'_>], &ModuleInterface),
) -> Result<String, RenderError> {
    let mut text = title.header();
    text.push('\n');
    write_terraform_block(&mut text, settings, backend, providers)?;
    text.push('\n');
    for (index, provider) in providers.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        write_provider_block(&mut text, provider);
    }
    text.push('\n');
    write_module_block(&mut text, title, definition, &passed(providers, module));
    Ok(text)
}

fn write_terraform_block(
    out: &mut String,
    settings: &RenderSettings,
    backend: Option<&Backend>,
    providers: &[TaskProvider<'_>],
) -> Result<(), RenderError> {
    out.push_str("terraform {\n");
    let required_version = quoted(&settings.required_version);
    write_assignments(out, &[("required_version", required_version)], 1);

    let required: Vec<_> = instances(providers)
        .filter_map(|instances| {
            let provider = instances.first()?;
            let entry = settings.required_providers.get(provider.name)?;
            Some((provider.name, value(entry, 2)))
        })
        .collect();
    if !required.is_empty() {
        out.push_str("  required_providers {\n");
        write_assignments(out, &required, 2);
        out.push_str("  }\n");
    }

    if let Some(backend) = backend {
        write_backend_block(out, backend)?;
    }
    out.push_str("}\n");
    Ok(())
}

fn write_backend_block(out: &mut String, backend: &Backend) -> Result<(), RenderError> {
    let mut arguments = Vec::with_capacity(backend.arguments.len());
    for (name, argument) in sorted(&backend.arguments) {
        require_identifier("backend argument", name)?;
        if !Backend::is_credential(name, argument) {
            arguments.push((name, value(argument, 2)));
        }
    }
    out.push_str("  backend ");
    out.push_str(&quoted(&backend.kind));
    out.push_str(" {\n");
    write_assignments(out, &arguments, 2);
    out.push_str("  }\n");
    Ok(())
}

fn write_provider_block(out: &mut String, provider: &TaskProvider<'_>) {
    out.push_str("provider ");
    out.push_str(&quoted(provider.name));
    out.push_str(" {\n");
    let arguments = provider.arguments.iter();
    let in_block = arguments.filter(|(name, _value)| !NOT_IN_BLOCK.contains(name));
    let in_block: Vec<_> = in_block.copied().collect();
    if let Some(alias) = provider.block_alias() {
        write_assignments(out, &[("alias", quoted(alias))], 1);
        if !in_block.is_empty() {
            out.push('\n');
        }
    }
    let variable = provider.variable();
    write_arguments(out, provider, &in_block, &variable, &mut Vec::new());
    out.push_str("}\n");
}

/// Writes arguments whose values are members of `variable`; `path` has the names of the blocks around them.
fn write_arguments(
    out: &mut String,
    provider: &TaskProvider<'_>,
    arguments: &[(&str, &Value)],
    variable: &str,
    path: &mut Vec<String>,
) {
    let depth = path.len() + 1;
    let mut run = Vec::new();
    for (name, argument) in arguments {
        let value = format!("{variable}.{name}");
        path.push((*name).to_owned());
        let bodies = bodies(provider, argument, &value, path);
        if bodies.is_none() {
            run.push((*name, value));
        } else {
            write_assignments(out, &run, depth);
            run.clear();
        }
        for (value, members) in bodies.into_iter().flatten() {
            indent(out, depth);
            out.push_str(name);
            out.push_str(" {\n");
            write_arguments(out, provider, &members, &value, path);
            indent(out, depth);
            out.push_str("}\n");
        }
        path.pop();
    }
    write_assignments(out, &run, depth);
}

/// The members of an object, by name.
type Members<'a> = Vec<(&'a str, &'a Value)>;

/// The nested blocks that the argument at `path` is written as, each with the expression of its value.
fn bodies<'a>(
    provider: &TaskProvider<'_>,
    argument: &'a Value,
    value: &str,
    path: &[String],
) -> Option<Vec<(String, Members<'a>)>> {
    if form(provider, argument, path) == Form::Attribute {
        return None;
    }
    match argument {
        Value::Object(_) => Some(vec![(value.to_owned(), members(argument)?)]),
        Value::Array(elements) => {
            let bodies = elements.iter().enumerate();
            bodies
                .map(|(index, element)| Some((format!("{value}[{index}]"), members(element)?)))
                .collect()
        }
        _ => None,
    }
}

/// The form of the argument at `path`: as the configuration says, else as the provider's schema does. If
/// neither is known, an outermost map is a block and a map inside of a block is an attribute, as in the
/// original (docs/terraform.md#maintf).
fn form(provider: &TaskProvider<'_>, argument: &Value, path: &[String]) -> Form {
    if is_said_to_be_a_block(provider, path) {
        return Form::Block;
    }
    let known = provider
        .forms
        .and_then(|forms| forms.form(&provider.source, path));
    known.unwrap_or(if argument.is_object() && path.len() == 1 {
        Form::Block
    } else {
        Form::Attribute
    })
}

fn is_said_to_be_a_block(provider: &TaskProvider<'_>, path: &[String]) -> bool {
    provider.blocks.is_some_and(|blocks| blocks.contains(path))
}

/// Whether the configuration leaves the form of an argument open.
pub(super) fn has_open_forms(provider: &TaskProvider<'_>) -> bool {
    let arguments = provider.arguments.iter();
    let mut in_block = arguments.filter(|(name, _value)| !NOT_IN_BLOCK.contains(name));
    in_block.any(|(name, argument)| is_open(provider, argument, &mut vec![(*name).to_owned()]))
}

fn is_open(provider: &TaskProvider<'_>, argument: &Value, path: &mut Vec<String>) -> bool {
    let bodies: Vec<_> = match argument {
        Value::Object(body) => vec![body],
        Value::Array(elements) => elements.iter().filter_map(Value::as_object).collect(),
        _ => return false,
    };
    if !is_said_to_be_a_block(provider, path) {
        return !bodies.is_empty();
    }
    bodies.into_iter().flatten().any(|(name, member)| {
        path.push(name.clone());
        let open = is_open(provider, member, path);
        path.pop();
        open
    })
}

/// Members of an argument that is written as a nested block. A map with keys that are not identifiers cannot
/// be a block, so it stays an attribute.
fn members(argument: &Value) -> Option<Members<'_>> {
    let members = sorted(argument.as_object()?);
    let are_names = members.iter().all(|(key, _value)| is_identifier(key));
    are_names.then_some(members)
}

/// The providers that the module declares under an alias, each with its name in the root module. Other providers are
/// inherited.
fn passed(providers: &[TaskProvider<'_>], module: &ModuleInterface) -> Vec<(String, String)> {
    let passed = providers.iter().filter_map(|provider| {
        let name = provider.name.to_owned();
        let alias = Some(provider.alias?.to_owned());
        let wanted = ProviderId { name, alias };
        let block = match provider.block_alias() {
            Some(alias) => format!("{}.{alias}", provider.name),
            None => provider.name.to_owned(),
        };
        let is_wanted = module.provider_aliases.contains(&wanted);
        is_wanted.then(|| (wanted.to_string(), block))
    });
    passed.collect()
}

fn write_module_block(
    out: &mut String,
    title: &Title<'_>,
    definition: &TaskDefinition,
    providers: &[(String, String)],
) {
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
    let inputs = definition.input_variables().into_iter();
    arguments.extend(inputs.map(|name| (name, format!("var.{name}"))));
    write_assignments(out, &arguments, 1);

    if !providers.is_empty() {
        out.push('\n');
        write_assignments(out, &[("providers", object(providers, 1))], 1);
    }
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
