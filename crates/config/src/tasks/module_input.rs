//! `module_input` of a task, and `source_input` as it was called (`docs/configuration.md#module_input`).

use cts_core::ModuleInput;
use serde_json::{Map, Value};

use crate::decode::block::Block;
use crate::decode::tree::Entry;
use crate::report::location::{Located, Place, Rules};
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;
use crate::tasks::deprecated::DeprecatedKeyUse;
use crate::tasks::query::{RawKv, RawServices};

const KNOWN: [&str; 2] = ["services", "consul-kv"];

/// A module input as written; `None` is unset.
#[derive(Debug)]
pub(crate) enum RawInput {
    Services(RawServices),
    ConsulKv(RawKv),
}

/// Reads the blocks of a task; blocks of the old name come last. Uses of the old name are added to `former`.
pub(crate) fn decode_module_inputs(
    task: &mut Block<'_>,
    deprecated: &mut Vec<DeprecatedKeyUse>,
) -> Vec<Located<RawInput>> {
    let mut inputs: Vec<Located<RawInput>> = Vec::new();
    for name in ["module_input", "source_input"] {
        for block in task.repeated(name) {
            let Some(place) = block.place().cloned() else {
                continue;
            };
            if name == "source_input" {
                deprecated.push(DeprecatedKeyUse {
                    key: name,
                    replacement: "`module_input`",
                    place: place.clone(),
                    overruled: false,
                });
            }
            inputs.extend(decode_block(name, block, &place));
        }
    }
    inputs
}

/// In JSON one object may have several types as its keys.
fn decode_block(name: &str, block: Block<'_>, place: &Place) -> Vec<Located<RawInput>> {
    let sink = block.sink();
    let mut entries = block.into_entries();
    entries.retain(|entry| !entry.is_unset());
    let Some((first, more)) = entries.split_first() else {
        let message =
            format!("a `{name}` block needs a label, its type: \"services\" or \"consul-kv\"");
        sink.error(place, message);
        return Vec::new();
    };
    if first.rules() == Rules::Json && !more.is_empty() {
        let entries = entries.iter();
        return entries
            .filter_map(|entry| decode_entry(name, entry, entry.key_place(), sink))
            .collect();
    }
    for second in more {
        let message = format!(
            "a `{name}` block has one type, and there is `{}` already: write another block",
            first.name()
        );
        sink.error(&second.key_place(), message);
    }
    decode_entry(name, first, place.clone(), sink)
        .into_iter()
        .collect()
}

fn decode_entry(
    name: &str,
    entry: &Entry<'_>,
    place: Place,
    sink: &Sink,
) -> Option<Located<RawInput>> {
    let kind = entry.name();
    if !KNOWN.contains(&kind) {
        let message = format!(
            "unsupported {name} type `{kind}`: expected {}",
            KNOWN.join(" or ")
        );
        sink.error_with_help(&entry.key_place(), message, suggestion(kind, &KNOWN));
        return None;
    }
    let mut block = Block::of_entry(format!("task.{name} \"{kind}\""), entry, sink);
    let value = if kind == "services" {
        let query = RawServices::decode(&mut block);
        warn_of_services(&query, &place, sink);
        RawInput::Services(query)
    } else {
        let query = RawKv::decode(&mut block);
        warn_of_path(&query, &place, sink);
        RawInput::ConsulKv(query)
    };
    block.finish();
    Some(Located { value, place })
}

/// The original checks nothing here, so an input that cannot work is not an error; but it is hardly ever
/// meant.
fn warn_of_services(query: &RawServices, place: &Place, sink: &Sink) {
    match (&query.names, &query.regexp) {
        (Some(names), Some(_)) if !names.value.is_empty() => sink.warning(
            &names.place,
            "`names` has no effect beside `regexp` in a `module_input`",
        ),
        (_, Some(_)) => {}
        (Some(names), None) if !names.value.is_empty() => {}
        _ => sink.warning(
            place,
            "this `module_input` has neither `names` nor `regexp`: the module gets no services from it",
        ),
    }
    for name in query.names() {
        if name.value.is_empty() {
            sink.warning(
                &name.place,
                "`names` includes an empty string, which is the name of no service",
            );
        }
    }
}

fn warn_of_path(query: &RawKv, place: &Place, sink: &Sink) {
    let path = query.path.as_ref();
    // With `recurse`, nothing is the prefix of every key.
    let means_all = path.is_some() && query.recurse == Some(true);
    if path.is_none_or(|path| path.value.is_empty()) && !means_all {
        let place = path.map_or(place, |path| &path.place);
        sink.warning(
            place,
            "this `module_input` has no `path`: the module gets no key from it",
        );
    }
}

impl RawInput {
    /// The variable of the module that it fills.
    pub(crate) fn variable(&self) -> &'static str {
        match self {
            Self::Services(_) => "services",
            Self::ConsulKv(_) => "consul_kv",
        }
    }

    pub(crate) fn into_input(self) -> ModuleInput {
        match self {
            Self::Services(query) => ModuleInput::Services(query.into_input()),
            Self::ConsulKv(query) => ModuleInput::ConsulKv(query.into_query()),
        }
    }

    /// The member of the API's object that it is, and its content (docs/rest.md#task-objects).
    pub(crate) fn to_object(&self) -> Map<String, Value> {
        match self {
            Self::Services(query) => query.to_object(),
            Self::ConsulKv(query) => query.to_object(),
        }
    }
}
