//! `module_input` of a task, and `source_input` as it was called (`docs/configuration.md#module_input`).

use cts_core::{KvQuery, ModuleInput};
use serde_json::{Map, Value};

use crate::decode::block::Block;
use crate::decode::tree::Entry;
use crate::report::location::{Located, Rules, SourceLocation};
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;
use crate::tasks::deprecated::DeprecatedKeyUse;
use crate::tasks::query::{Members, WrittenServices};

const KNOWN: [&str; 2] = ["services", "consul-kv"];

/// A module input as written.
#[derive(Debug)]
pub(crate) struct WrittenInput {
    pub(crate) input: ModuleInput,
    /// Content of its member in the API's object (docs/rest.md#task-objects).
    pub(crate) object: Map<String, Value>,
}

/// Reads the blocks of a task; blocks of the old name come last. Uses of the old name are added to `deprecated`.
pub(crate) fn decode_module_inputs(
    task: &mut Block<'_>,
    deprecated: &mut Vec<DeprecatedKeyUse>,
) -> Vec<Located<WrittenInput>> {
    let mut inputs: Vec<Located<WrittenInput>> = Vec::new();
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
fn decode_block(
    name: &str,
    block: Block<'_>,
    place: &SourceLocation,
) -> Vec<Located<WrittenInput>> {
    let sink = block.sink();
    let log_path = block.log_path().to_owned();
    let mut entries = block.into_entries();
    entries.retain(|entry| !entry.is_unset());
    let Some((first, more)) = entries.split_first() else {
        let message =
            format!("a `{name}` block needs a label, its type: \"services\" or \"consul-kv\"");
        sink.malformed(place, message, None);
        return Vec::new();
    };
    if first.rules() == Rules::Json && !more.is_empty() {
        let entries = entries.iter();
        return entries
            .filter_map(|entry| decode_entry(name, &log_path, entry, entry.key_place(), sink))
            .collect();
    }
    for second in more {
        let message = format!(
            "a `{name}` block has one type, and there is `{}` already: write another block",
            first.name()
        );
        sink.error(&second.key_place(), message);
    }
    decode_entry(name, &log_path, first, place.clone(), sink)
        .into_iter()
        .collect()
}

fn decode_entry(
    name: &str,
    log_path: &str,
    entry: &Entry<'_>,
    place: SourceLocation,
    sink: &Sink,
) -> Option<Located<WrittenInput>> {
    let kind = entry.name();
    if !KNOWN.contains(&kind) {
        let message = format!(
            "unsupported {name} type `{kind}`: expected {}",
            KNOWN.join(" or ")
        );
        sink.malformed(&entry.key_place(), message, suggestion(kind, &KNOWN));
        return None;
    }
    let mut block = Block::of_entry(format!("task.{name} \"{kind}\""), entry, sink)
        .logged_as(log_path.to_owned());
    let mut members = Members::new(&mut block);
    let input = if kind == "services" {
        let services = members.services();
        warn_of_services(&services, &place, sink);
        ModuleInput::Services(services.query)
    } else {
        let (query, path) = members.key_value();
        warn_of_path(&query, path.as_ref(), &place, sink);
        ModuleInput::ConsulKv(query)
    };
    let object = members.object;
    block.finish();
    let value = WrittenInput { input, object };
    Some(Located { value, place })
}

/// The original checks nothing here, so an input that cannot work is not an error; but it is hardly ever
/// meant.
fn warn_of_services(written: &WrittenServices, place: &SourceLocation, sink: &Sink) {
    match (&written.names, &written.regexp) {
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
    for name in written.names() {
        if name.value.is_empty() {
            sink.warning(
                &name.place,
                "`names` includes an empty string, which is the name of no service",
            );
        }
    }
}

fn warn_of_path(
    query: &KvQuery,
    path: Option<&Located<String>>,
    place: &SourceLocation,
    sink: &Sink,
) {
    // With `recurse`, nothing is the prefix of every key.
    let means_all = path.is_some() && query.recurse;
    if query.path.is_empty() && !means_all {
        let place = path.map_or(place, |path| &path.place);
        sink.warning(
            place,
            "this `module_input` has no `path`: the module gets no key from it",
        );
    }
}
