//! `condition` of a task (docs/configuration.md#condition).

use chrono::{DateTime, Utc};
use cts_core::{
    CatalogServicesCondition, Condition, ConsulKvCondition, ScheduleCondition, ServicesCondition,
};
use serde_json::{Map, Value};

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::Located;
use crate::report::suggestion::suggestion;
use crate::tasks::checks;
use crate::tasks::deprecated::DeprecatedKeyUse;
use crate::tasks::query::{Members, WrittenServices, check_regexp};

const KNOWN: [&str; 5] = [
    "services",
    "catalog-services",
    "consul-kv",
    "schedule",
    "no-condition",
];

/// The trigger that a task's block declares.
#[derive(Debug)]
pub(crate) enum GivenCondition {
    Absent,
    /// The type does not exist, which has been reported.
    Unknown,
    /// The place is that of the block.
    Given(Box<Located<WrittenCondition>>),
}

/// A condition as written, checked.
#[derive(Debug)]
pub(crate) struct WrittenCondition {
    pub(crate) condition: Condition,
    /// The object of the API, with the type as its only member; what is unset is left out
    /// (docs/rest.md#task-objects).
    pub(crate) object: Map<String, Value>,
}

/// Reads the `condition` of a task. Uses of deprecated keys are added to `deprecated`.
pub(crate) fn decode_condition(
    task: &mut Block<'_>,
    now: DateTime<Utc>,
    deprecated: &mut Vec<DeprecatedKeyUse>,
) -> GivenCondition {
    let sink = task.sink();
    let Some(block) = task.block("condition") else {
        return GivenCondition::Absent;
    };
    let place = block.place().cloned();
    let log_path = block.log_path().to_owned();
    let mut entries = block.into_entries();
    entries.retain(|entry| !entry.is_unset());
    let (Some(place), Some((entry, more))) = (place.clone(), entries.split_first()) else {
        if let Some(place) = place {
            let message = "a `condition` block needs a label, its type, for example \"services\"";
            sink.malformed(&place, message, None);
        }
        return GivenCondition::Unknown;
    };
    for second in more {
        let message = format!(
            "only one condition can be configured in a task, and there is `{}` already",
            entry.name()
        );
        sink.error(&second.key_place(), message);
    }
    let kind = entry.name();
    if !KNOWN.contains(&kind) {
        let message = format!(
            "unsupported condition type `{kind}`: expected {}",
            KNOWN[..4].join(", ")
        );
        sink.malformed(&entry.key_place(), message, suggestion(kind, &KNOWN));
        return GivenCondition::Unknown;
    }
    let mut block =
        Block::of_entry(format!("task.condition \"{kind}\""), entry, sink).logged_as(log_path);
    let mut members = Members::new(&mut block);
    let condition = decode_kind(kind, &mut members, now, deprecated);
    let object = Value::Object(members.object);
    let object = match condition {
        Condition::NoCondition => Map::new(),
        _ => Map::from_iter([(kind.replace('-', "_"), object)]),
    };
    block.finish();
    let value = WrittenCondition { condition, object };
    GivenCondition::Given(Box::new(Located { value, place }))
}

fn decode_kind(
    kind: &str,
    members: &mut Members<'_, '_>,
    now: DateTime<Utc>,
    deprecated: &mut Vec<DeprecatedKeyUse>,
) -> Condition {
    match kind {
        "services" => {
            let given = members.block.has("names") || members.block.has("regexp");
            let services = members.services();
            check_services(&services, given, members.block);
            Condition::Services(ServicesCondition {
                query: services.query,
                use_as_module_input: decode_use(members, deprecated),
            })
        }
        "catalog-services" => Condition::CatalogServices(CatalogServicesCondition {
            regexp: decode_required_regexp(members),
            datacenter: members.text("datacenter"),
            namespace: members.text("namespace"),
            node_meta: members.texts("node_meta"),
            use_as_module_input: decode_use(members, deprecated),
        }),
        "consul-kv" => {
            let given = members.block.has("path");
            let (query, path) = members.key_value();
            check_path(path.as_ref(), given, members.block);
            Condition::ConsulKv(ConsulKvCondition {
                query,
                use_as_module_input: decode_use(members, deprecated),
            })
        }
        "schedule" => Condition::Schedule(ScheduleCondition {
            cron: decode_cron(members, now),
        }),
        _ => Condition::NoCondition,
    }
}

/// `given` is whether one of the two keys is present, whatever its type.
fn check_services(written: &WrittenServices, given: bool, block: &Block<'_>) {
    let sink = block.sink();
    match (&written.names, &written.regexp) {
        // An empty list counts as absent.
        (Some(names), Some(regexp)) if !names.value.is_empty() => sink.error(
            &regexp.place,
            "regexp and names cannot both be configured in a `services` condition",
        ),
        (None, None) if !given => {
            block.missing(checks::NO_SERVICES);
        }
        (Some(names), None) if names.value.is_empty() => sink.error(
            &names.place,
            format!("{}: `names` is empty", checks::NO_SERVICES),
        ),
        _ => {}
    }
    for name in written.names() {
        if name.value.is_empty() {
            sink.error(&name.place, checks::EMPTY_SERVICE);
        }
    }
}

fn decode_required_regexp(members: &mut Members<'_, '_>) -> String {
    if !members.block.has("regexp") {
        members.block.missing(checks::NO_REGEXP);
    }
    let Some(regexp) = members.block.take("regexp", coerce::text) else {
        return String::new();
    };
    check_regexp(&regexp, checks::CATALOG_REGEXP, members.block.sink());
    members.note("regexp", regexp.value.as_str());
    regexp.value
}

fn check_path(path: Option<&Located<String>>, given: bool, block: &Block<'_>) {
    match path {
        Some(path) => {
            if let Err(message) = checks::path(&path.value) {
                block.sink().error(&path.place, message);
            }
        }
        None if !given => block.missing(checks::NO_PATH),
        None => {}
    }
}

fn decode_cron(members: &mut Members<'_, '_>, now: DateTime<Utc>) -> String {
    let given = members.block.has("cron");
    let Some(cron) = members.block.take("cron", coerce::text) else {
        if !given {
            members.block.missing(checks::NO_CRON);
        }
        return String::new();
    };
    if let Err(message) = checks::cron(&cron.value, now) {
        members.block.sink().error(&cron.place, message);
    }
    members.note("cron", cron.value.as_str());
    cron.value
}

/// `use_as_module_input`, or what it was called before; true by default.
fn decode_use(members: &mut Members<'_, '_>, deprecated: &mut Vec<DeprecatedKeyUse>) -> bool {
    let flag = members.block.flag("use_as_module_input");
    let predecessor = members.block.take("source_includes_var", coerce::flag);
    if let Some(predecessor) = &predecessor {
        deprecated.push(DeprecatedKeyUse {
            key: "source_includes_var",
            replacement: "`use_as_module_input`",
            place: predecessor.place.clone(),
            overruled: flag.is_some(),
        });
    }
    let flag = flag.or(predecessor.map(|predecessor| predecessor.value));
    if let Some(flag) = flag {
        members.note("use_as_module_input", flag);
    }
    flag.unwrap_or(true)
}
