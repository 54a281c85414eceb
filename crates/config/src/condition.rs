//! `condition` of a task (spec/config.md 13).

use cts_core::{Condition, ServicesCondition};

use crate::block::Block;
use crate::place::Located;
use crate::sink::Sink;
use crate::suggestion::suggestion;

const UNSUPPORTED: [&str; 4] = ["catalog-services", "consul-kv", "schedule", "no-condition"];
const KNOWN: [&str; 5] = [
    "services",
    "catalog-services",
    "consul-kv",
    "schedule",
    "no-condition",
];

/// Reads the content of a `condition` block.
pub(crate) fn decode_condition(block: Block<'_>, sink: &Sink) -> Option<Condition> {
    if block.is_empty() {
        block.missing("a `condition` block needs a label, its type, for example \"services\"");
        return None;
    }
    let entries = block.into_entries();
    let (entry, more) = entries.split_first()?;
    if let Some(second) = more.first() {
        sink.error(
            &second.key_place(),
            "only one condition can be configured in a task",
        );
    }
    let kind = entry.name();
    if UNSUPPORTED.contains(&kind) {
        sink.unsupported(&entry.key_place(), &format!("condition \"{kind}\""));
        return None;
    }
    if kind != "services" {
        let message = format!("unsupported condition type `{kind}`");
        sink.error_with_help(&entry.key_place(), message, suggestion(kind, &KNOWN));
        return None;
    }
    let block = Block::of_entry("task.condition \"services\"", entry, sink);
    Some(Condition::Services(decode_services(block, sink)))
}

fn decode_services(mut block: Block<'_>, sink: &Sink) -> ServicesCondition {
    let names = block.list("names");
    let by_expression = block.unsupported("regexp");
    block.unsupported("source_includes_var");
    let condition = ServicesCondition {
        regexp: None,
        declared: std::collections::BTreeMap::default(),
        datacenter: block.text("datacenter").unwrap_or_default(),
        namespace: block.text("namespace").unwrap_or_default(),
        filter: block.text("filter").unwrap_or_default(),
        cts_user_defined_meta: block
            .text_map("cts_user_defined_meta")
            .into_iter()
            .map(|(name, text)| (name, text.value))
            .collect(),
        use_as_module_input: block.flag("use_as_module_input").unwrap_or(true),
        names: checked(names, by_expression, &block, sink),
    };
    block.finish();
    condition
}

fn checked(
    names: Option<Located<Vec<Located<String>>>>,
    by_expression: bool,
    block: &Block<'_>,
    sink: &Sink,
) -> Vec<String> {
    let Some(names) = names else {
        if !by_expression {
            block
                .missing("either `names` or `regexp` must be configured in a `services` condition");
        }
        return Vec::new();
    };
    if names.value.is_empty() && !by_expression {
        sink.error(&names.place, "`names` must have at least one service name");
    }
    for name in &names.value {
        if name.value.is_empty() {
            sink.error(&name.place, "`names` includes an empty string");
        }
    }
    names.value.into_iter().map(|name| name.value).collect()
}
