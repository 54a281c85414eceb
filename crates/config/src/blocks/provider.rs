//! `terraform_provider` (`docs/configuration.md#terraform_provider`).

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use cts_core::{FAKE_SYNC, ProviderBlock, ProviderId};
use cts_hcl1::{Number, ValueKind};
use serde_json::Value;

use crate::blocks::environment::{Environment, Setting};
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::free_form::free_form;
use crate::decode::tree::Entry;
use crate::report::location::{Rules, SourceLocation};
use crate::report::sink::Sink;

/// The provider whose changes have to be committed.
const PANOS: &str = "panos";

/// Reads the blocks in order; ids are unique.
pub(crate) fn decode_providers(
    blocks: Vec<Block<'_>>,
    environment: Environment<'_>,
    sink: &Sink,
) -> Vec<ProviderBlock> {
    let mut providers = Vec::new();
    let mut places: HashMap<ProviderId, SourceLocation> = HashMap::new();
    for block in blocks {
        let Some((provider, place)) = decode_provider(block, sink) else {
            continue;
        };
        if provider.name == PANOS {
            check_panos(&provider, &place, environment, sink);
        }
        match places.entry(provider.id()) {
            MapEntry::Occupied(first) => {
                let message = format!("duplicate provider configuration for `{}`", first.key());
                sink.error_after(first.get(), &place, message);
            }
            MapEntry::Vacant(entry) => {
                entry.insert(place);
            }
        }
        providers.push(provider);
    }
    providers
}

fn decode_provider(block: Block<'_>, sink: &Sink) -> Option<(ProviderBlock, SourceLocation)> {
    if block.is_empty() {
        block.missing("missing provider name: a `terraform_provider` block needs a label");
        return None;
    }
    let entries = block.into_entries();
    let (entry, more) = entries.split_first()?;
    if let Some(second) = more.first() {
        let names: Vec<String> = entries.iter().map(|e| format!("`{}`", e.name())).collect();
        let message = format!(
            "unexpected block labels {}: a `terraform_provider` block has one label, its name",
            names.join(", ")
        );
        sink.error(&second.key_place(), message);
        return None;
    }
    let name = entry.name();
    let bodies: Vec<_> = entry.bodies();
    let ([Ok(_)], Some(ValueKind::Object(_)) | None) = (
        bodies.as_slice(),
        entry.plain_value().map(|value| &value.kind),
    ) else {
        let message = format!("unexpected block format: the content of `{name}` must be a block");
        sink.error(&entry.value_place(), message);
        return None;
    };
    let (environments, arguments): (Vec<Entry<'_>>, Vec<Entry<'_>>) = bodies
        .into_iter()
        .flatten()
        .flat_map(|part| part.entries)
        .partition(|argument| argument.name() == "task_env");
    let alias = decode_alias(&arguments, sink);
    if name == FAKE_SYNC {
        check_fake(&arguments, &entry.key_place(), sink);
    }
    let mut blocks = BTreeSet::new();
    note_blocks(&arguments, &mut Vec::new(), &mut blocks);
    let provider = ProviderBlock {
        name: name.to_owned(),
        alias,
        blocks,
        task_env: decode_environment(&environments, sink),
        arguments: free_form(&arguments, sink),
    };
    Some((provider, entry.key_place()))
}

/// Notes the paths of what is written as a block wherever it is given.
fn note_blocks(entries: &[Entry<'_>], path: &mut Vec<String>, blocks: &mut BTreeSet<Vec<String>>) {
    let mut same: BTreeMap<&str, Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in entries {
        same.entry(entry.name()).or_default().push(entry);
    }
    for (name, entries) in same {
        if !entries.iter().all(|entry| entry.is_block()) {
            continue;
        }
        path.push(name.to_owned());
        blocks.insert(path.clone());
        let bodies = entries.iter().flat_map(|entry| entry.bodies());
        let inner: Vec<Entry<'_>> = bodies.flatten().flat_map(|part| part.entries).collect();
        note_blocks(&inner, path, blocks);
        path.pop();
    }
}

/// A value that is not text crashes the original as soon as a task uses the block. A number is its digits
/// here, as for other texts.
fn decode_alias(arguments: &[Entry<'_>], sink: &Sink) -> Option<String> {
    let entry = arguments.iter().rfind(|entry| entry.name() == "alias")?;
    let value = entry.single_value();
    match value.map(|value| &value.kind) {
        Some(ValueKind::String(text)) => Some(text.clone()),
        Some(ValueKind::Number(number)) => Some(match number {
            Number::Integer(number) => number.to_string(),
            Number::Float(number) => number.to_string(),
        }),
        Some(ValueKind::Null) => None,
        Some(ValueKind::Bool(_) | ValueKind::List(_) | ValueKind::Object(_)) | None => {
            let found = value.map_or("a block", coerce::describe);
            let message = format!("`alias` of a provider must be text, not {found}");
            sink.error(&entry.value_place(), message);
            None
        }
    }
}

/// A value that is not a flag would be taken for false, and an apply that is meant to fail would succeed.
fn check_fake(arguments: &[Entry<'_>], place: &SourceLocation, sink: &Sink) {
    let last = |name: &str| arguments.iter().rfind(|entry| entry.name() == name);
    let is_name = |entry: &Entry<'_>| {
        let value = entry.single_value().map(|value| &value.kind);
        matches!(value, Some(ValueKind::String(text)) if !text.is_empty())
    };
    if !last("name").is_some_and(is_name) {
        sink.error(place, format!("provider `{FAKE_SYNC}` needs a `name`"));
    }
    for name in ["err", "success_first"] {
        let Some(entry) = last(name) else { continue };
        let value = entry.single_value().map(|value| &value.kind);
        if !matches!(value, Some(ValueKind::Bool(_))) {
            let message = format!("`{name}` of provider `{FAKE_SYNC}` must be true or false");
            sink.error(&entry.value_place(), message);
        }
    }
}

/// Only a warning: the environment of the worker may have the variable, or the file of settings may name the
/// user.
fn check_panos(
    provider: &ProviderBlock,
    place: &SourceLocation,
    environment: Environment<'_>,
    sink: &Sink,
) {
    let given = |name: &str| {
        let value = provider.arguments.get(name);
        value.is_some_and(|value| value != &Value::from(""))
    };
    if !given("username")
        && !given("json_config_file")
        && environment.text(Setting::PANOS_USERNAME).is_none()
    {
        let variable = Setting::PANOS_USERNAME.variable();
        let message = format!("provider `{PANOS}` needs a `username`, or the variable {variable}");
        sink.warning(place, message);
    }
    let commits = provider.arguments.get("auto_commit") == Some(&Value::Bool(true));
    let says_nothing = [
        "verify_certificate",
        "skip_verify_certificate",
        "json_config_file",
    ];
    if commits && !says_nothing.into_iter().any(given) {
        let message = format!(
            "provider `{PANOS}` does not check the certificate of the firewall unless it has `verify_certificate = true`"
        );
        sink.warning(place, message);
    }
}

fn decode_environment(entries: &[Entry<'_>], sink: &Sink) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    let Some((entry, more)) = entries.split_first() else {
        return environment;
    };
    let refuse = |place: &SourceLocation, reason: &str| {
        sink.error(place, format!("unexpected task_env block format: {reason}"));
    };
    if let Some(second) = more.first() {
        refuse(&second.key_place(), "it is given more than once");
    }
    let mut bodies = entry.bodies();
    // A list of one is its element, but not in JSON.
    let is_list = matches!(
        entry.plain_value().map(|value| &value.kind),
        Some(ValueKind::List(_))
    );
    if bodies.len() != 1 || (is_list && entry.rules() == Rules::Json) {
        refuse(&entry.value_place(), "it must be a map of strings");
        bodies.clear();
    }
    for body in bodies {
        let Ok(part) = body else {
            refuse(&entry.value_place(), "it must be a map of strings");
            continue;
        };
        for variable in &part.entries {
            let value = variable.single_value().map(|value| &value.kind);
            if let Some(ValueKind::String(text)) = value {
                environment.insert(variable.name().to_owned(), text.clone());
            } else {
                let reason = format!("the value of `{}` must be a string", variable.name());
                refuse(&variable.value_place(), &reason);
            }
        }
    }
    environment
}
