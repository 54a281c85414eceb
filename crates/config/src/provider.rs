//! `terraform_provider` (spec/config.md 11).

use std::collections::BTreeMap;

use cts_core::ProviderBlock;
use cts_hcl1::ValueKind;
use serde_json::Value;

use crate::block::Block;
use crate::free_form::free_form;
use crate::place::Place;
use crate::sink::Sink;
use crate::tree::Entry;

/// Reads the blocks in order; ids are unique.
pub(crate) fn decode_providers(blocks: Vec<Block<'_>>, sink: &Sink) -> Vec<ProviderBlock> {
    let mut providers: Vec<ProviderBlock> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    for block in blocks {
        let Some((provider, place)) = decode_provider(block, sink) else {
            continue;
        };
        let id = provider.id();
        let same = providers.iter().position(|other| other.id() == id);
        if let Some(first) = same.and_then(|index| places.get(index)) {
            let message = format!("duplicate provider configuration for `{id}`");
            let help = format!("the first one is at {}", first.describe());
            sink.error_with_help(&place, message, Some(help));
        }
        providers.push(provider);
        places.push(place);
    }
    providers
}

fn decode_provider(block: Block<'_>, sink: &Sink) -> Option<(ProviderBlock, Place)> {
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
    let arguments = free_form(&arguments, sink);
    let provider = ProviderBlock {
        name: name.to_owned(),
        alias: arguments
            .get("alias")
            .and_then(Value::as_str)
            .map(str::to_owned),
        task_env: decode_environment(&environments, sink),
        arguments,
    };
    Some((provider, entry.key_place()))
}

fn decode_environment(entries: &[Entry<'_>], sink: &Sink) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    let Some((entry, more)) = entries.split_first() else {
        return environment;
    };
    let refuse = |place: &Place, reason: &str| {
        sink.error(
            place,
            format!("unexpected `task_env` block format: {reason}"),
        );
    };
    if let Some(second) = more.first() {
        refuse(&second.key_place(), "it is given more than once");
    }
    for body in entry.bodies() {
        let Ok(part) = body else {
            refuse(&entry.value_place(), "it must be a map of strings");
            continue;
        };
        for variable in &part.entries {
            let value = variable.plain_value().map(|value| &value.kind);
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
